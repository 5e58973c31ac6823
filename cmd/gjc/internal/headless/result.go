package headless

import (
	"context"
	"errors"
	"strings"
	"time"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// Status is an exit status.
type Status int

// The exit statuses.
const (
	Done        Status = 0
	Failed      Status = 1
	Refused     Status = 3
	Limit       Status = 4
	Unfit       Status = 5 // the answer does not fit the schema
	Interrupted Status = 130
)

// Result describes a run that has ended. Its JSON is the output of "gjc run --output json".
type Result struct {
	// Answer is the agent's last message.
	Answer string `json:"answer"`
	// Output is the answer that fits the schema; nil for none.
	Output jsonx.Raw `json:"output,omitzero"`
	// StopReason is the protocol's; empty after an error.
	StopReason acp.StopReason `json:"stopReason,omitzero"`
	SessionID  acp.SessionID  `json:"sessionId,omitzero"`
	Model      string         `json:"model,omitzero"`
	Usage      *acp.Usage     `json:"usage,omitzero"`
	// CostUSD is zero if the price is unknown.
	CostUSD    float64 `json:"costUsd"`
	DurationMS int64   `json:"durationMs"`
	// Files are those that file tools have changed.
	Files    []File    `json:"files"`
	Commands []Command `json:"commands"`
	// Worktree has the changes of a run in a worktree; nil for another run.
	Worktree *Worktree `json:"worktree,omitzero"`
	// Refused are the steps that would have needed a permission.
	Refused []Refusal `json:"refused"`
	// Errors say why the run failed, Warnings what the user should know.
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
	// Status is the exit status.
	Status Status `json:"exitStatus"`

	// Began is when the run began.
	Began time.Time `json:"-"`
}

// newResult returns a result whose lists are empty, which JSON shows as such.
func newResult() Result {
	return Result{Files: []File{}, Commands: []Command{}, Refused: []Refusal{}, Errors: []string{}, Warnings: []string{}, Began: time.Now()}
}

// Failure returns the result of a run that could not begin.
func Failure(err error) *Result {
	r := newResult()
	r.Status, r.Errors = Failed, []string{err.Error()}
	return &r
}

// File is a changed file.
type File struct {
	// Path is absolute.
	Path string `json:"path"`
	// Diff is unified, from the first to the last state.
	Diff string `json:"diff"`
	// Added and Removed count lines.
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// Worktree is the worktree of a run.
type Worktree struct {
	// Path is where the worktree is, if it could not be removed.
	Path string `json:"path,omitzero"`
	// Applied are the files that were to be changed in the working tree; nil for a run that was to make a branch.
	Applied []AppliedFile `json:"applied,omitzero"`
	// Branches have the changes: one in each repository that has some.
	Branches []Branch `json:"branches"`
}

// AppliedFile is a change that was to be merged into the working tree.
type AppliedFile struct {
	// Path is relative to the top of the repository.
	Path string `json:"path"`
	// Kind is "added", "modified" or "deleted".
	Kind string `json:"kind"`
	// Outcome is "applied", "conflict" for a file with markers of conflicts, or "refused" for one that stays as it is.
	Outcome string `json:"outcome"`
	// Reason says why it was refused.
	Reason string `json:"reason,omitzero"`
}

// Branch is a branch with the changes of a run.
type Branch struct {
	Name string `json:"name"`
	// Repository is the directory of the repository.
	Repository string `json:"repository"`
	Commit     string `json:"commit"`
	// Before is the commit before the changes. If Uncommitted is set, it has what was not committed when the run began.
	Before      string `json:"before"`
	Uncommitted bool   `json:"uncommitted"`
	// Command brings the changes into the working tree.
	Command string       `json:"command"`
	Files   []BranchFile `json:"files"`
}

// BranchFile is a file that a branch changes.
type BranchFile struct {
	// Path is relative to the top of the outermost repository.
	Path string `json:"path"`
	// Kind is "added", "modified" or "deleted".
	Kind string `json:"kind"`
	// Added and Removed count lines; zero for a binary file.
	Added   int  `json:"added"`
	Removed int  `json:"removed"`
	Binary  bool `json:"binary,omitzero"`
}

// Command is a command line or another program that the model has run.
type Command struct {
	Command string `json:"command"`
	// ExitCode is nil for one that did not run to its end.
	ExitCode   *int  `json:"exitCode"`
	DurationMS int64 `json:"durationMs"`
}

// Refusal is a refused step. Reason is empty if the user has refused it.
type Refusal struct {
	Title  string `json:"title"`
	Reason string `json:"reason,omitzero"`
}

// finish returns the result. promptErr is the error of the prompt; ctx is that of the turn.
func (c *client) finish(ctx context.Context, response *acp.PromptResponse, promptErr error, cost float64) *Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.result
	r.Answer, r.CostUSD, r.DurationMS = strings.Trim(c.answer.String(), "\n"), cost, time.Since(r.Began).Milliseconds()
	if response != nil {
		r.StopReason, r.Usage = response.StopReason, response.Usage
	}
	r.Files, r.Commands = changes(c.order), commands(c.order)
	cause := context.Cause(ctx)
	var unfit error
	if c.opts.Schema != nil {
		r.Output, unfit = c.opts.Schema.result()
	}
	switch {
	case errors.Is(cause, errSchema):
		r.Status, r.Errors = Unfit, append(r.Errors, unfit.Error())
	case errors.Is(cause, errTime), errors.Is(cause, errCost):
		r.Status, r.Errors = Limit, append(r.Errors, "the run was ended: "+cause.Error())
	case cause != nil:
		r.Status, r.Errors = Interrupted, append(r.Errors, "interrupted")
	case promptErr != nil:
		r.Status, r.Errors = Failed, append(r.Errors, promptErr.Error())
	case r.StopReason == acp.StopReasonMaxTurnRequests:
		r.Status, r.Errors = Limit, append(r.Errors, "the run was ended: the model has been asked as often as one turn may; --max-requests sets that")
	case r.StopReason == acp.StopReasonMaxTokens:
		r.Status, r.Errors = Limit, append(r.Errors, "the run was ended: the answer reached the model's limit of tokens")
	case r.StopReason == acp.StopReasonRefusal:
		r.Status, r.Errors = Failed, append(r.Errors, "the model refused to answer")
	case unfit != nil:
		r.Status, r.Errors = Unfit, append(r.Errors, unfit.Error())
	case len(r.Refused) > 0:
		r.Status = Refused
	}
	return r
}

// change is a step of a file from one text to another. For a large file they are only parts of it.
type change struct{ old, text string }

// changes returns the files that calls have changed, in the order of their first change.
func changes(calls []*call) []File {
	steps := make(map[string][]change)
	var paths []string
	for _, one := range calls {
		if one.status != acp.ToolCallStatusCompleted {
			continue
		}
		for _, part := range one.content {
			d, ok := part.(*acp.Diff)
			if !ok {
				continue
			}
			next := change{text: d.NewText}
			if d.OldText != nil {
				next.old = *d.OldText
			}
			before := steps[d.Path]
			if before == nil {
				paths = append(paths, d.Path)
			}
			if last := len(before) - 1; last >= 0 && before[last].text == next.old {
				before[last].text = next.text
			} else {
				steps[d.Path] = append(before, next)
			}
		}
	}
	files := make([]File, 0, len(paths))
	for _, path := range paths {
		if f := diff(path, steps[path]); f.Diff != "" {
			files = append(files, f)
		}
	}
	return files
}

// diff returns the diff of a file's steps.
func diff(path string, steps []change) File {
	f := File{Path: path}
	for _, s := range steps {
		f.Diff += udiff.Unified(path, path, s.old, s.text)
	}
	for line := range strings.Lines(f.Diff) {
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		case strings.HasPrefix(line, "+"):
			f.Added++
		case strings.HasPrefix(line, "-"):
			f.Removed++
		}
	}
	return f
}

// commands returns the commands that calls have run.
func commands(calls []*call) []Command {
	all := make([]Command, 0)
	for _, one := range calls {
		if one.kind != acp.ToolKindExecute || !one.ran {
			continue
		}
		cmd := Command{Command: one.title, DurationMS: one.lasted.Milliseconds()}
		var input struct {
			Command string `json:"command"`
		}
		if jsonx.Unmarshal(one.input, &input) == nil && input.Command != "" {
			cmd.Command = input.Command
		}
		var output struct {
			ExitCode *int `json:"exitCode"`
		}
		if jsonx.Unmarshal(one.output, &output) == nil {
			cmd.ExitCode = output.ExitCode
		}
		all = append(all, cmd)
	}
	return all
}
