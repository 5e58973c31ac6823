package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// Attempt holds the parts of a [Task] that is one of several attempts at the same work.
type Attempt struct {
	// Model is the child's model, as "provider/id:level" or "gjc/role"; empty for that of its kind. A model that cannot be used fails the task.
	Model string
	// Check is a command line. The child runs it when it has ended, as one of its own calls, with the same questions and the same boundary.
	Check string
	// Rest leaves the changes in the worktree, from which [Delegation.Merge] takes them. At the end of the session they go.
	Rest bool
}

// Judged holds the parts of a [TaskResult] for an attempt.
type Judged struct {
	// Model is the model that the child has used.
	Model string
	// Passed reports that the check has succeeded. Output is what it has printed, or why it could not run.
	Passed bool
	Output string
}

// checkTimeout bounds the time of a check, in seconds.
const checkTimeout = 1800

// judge runs the check of an attempt whose child has done its work.
func (c *childRun) judge(ctx context.Context, started *Session, result *TurnResult) Judged {
	var j Judged
	if snap, err := started.Snapshot(); err == nil {
		j.Model = snap.Model.Ref()
	}
	if c.task.Check == "" || result.Err != nil || result.Stop != StopEndTurn {
		return j
	}
	input, err := jsonx.Marshal(map[string]any{"command": c.task.Check, "timeout": checkTimeout})
	if err != nil {
		j.Output = err.Error()
		return j
	}
	ended := started.Prompt(Prompt{Trace: traceOf(c.span, c.turn.Turn), Answer: func(ctx context.Context, t *RunningTurn) error {
		done, err := callForUser(t, "bash", input)
		switch {
		case err != nil:
			j.Output = err.Error()
		default:
			j.Passed, j.Output = !done.IsError, started.Hide(done.Text)
		}
		return nil
	}}).Wait(ctx)
	if ended.Err != nil || ended.Stop == StopCancelled {
		j.Passed = false
	}
	return j
}

// taskModel returns the model of an attempt.
func taskModel(r *toolRun, name string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	find := r.turn.session.opts.HelperModel
	if find == nil {
		return providers.ModelInfo{}, "", fmt.Errorf("%w: no other model than the session's can be used here, such as %q", ErrBadInput, name)
	}
	info, level, err := find(&Helper{Models: []string{name}})
	if info.ID == "" {
		return info, level, fmt.Errorf("%w: the model %q cannot be used: %w", ErrBadInput, name, err)
	}
	return info, level, nil
}

// mergeChanges implements [Delegation.Merge] for a call.
func mergeChanges(ctx context.Context, r *toolRun, name string) (about string, merged bool) {
	s := r.turn.session
	over, err := treesOf(s).Alone(ctx)
	if err != nil {
		return "", false
	}
	defer over()
	input, err := jsonx.Marshal(map[string]string{"name": name})
	if err != nil {
		return err.Error(), false
	}
	run := &toolRun{
		turn: r.turn, call: providers.ToolCall{ID: s.opts.NewID(), Name: MergeTool, Input: input}, tool: find(s.opts.Tools.Tools(), MergeTool), unlisted: true,
	}
	switch result, err := run.do(ctx); {
	case err != nil:
		return err.Error(), false
	default:
		return strings.TrimSpace(result.Text), !result.IsError
	}
}
