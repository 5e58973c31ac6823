package debug

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/text"
)

// explain rewords err for the model, and adds the next sensible step. ctx is the context with the call's timeout.
func (c *debugCall) explain(ctx context.Context, err error) error {
	if err = c.worded(ctx, err); err == nil {
		return nil
	}
	if text := text.Visible(err.Error()); text != err.Error() {
		return &debugError{err, text}
	}
	return err
}

func (c *debugCall) worded(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	text := strings.TrimRight(err.Error(), ". \n")
	switch {
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errDebugTimeout):
		return context.Cause(ctx)
	case ctx.Err() != nil || errors.Is(err, dap.ErrTimeout):
		return &debugError{err, fmt.Sprintf("debug %s timed out after %ss.%s", c.in.Action, toolkit.Seconds(c.seconds), c.sessionState())}
	case errors.Is(err, dap.ErrRunning):
		if !strings.Contains(text, "ause") {
			text += ". Use pause first, or continue to wait for the next stop"
		}
	case errors.Is(err, dap.ErrStale):
		text += ". Frames, scopes and variables are valid until the program continues: run stack_trace and scopes again"
	case errors.Is(err, dap.ErrUnknownHandle):
		text += ". Take the IDs from stack_trace (frame_id), scopes (scope_id) and variables (variable_ref)"
	case errors.Is(err, dap.ErrUnsupported):
		if c.action.instead != "" {
			text += ". " + c.action.instead
		}
	case errors.Is(err, dap.ErrAdapterDied):
		text += ". Its program is gone too: launch it again"
	case errors.Is(err, dap.ErrTerminated) && strings.Contains(text, "again to continue"):
	case errors.Is(err, dap.ErrTerminated):
		if s := c.session; s != nil {
			text += ": " + strings.TrimRight(ending(s.Peek()), ".")
		}
		text += ". Launch it again to continue"
	case errors.Is(err, dap.ErrNoSession):
		return err
	default:
		hint := failureHint(text)
		if hint == "" && c.in.PID != 0 && strings.Contains(text, "attach failed") {
			hint = noAttach
		}
		if hint == "" {
			return err
		}
		text += ". " + hint
	}
	return &debugError{err, text + "."}
}

// debugError is an error with advice.
type debugError struct {
	err  error
	text string
}

func (e *debugError) Error() string { return e.text }
func (e *debugError) Unwrap() error { return e.err }

// sessionState returns a sentence on the session after a timeout.
func (c *debugCall) sessionState() string {
	if c.session == nil || c.session.State() == dap.StateTerminated {
		return " Try again with a longer timeout."
	}
	return fmt.Sprintf(" Session %s still exists and is %s; try again with a longer timeout, pause it, or terminate it.", c.session.ID(), c.session.State())
}

const noDebugInfo = `The program has no debug information: build it with -g (Go: go build -gcflags="all=-N -l", without -ldflags -s -w), then launch again`

const noAttach = "The system may not allow it (Linux: /proc/sys/kernel/yama/ptrace_scope): launch the program under the debugger instead of attaching"

// failureHints lists known errors of adapters that require another step first: the advice, and the texts by which such an error is
// recognized.
var failureHints = [...][]string{
	{noDebugInfo, "no debug info", "could not open debug info", "debug symbols", "no symbol table", "without debug", "stripped"},
	{noAttach, "operation not permitted", "ptrace", "could not attach", "not allowed to attach"},
	{"The port is in use: give another one, or stop the program that uses it", "address already in use", "bind:", "eaddrinuse"},
	{"Nothing listens there: start the program with its debug server first, or give the right port", "connection refused", "econnrefused"},
	{"The process has ended: look up its ID again", "no such process", "process does not exist"},
	{"It is not a program for this machine, or not executable: build it, or give its source or package", "permission denied", "exec format error", "not an executable", "is not executable"},
	{"variables (mem=…) and evaluate return memory references: use one of those", "memoryreference", "memory reference"},
	{"Fix the compiler errors and launch again", "build error", "failed to build", "could not build"},
}

// failureHint returns the advice for an error, or "".
func failureHint(text string) string {
	lower := strings.ToLower(text)
	for _, known := range failureHints {
		if slices.ContainsFunc(known[1:], func(part string) bool { return strings.Contains(lower, part) }) {
			return known[0]
		}
	}
	return ""
}
