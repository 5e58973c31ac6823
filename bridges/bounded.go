package bridges

import (
	"context"
	"fmt"
	"time"

	"github.com/gajae-code/gjc/acp"
)

// DefaultRequestTimeout bounds the requests that an editor answers without its user. It leaves time for files on remote
// machines and for what editors do when they save: formatting, hooks.
const DefaultRequestTimeout = time.Minute

// UnansweredError is wrapped by the error of a request that the editor has not answered in time.
type UnansweredError struct{ Limit time.Duration }

func (e *UnansweredError) Error() string {
	return fmt.Sprintf("the editor did not answer within %s", e.Limit)
}

// bounded is a client whose requests fail when it does not answer them within limit. Requests that wait for the user, or
// for a command to end, go to the Caller itself.
type bounded struct {
	acp.Caller
	limit time.Duration
}

// Call implements [acp.Caller].
func (b bounded) Call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.limit, &UnansweredError{Limit: b.limit})
	defer cancel()
	return b.Caller.Call(ctx, method, params, result)
}
