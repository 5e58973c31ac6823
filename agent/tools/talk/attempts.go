package talk

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/attempts"
	"github.com/gajae-code/gjc/agent/isolation"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/worktree"
)

// attemptsInput lets several helpers do the same task.
type attemptsInput struct {
	Count  int      `json:"count" jsonschema:"number of helpers, 2 to 10"`
	Models []string `json:"models,omitzero" jsonschema:"models or roles, used in turn; the helper's own if absent"`
	Check  string   `json:"check,omitzero" jsonschema:"command that decides which results are good, such as the tests; one is found if absent"`
}

// plan checks the input.
func (in *attemptsInput) plan(all *taskInput) error {
	switch {
	case in.Count < 2 || in.Count > attempts.MaxAttempts:
		return fmt.Errorf("attempts.count is 2 to %d", attempts.MaxAttempts)
	case len(in.Models) > in.Count:
		return fmt.Errorf("%d models are more than %d attempts", len(in.Models), in.Count)
	case len(all.Tasks) != 1:
		return errors.New("attempts are for one task")
	case all.Async:
		return errors.New("attempts cannot work in the background, because the best change is merged; leave out async")
	case all.Tasks[0].To != "" || all.Tasks[0].Keep != "":
		return errors.New("a task with attempts has neither to nor keep")
	}
	return nil
}

// contest is a running call with attempts.
type contest struct {
	*taskRun
	in    *attemptsInput
	check string
	set   *attempts.Set

	mu     sync.Mutex // guards states; held during reports, so that they stay in order
	states []string
}

// runAttempts lets several helpers do the same task in worktrees, chooses the best change, and merges it.
func runAttempts(ctx context.Context, call *agent.Call, in *taskInput) (*agent.Result, error) {
	if call.Task == nil {
		return nil, errors.New("no helper agents are available here; do the work yourself")
	}
	c := &contest{
		taskRun: &taskRun{call: call, in: in}, in: in.Attempts, states: make([]string, in.Attempts.Count),
		set: agent.Value(call.Values.Root(), func() *attempts.Set { return new(attempts.Set) }),
	}
	c.check = cmp.Or(strings.TrimSpace(in.Attempts.Check), call.Check)
	if c.check == "" {
		c.check = attempts.FindCheck(ctx, call.FS.ReadFile, call.Workspace.Cwd)
	}
	all := make([]*attempts.Attempt, c.in.Count)
	for i := range all {
		all[i] = &attempts.Attempt{Task: in.Tasks[0].title(), Command: c.check}
		c.set.Add(all[i])
	}
	free := make(chan struct{}, max(1, runtime.NumCPU())) // the checks want the processors
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			select {
			case free <- struct{}{}:
				defer func() { <-free }()
			case <-ctx.Done():
				return
			}
			c.state(i, "works")
			c.one(ctx, i, all[i])
			c.state(i, all[i].Outcome())
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	attempts.Rank(all)
	return c.decide(ctx, all)
}

// one makes one attempt.
func (c *contest) one(ctx context.Context, i int, a *attempts.Attempt) {
	t := c.taskRun.in.Tasks[0]
	t.ID = cmp.Or(t.ID, "attempt") + fmt.Sprintf("-%d", a.Number)
	t.Isolation = isolationWorktree
	extra := agent.Attempt{Check: c.check, Rest: true}
	if n := len(c.in.Models); n > 0 {
		extra.Model = c.in.Models[i%n]
	}
	began := time.Now()
	report := c.attempt(ctx, &t, extra, nil)
	done := &report.done
	a.Took, a.Helper, a.Model, a.Report = time.Since(began), done.Name, cmp.Or(done.Model, extra.Model), done.Text
	a.Passed, a.Output = done.Passed, done.Output
	switch {
	case report.err != nil:
		a.Failed = report.err.Error()
	case done.Question != "":
		a.Failed = "it needs an answer: " + done.Question
	case done.Invalid != "":
		a.Failed = "its report does not match the schema: " + done.Invalid
	case done.Stop != agent.StopEndTurn:
		a.Failed = "it stopped early: " + string(done.Stop)
	}
	if done.Name == "" {
		return
	}
	trees, ok := agent.LookupValue[*isolation.Trees](c.call.Values)
	if !ok {
		return
	}
	tree, err := trees.Of(done.Name)
	if err != nil {
		return // it had none
	}
	changes, err := tree.Changes(ctx)
	if err != nil {
		a.Failed = cmp.Or(a.Failed, "its changes cannot be listed: "+err.Error())
		return
	}
	a.Files, a.Diff = describeChanges(changes)
	if len(changes) == 0 {
		_ = tree.Remove(ctx) // the end of the session tries again
	}
}

// maxAttemptDiff bounds the diff of an attempt, in bytes.
const maxAttemptDiff = 200_000

// describeChanges counts the changed lines, and returns the changes as a diff.
func describeChanges(changes []isolation.Changed) (files []attempts.File, diff string) {
	var b strings.Builder
	left := 0
	for i := range changes {
		c := &changes[i]
		f := attempts.File{Path: c.Path, Kind: string(c.Kind)}
		part := fileDiff(c)
		for line := range strings.Lines(part) {
			switch {
			case strings.HasPrefix(line, "+++ ") || strings.HasPrefix(line, "--- "):
			case strings.HasPrefix(line, "+"):
				f.Added++
			case strings.HasPrefix(line, "-"):
				f.Removed++
			}
		}
		files = append(files, f)
		if b.Len()+len(part) > maxAttemptDiff {
			left++
			continue
		}
		b.WriteString(part)
	}
	if left > 0 {
		fmt.Fprintf(&b, "(%s too long for this diff)\n", text.Count(left, "file"))
	}
	return files, b.String()
}

// fileDiff returns the change of one file as a unified diff, or in words.
func fileDiff(c *isolation.Changed) string {
	name := text.VisibleLine(c.Path)
	of := func(s worktree.State, prefix string) string {
		if !s.Exists {
			return "/dev/null"
		}
		return prefix + name
	}
	switch {
	case c.Before.Link || c.After.Link:
		return fmt.Sprintf("Link %s: %q, was %q\n", name, c.After.Content, c.Before.Content)
	case isBinary(c.Before.Content) || isBinary(c.After.Content):
		return fmt.Sprintf("Binary %s: %d bytes, was %d bytes\n", name, len(c.After.Content), len(c.Before.Content))
	case string(c.Before.Content) == string(c.After.Content) && c.Before.Exists && c.After.Exists:
		return fmt.Sprintf("Mode %s: executable %t, was %t\n", name, c.After.Executable, c.Before.Executable)
	}
	diff := udiff.Unified(of(c.Before, "a/"), of(c.After, "b/"), string(c.Before.Content), string(c.After.Content))
	if diff == "" { // an empty file
		diff = fmt.Sprintf("--- %s\n+++ %s\n", of(c.Before, "a/"), of(c.After, "b/"))
	}
	return diff
}

// isBinary reports whether content is no text, as git judges it.
func isBinary(content []byte) bool { return bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0 }

// decide merges the best attempt, and describes all. The attempts are ranked.
func (c *contest) decide(ctx context.Context, all []*attempts.Attempt) (*agent.Result, error) {
	var b strings.Builder
	b.WriteString(attempts.Table(all))
	if c.check == "" {
		b.WriteString("\nNo command was found that tests the project, so the smallest change counts as the best. The setting task.check names one.\n")
	} else {
		fmt.Fprintf(&b, "\nJudged by `%s`, then by the size of the change.\n", text.OneLine(c.check))
	}
	best := all[0]
	if !best.Wins() {
		b.WriteString("\nNone of them wins, so nothing was merged. `read` shows each at its address; " + agent.MergeTool + " with the helper's name merges one nevertheless: ")
		b.WriteString(helpersOf(all) + ".\n")
		return &agent.Result{Text: b.String(), IsError: true}, nil
	}
	about, merged := c.call.Merge(ctx, best.Helper)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if merged {
		fmt.Fprintf(&b, "\nThe winner is attempt %d. %s\n", best.Number, about)
	} else {
		fmt.Fprintf(&b, "\nThe winner is attempt %d, but it is not merged: %s\nUntil the session ends, %s with the helper's name merges one: %s.\n", best.Number, about, agent.MergeTool, helpersOf(all))
	}
	b.WriteString("\n" + c.bounded(strings.TrimSpace(best.Report)) + "\n\n[The others stay readable at their addresses until the session ends.]")
	return &agent.Result{Text: b.String(), IsError: !merged}, nil
}

// helpersOf lists the helpers that have changes.
func helpersOf(all []*attempts.Attempt) string {
	var names []string
	for _, a := range all {
		if len(a.Files) > 0 {
			names = append(names, a.Helper)
		}
	}
	if len(names) == 0 {
		return "none has changes"
	}
	return strings.Join(names, ", ")
}

// state reports the state of an attempt.
func (c *contest) state(i int, state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states[i] = state
	if c.call.Update == nil {
		return
	}
	var b strings.Builder
	for j, s := range c.states {
		fmt.Fprintf(&b, "- attempt %d: %s\n", j+1, cmp.Or(s, "waits"))
	}
	c.call.Update(agent.Progress{Content: []agent.Content{agent.TextContent{Text: c.taskRun.in.text()}, agent.TextContent{Text: b.String()}}})
}
