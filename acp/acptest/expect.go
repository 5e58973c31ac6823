package acptest

import (
	"context"
	"fmt"
	"slices"

	"github.com/gajae-code/gjc/acp"
)

// Expectation reports whether the updates of a session and the agent's calls so far are as expected.
type Expectation func(updates []acp.SessionUpdate, calls []string) bool

// Await waits until want is met for a session, or for all sessions if id is empty. It does not poll: it checks want after each
// message. It fails when the connection or ctx ends.
func (e *Editor) Await(ctx context.Context, id acp.SessionID, want Expectation) error {
	for {
		e.mu.Lock()
		changed := e.changed
		e.mu.Unlock()
		if want(e.Updates(id), e.Calls()) {
			return nil
		}
		select {
		case <-changed:
		case <-e.Conn.Done():
			if want(e.Updates(id), e.Calls()) {
				return nil
			}
			return fmt.Errorf("the connection ended before the expectation was met: %w", e.Conn.Err())
		case <-ctx.Done():
			return fmt.Errorf("waiting for an expectation: %w", context.Cause(ctx))
		}
	}
}

// Update returns an expectation that is met by an update of type U that ok accepts; a nil ok accepts all.
func Update[U acp.SessionUpdate](ok func(U) bool) Expectation {
	return func(updates []acp.SessionUpdate, _ []string) bool {
		return slices.ContainsFunc(updates, func(u acp.SessionUpdate) bool {
			v, is := u.(U)
			return is && (ok == nil || ok(v))
		})
	}
}

// Called returns an expectation that is met when the agent has called method at least n times.
func Called(method string, n int) Expectation {
	return func(_ []acp.SessionUpdate, calls []string) bool {
		others := slices.DeleteFunc(slices.Clone(calls), func(c string) bool { return c == method })
		return len(calls)-len(others) >= n
	}
}
