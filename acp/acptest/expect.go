package acptest

import (
	"context"
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/acp"
)

// Verdict is the result of an [Expectation].
type Verdict int

// The verdicts. Unmeetable ends the wait early: the expectation cannot be met by anything that may follow.
const (
	Unmet Verdict = iota
	Met
	Unmeetable
)

// Expectation judges all updates of a session and all calls of the agent so far.
type Expectation func(updates []acp.SessionUpdate, calls []string) Verdict

// ErrUnmeetable is wrapped by the error of an expectation that can no longer be met.
var ErrUnmeetable = errors.New("expectation can no longer be met")

// Await waits until want is met for a session, or for all sessions if id is empty. It does not poll: it checks want after each
// message. It fails when want becomes unmeetable, or the connection or ctx ends.
func (e *Editor) Await(ctx context.Context, id acp.SessionID, want Expectation) error {
	for {
		e.mu.Lock()
		changed := e.changed
		e.mu.Unlock()
		switch want(e.Updates(id), e.Calls()) {
		case Met:
			return nil
		case Unmeetable:
			return fmt.Errorf("%w; %d updates came", ErrUnmeetable, len(e.Updates(id)))
		case Unmet:
		}
		select {
		case <-changed:
		case <-e.Conn.Done():
			if want(e.Updates(id), e.Calls()) == Met {
				return nil
			}
			return fmt.Errorf("the connection ended before the expectation was met: %w", e.Conn.Err())
		case <-ctx.Done():
			return fmt.Errorf("waiting for an expectation: %w", context.Cause(ctx))
		}
	}
}

// Update is met by an update of the type U that ok accepts; a nil ok accepts all.
func Update[U acp.SessionUpdate](ok func(U) bool) Expectation {
	return func(updates []acp.SessionUpdate, _ []string) Verdict {
		for _, u := range updates {
			if v, is := u.(U); is && (ok == nil || ok(v)) {
				return Met
			}
		}
		return Unmet
	}
}

// Called is met when the agent has called method at least n times.
func Called(method string, n int) Expectation {
	return func(_ []acp.SessionUpdate, calls []string) Verdict {
		seen := 0
		for _, c := range calls {
			if c == method {
				seen++
			}
		}
		if seen >= n {
			return Met
		}
		return Unmet
	}
}

// ToolStatus is met when a tool call has reached a status, and cannot be met once the call has ended with another.
func ToolStatus(id acp.ToolCallID, status acp.ToolCallStatus) Expectation {
	return func(updates []acp.SessionUpdate, _ []string) Verdict {
		for _, u := range updates {
			var got acp.ToolCallStatus
			switch u := u.(type) {
			case *acp.ToolCall:
				if u.ToolCallID == id {
					got = u.Status
				}
			case *acp.ToolCallUpdate:
				if u.ToolCallID == id {
					got = u.Status.Or("")
				}
			}
			switch got {
			case status:
				return Met
			case acp.ToolCallStatusCompleted, acp.ToolCallStatusFailed:
				return Unmeetable
			case acp.ToolCallStatusPending, acp.ToolCallStatusInProgress:
			}
		}
		return Unmet
	}
}
