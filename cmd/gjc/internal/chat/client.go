package chat

import (
	"context"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/cmd/gjc/internal/headless"
)

// client is the client's side of the connection. It hands everything to the chat's goroutine, in order.
type client struct {
	headless.NoMachine
	events chan event
	// ended is closed when the chat no longer takes events.
	ended chan struct{}
}

var _ acp.Client = (*client)(nil)

// event is a *acp.SessionNotification or a dialog.
type event any

// send gives an event to the chat.
func (c *client) send(ctx context.Context, e event) error {
	select {
	case c.events <- e:
		return nil
	case <-c.ended:
		return context.Canceled
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// SessionUpdate implements [acp.Client].
func (c *client) SessionUpdate(ctx context.Context, n *acp.SessionNotification) error {
	return c.send(ctx, n)
}

// RequestPermission implements [acp.Client].
func (c *client) RequestPermission(ctx context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	q := &question{request: p, waiter: newWaiter(ctx, &acp.RequestPermissionResponse{Outcome: &acp.CancelledPermissionOutcome{}})}
	if err := c.send(ctx, q); err != nil {
		return nil, err
	}
	return q.wait(c.ended)
}

// CreateElicitation implements [acp.Client].
func (c *client) CreateElicitation(ctx context.Context, p *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
	w := newWaiter(ctx, &acp.CreateElicitationResponse{Action: &acp.ElicitationCancelAction{}})
	var d dialog
	switch mode := p.Mode.(type) {
	case *acp.ElicitationFormMode:
		d = newForm(p.Message, &mode.RequestedSchema, w)
	case *acp.ElicitationURLMode:
		d = &page{message: p.Message, url: mode.URL, waiter: w}
	default:
		return nil, &acp.Error{Code: acp.ErrorCodeInvalidParams, Message: "unknown mode of elicitation"}
	}
	if err := c.send(ctx, d); err != nil {
		return nil, err
	}
	return w.wait(c.ended)
}

// waiter waits for the user's answer to a request.
type waiter[T any] struct {
	ctx       context.Context //nolint:containedctx // the request's: it ends when the agent no longer needs the answer
	answer    chan T          // has room for the answer
	cancelled T               // the answer when the turn is cancelled
}

func newWaiter[T any](ctx context.Context, cancelled T) *waiter[T] {
	return &waiter[T]{ctx, make(chan T, 1), cancelled}
}

func (w *waiter[T]) wait(ended <-chan struct{}) (T, error) {
	select {
	case answer := <-w.answer:
		return answer, nil
	case <-ended:
		return w.cancelled, nil
	case <-w.ctx.Done():
		var none T
		return none, context.Cause(w.ctx)
	}
}

// withdrawn is closed when the answer is no longer needed.
func (w *waiter[T]) withdrawn() <-chan struct{} { return w.ctx.Done() }

// cancel answers as the protocol requires it when a turn is cancelled.
func (w *waiter[T]) cancel() { w.answer <- w.cancelled }
