package bridges

import (
	"context"
	"fmt"
	"time"

	"github.com/gajae-code/gjc/acp"
)

// defaultRequestTimeout bounds requests that an editor answers without its user. It allows for files on remote machines and
// for what editors do on a save, such as formatting and hooks.
const defaultRequestTimeout = time.Minute

// unansweredError is wrapped by the error of a request that the editor has not answered in time.
type unansweredError struct{ limit time.Duration }

func (e *unansweredError) Error() string {
	return fmt.Sprintf("the editor did not answer within %s", e.limit)
}

// bounded is a client whose requests fail if they are not answered within limit. Requests that wait for the user or for the
// end of a command use the Caller instead.
type bounded struct {
	acp.Caller
	limit time.Duration
}

// Call implements [acp.Caller].
func (b bounded) Call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.limit, &unansweredError{b.limit})
	defer cancel()
	return b.Caller.Call(ctx, method, params, result)
}
