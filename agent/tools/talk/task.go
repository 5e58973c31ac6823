package talk

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/roster"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/jsonx"
)

//go:embed task.md
var taskText string

// Limits of one call of task.
const (
	maxTasks = 20
	// planlessTasks bounds the tasks of a call without a spawnPlan.
	planlessTasks = 4
	maxTaskID     = 48
)

type taskInput struct {
	Agent     string         `json:"agent,omitzero" jsonschema:"helper that does the tasks; executor if absent"`
	Context   string         `json:"context,omitzero" jsonschema:"what all of the tasks need to know"`
	Tasks     []taskItem     `json:"tasks" jsonschema:"pieces of work, each for its own helper, in parallel"`
	Output    string         `json:"output,omitzero" jsonschema:"JSON Schema, as text, of the reports if you need JSON"`
	Async     bool           `json:"async,omitzero" jsonschema:"return at once; each report comes when its helper has ended"`
	Attempts  *attemptsInput `json:"attempts,omitzero" jsonschema:"several helpers do the one task, each in a worktree; the best change is merged"`
	SpawnPlan *spawnPlan     `json:"spawnPlan,omitzero" jsonschema:"needed for more than four tasks"`
}

type taskItem struct {
	ID          string `json:"id,omitzero" jsonschema:"name for the helper, unique in the call: letters, digits, - and _; any name if absent"`
	To          string `json:"to,omitzero" jsonschema:"name of a helper that has ended: it does the task with what it knows"`
	Description string `json:"description" jsonschema:"the work in a few words, for the user"`
	Assignment  string `json:"assignment" jsonschema:"complete instructions, with what the report has to contain"`
	Isolation   string `json:"isolation,omitzero" jsonschema:"worktree: the helper works in a copy of the repository, and its changes are merged when it has ended"`
	Keep        string `json:"keep,omitzero" jsonschema:"branch: with isolation, its changes go to a branch and are not merged"`
}

// The values of isolation and keep.
const (
	isolationWorktree = "worktree"
	keepBranch        = "branch"
)

// spawnPlan makes a model plan before it starts many helpers. The user sees it.
type spawnPlan struct {
	WhyParallel          string `json:"whyParallel" jsonschema:"why the work is done in parallel"`
	WhyNotLocal          string `json:"whyNotLocal" jsonschema:"why you do not do it yourself"`
	Independence         string `json:"independence" jsonschema:"why no task needs the result or the files of another"`
	ExpectedReceiptShape string `json:"expectedReceiptShape,omitzero" jsonschema:"what a report looks like"`
	MaxInlineTokens      int    `json:"maxInlineTokens,omitzero" jsonschema:"how much of each report to show you, in tokens; the rest is kept"`
}

// StartJob starts a background job, and returns its ID. wait is its work.
type StartJob func(ctx context.Context, call *agent.Call, title string, wait func(context.Context) *agent.Result) (id string, err error)

// Task returns the tool "task", which runs subagents, in the background as jobs that startJob starts.
func Task(startJob StartJob) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[taskInput]{
		Schemas: schemas,
		Name:    agent.TaskTool, Description: toolkit.Description(taskText), Kind: agent.KindOther,
		Uses: approval.Uses{Roots: true}, // attempts are judged by a command that is found in files of the project
		Plan: planTask,
		Run: func(ctx context.Context, call *agent.Call, in *taskInput) (*agent.Result, error) {
			if in.Attempts != nil {
				return runAttempts(ctx, call, in)
			}
			if in.Async {
				return startTasks(ctx, call, in, startJob)
			}
			return runTask(ctx, call, in)
		},
	})
}

// validTaskID reports whether id can be part of call IDs and of a file name.
func validTaskID(id string) bool {
	return id != "" && len(id) <= maxTaskID && id[0] != '-' && id[0] != '_' && !strings.ContainsFunc(id, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

func planTask(ctx context.Context, call *agent.Call, in *taskInput) (*agent.CallPlan, error) {
	bad := func(format string, args ...any) (*agent.CallPlan, error) {
		return nil, fmt.Errorf("%w for task: %s", agent.ErrBadInput, fmt.Sprintf(format, args...))
	}
	switch n := len(in.Tasks); {
	case n == 0:
		return bad("tasks is empty; give one task for each piece of work")
	case n > maxTasks:
		return bad("%d tasks are too many; give at most %d in one call", n, maxTasks)
	case n > planlessTasks && in.SpawnPlan == nil:
		return bad("%d tasks need a spawnPlan: whyParallel, whyNotLocal, independence. Up to %d tasks need none; combine related tasks", n, planlessTasks)
	}
	if p := in.SpawnPlan; p != nil {
		for name, text := range map[string]string{"whyParallel": p.WhyParallel, "whyNotLocal": p.WhyNotLocal, "independence": p.Independence} {
			if strings.TrimSpace(text) == "" {
				return bad("%s of the spawnPlan is empty", name)
			}
		}
	}
	if in.Output != "" {
		if _, err := roster.ParseSchema(jsonx.Raw(in.Output)); err != nil {
			return bad("output %v", err)
		}
	}
	if in.Attempts != nil {
		if err := in.Attempts.plan(in); err != nil {
			return bad("%v", err)
		}
	}
	if wrong := in.wrongTask(); wrong != "" {
		return bad("%s", wrong)
	}
	who := in.Agent
	if call.Helpers != nil {
		h, err := agent.PickHelper(call.Helpers(ctx), in.Agent)
		if err != nil {
			return nil, err
		}
		who = h.Name
	}
	title := "Task"
	if who != "" && who != agent.DefaultHelper {
		title += " for " + who
	}
	if n := len(in.Tasks); n > 1 {
		title = fmt.Sprintf("%d tasks", n) + strings.TrimPrefix(title, "Task")
	} else if in.Attempts != nil {
		title = fmt.Sprintf("%d attempts", in.Attempts.Count) + strings.TrimPrefix(title, "Task")
	}
	return &agent.CallPlan{
		Title:   title + ": " + toolkit.CommandTitle(in.title()),
		Content: []agent.Content{agent.TextContent{Text: in.text()}},
	}, nil
}

// wrongTask says what is wrong with one of the tasks; empty for nothing.
func (in *taskInput) wrongTask() string {
	seen := make(map[string]bool)
	for i, t := range in.Tasks {
		key := strings.ToLower(t.ID)
		switch {
		case t.ID != "" && t.To != "":
			return fmt.Sprintf("task %d has an id and to; a helper that goes on keeps its name", i+1)
		case t.ID != "" && !validTaskID(t.ID):
			return fmt.Sprintf("the id of task %d must be up to %d letters, digits, - and _, and begin with a letter or digit", i+1, maxTaskID)
		case t.ID != "" && seen[key]:
			return fmt.Sprintf("duplicate id %q", t.ID)
		case t.Isolation != "" && t.Isolation != isolationWorktree:
			return fmt.Sprintf("isolation of task %d must be %q", i+1, isolationWorktree)
		case t.Keep != "" && t.Keep != keepBranch:
			return fmt.Sprintf("keep of task %d must be %q", i+1, keepBranch)
		case strings.TrimSpace(t.Assignment) == "":
			return fmt.Sprintf("the assignment of task %s is empty", cmp.Or(t.ID, t.To, strconv.Itoa(i+1)))
		}
		seen[key] = true
	}
	return ""
}

func (in *taskInput) title() string {
	var all []string
	for i := range in.Tasks {
		all = append(all, in.Tasks[i].title())
	}
	return strings.Join(all, ", ")
}

// title returns the task's title for people.
func (t *taskItem) title() string {
	if title := toolkit.CommandTitle(t.Description); title != "" {
		return title
	}
	return cmp.Or(t.ID, t.To, toolkit.CommandTitle(t.Assignment))
}

// text formats the tasks for people.
func (in *taskInput) text() string {
	var parts []string
	if p := in.SpawnPlan; p != nil {
		parts = append(parts, fmt.Sprintf("Why in parallel: %s\nWhy helpers: %s\nWhy they are independent: %s", p.WhyParallel, p.WhyNotLocal, p.Independence))
	}
	if c := strings.TrimSpace(in.Context); c != "" {
		parts = append(parts, c)
	}
	for _, t := range in.Tasks {
		text := strings.TrimSpace(t.Assignment)
		if len(in.Tasks) > 1 {
			text = "**" + cmp.Or(t.ID, t.To, t.title()) + "**: " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}

// prompt returns the prompt of a task's helper.
func (in *taskInput) prompt(t *taskItem) string {
	text := strings.TrimSpace(t.Assignment)
	if c := strings.TrimSpace(in.Context); c != "" {
		text = "# Context\n\n" + c + "\n\n# Your task\n\n" + text
	}
	if p := in.SpawnPlan; p != nil && strings.TrimSpace(p.ExpectedReceiptShape) != "" {
		text += "\n\n# Your report\n\n" + strings.TrimSpace(p.ExpectedReceiptShape)
	}
	return text
}

// taskState is the progress of a task.
type taskState int

const (
	taskWaits taskState = iota
	taskDone
	taskFailed
)

// taskRun is a running call.
type taskRun struct {
	call *agent.Call
	in   *taskInput

	mu     sync.Mutex // guards states; held during reports, so that they stay in order
	states []taskState
}

func runTask(ctx context.Context, call *agent.Call, in *taskInput) (*agent.Result, error) {
	if call.Task == nil {
		return nil, errors.New("no helper agents are available here; do the work yourself")
	}
	run := &taskRun{call: call, in: in, states: make([]taskState, len(in.Tasks))}
	reports := make([]taskReport, len(in.Tasks))
	var wg sync.WaitGroup
	for i := range in.Tasks {
		wg.Go(func() {
			reports[i] = run.one(ctx, &in.Tasks[i], nil)
			run.ended(i, reports[i].failed())
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return run.result(reports)
}

// startTasks starts a job for each task, and returns when all helpers have their names.
func startTasks(ctx context.Context, call *agent.Call, in *taskInput, startJob StartJob) (*agent.Result, error) {
	if call.Task == nil || call.Child {
		return nil, errors.New("no helper agents can work in the background here; leave out async, or do the work yourself")
	}
	run := &taskRun{call: call, in: in}
	var lines []string
	failed := 0
	for i := range in.Tasks {
		t := &in.Tasks[i]
		begun, name := make(chan taskReport, 1), make(chan string, 1)
		id, err := startJob(ctx, call, strings.TrimSuffix("helper "+cmp.Or(t.ID, t.To), " ")+": "+t.title(), func(ctx context.Context) *agent.Result {
			report := run.one(ctx, t, func(of string) { name <- of })
			begun <- report
			return run.late(&report)
		})
		if err != nil {
			failed++
			lines = append(lines, "- "+t.title()+": not started: "+err.Error())
			continue
		}
		select {
		case of := <-name:
			lines = append(lines, "- "+id+": the helper "+of+" works on: "+t.title())
		case report := <-begun:
			if failed++; report.err == nil {
				failed--
			}
			lines = append(lines, "- "+id+": "+run.late(&report).Text)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	text := strings.Join(lines, "\n") + "\n\nYou will be notified when each ends. Use the job tool to wait for one or to end it, and task with `to` to send it a message."
	return &agent.Result{Text: text, IsError: failed == len(in.Tasks)}, nil
}

// late returns the result of the job of a task.
func (r *taskRun) late(report *taskReport) *agent.Result {
	if report.err != nil {
		return &agent.Result{Text: "[Failed: " + report.err.Error() + cancelledNote(report.err) + "]" + report.addresses(), IsError: true}
	}
	return &agent.Result{Text: r.receipt(report), IsError: report.failed()}
}

// one runs one task in a helper.
func (r *taskRun) one(ctx context.Context, t *taskItem, started func(name string)) taskReport {
	return r.attempt(ctx, t, agent.Attempt{}, started)
}

// attempt is like one, for one of several attempts.
func (r *taskRun) attempt(ctx context.Context, t *taskItem, extra agent.Attempt, started func(name string)) (report taskReport) {
	report.task = t
	defer func() {
		if v := recover(); v != nil { // a panic in one task fails only that task
			bug.Reportf("a helper panicked: %v\n%s", v, debug.Stack())
			report.err = fmt.Errorf("internal error: %v", v)
		}
	}()
	task := agent.Task{
		Name: t.ID, To: t.To, Helper: r.in.Agent, Title: t.title(), Prompt: r.in.prompt(t), Background: r.in.Async, Started: started, Attempt: extra,
		Isolated: t.Isolation == isolationWorktree, Branch: t.Keep == keepBranch,
	}
	if r.in.Output != "" {
		task.Output = jsonx.Raw(r.in.Output)
	}
	report.done, report.err = r.call.Task(ctx, task)
	return report
}

// ended describes the progress of several tasks.
func (r *taskRun) ended(i int, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.states[i] = taskDone; failed {
		r.states[i] = taskFailed
	}
	if len(r.states) == 1 || r.call.Update == nil {
		return
	}
	var b strings.Builder
	for j := range r.in.Tasks {
		b.WriteString("- " + [...]string{"…", "✓", "✗"}[r.states[j]] + " " + strings.TrimPrefix(cmp.Or(r.in.Tasks[j].ID, r.in.Tasks[j].To)+": ", ": ") + r.in.Tasks[j].title() + "\n")
	}
	r.call.Update(agent.Progress{Content: []agent.Content{agent.TextContent{Text: r.in.text()}, agent.TextContent{Text: b.String()}}})
}
