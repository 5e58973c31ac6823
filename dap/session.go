package dap

import (
	"context"
	"fmt"
	"slices"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Session is one debuggee and its adapter. Its methods are safe for concurrent use; they fail with an error that wraps
// [ErrTerminated] once it has ended. If a session has child sessions, a call on it applies to the child that stopped last,
// unless the session itself is stopped.
type Session struct {
	debuggee *debuggee
	tree     *tree
}

// Event is an event of the adapter that gjc does not use.
type Event struct {
	Name string
	// Body is truncated to 4 KiB, which may leave invalid JSON.
	Body string
}

const (
	maxEvents    = 32
	maxEventBody = 4 << 10
)

// ID returns the session's ID, such as "debug-1", or "debug-1.1" for a child session.
func (s *Session) ID() string { return s.debuggee.id }

// Started returns the argument that started the root of the session. The caller must not modify it.
func (s *Session) Started() *Start { return s.tree.root.start }

// State returns the state of the session; for a session with live children it is the state of the child that calls apply to.
func (s *Session) State() State {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.debuggee.stateLocked()
}

// ExceptionFilters returns the kinds of exceptions that the adapter can stop at.
func (s *Session) ExceptionFilters() []godap.ExceptionBreakpointsFilter {
	return s.debuggee.capabilities().ExceptionBreakpointFilters
}

// Events returns the last events of the adapter that gjc does not use.
func (s *Session) Events() []Event {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return slices.Clone(s.debuggee.targetLocked().events)
}

// Observe calls the observer's functions until release is called. Before it returns, it reports the existing terminals. A session
// can have several observers.
func (s *Session) Observe(o Observer) (release func()) { return s.tree.observe(o) }

// Wait waits until the program is stopped or the session has ended. It returns the error of a failed launch or attach. If ctx ends
// first, it returns ctx's cause and does not change the session. Any other reason for the end is in [Snapshot.Ended].
func (s *Session) Wait(ctx context.Context) error {
	t, d := s.tree, s.debuggee
	defer t.use()()
	for {
		t.mu.Lock()
		ended := t.root.state == StateTerminated || d.state == StateTerminated
		failure := d.failure
		stopped := t.stops > t.waitFrom && d.targetLocked().state == StateStopped
		changed := t.changed
		t.mu.Unlock()
		switch {
		case ended:
			return failure
		case stopped:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Terminate ends the program and the adapter. It detaches from a program that was attached to, unless kill is set. It
// returns when no process is left. Further calls are no-ops.
func (s *Session) Terminate(ctx context.Context, kill bool) error {
	defer s.tree.use()()
	return s.debuggee.end(ctx, nil, endOptions{
		kill: kill || s.debuggee.start.Request == "launch", terminate: true, disconnect: terminateDisconnect,
	})
}

// Custom sends a request for which Session has no method. The frames and variables in its arguments and its answer are the
// adapter's IDs, not handles.
func (s *Session) Custom(ctx context.Context, command string, arguments jsonx.Raw) (jsonx.Raw, error) {
	defer s.tree.use()()
	switch command {
	case "initialize", "launch", "attach", "configurationDone", "disconnect", "terminate", "restart", "continue", "next", "stepIn",
		"stepOut", "stepBack", "reverseContinue", "goto", "restartFrame", "setBreakpoints", "setFunctionBreakpoints",
		"setExceptionBreakpoints", "setDataBreakpoints", "setInstructionBreakpoints":
		return nil, fmt.Errorf("gjc sends %s itself; use the action for it", command)
	}
	t, err := s.debuggee.connected()
	if err != nil {
		return nil, err
	}
	var args any
	if len(arguments) > 0 {
		args = arguments
	}
	var body jsonx.Raw
	err = t.adapter.do(ctx, command, args, &body)
	return body, err
}
