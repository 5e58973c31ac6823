package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/gajae-code/gjc/internal/bug"
)

// inboundContext is the context of one request. It carries the request for [AfterResponse].
type inboundContext struct {
	context.Context //nolint:containedctx // a context that adds a value
	in              *inbound
}

type inboundKey struct{}

func (c *inboundContext) Value(key any) any {
	if _, ok := key.(inboundKey); ok {
		return c.in
	}
	return c.Context.Value(key)
}

// AfterResponse runs fn immediately after the response to the request of ctx is queued, so that messages from fn follow the
// response. The handler of that request must call it before its [Reply] returns; otherwise it does nothing. fn must not block.
func AfterResponse(ctx context.Context, fn func()) {
	if in, ok := ctx.Value(inboundKey{}).(*inbound); ok {
		in.after = append(in.after, fn)
	}
}

// dispatch runs the ordered phase of all handlers, in the order of arrival.
func (c *Conn) dispatch() {
	var items []inboxItem
	for {
		var ok bool
		if items, ok = c.inbox.take(items); !ok {
			return
		}
		for _, it := range items {
			if it.call != nil {
				close(it.call.done)
				continue
			}
			c.handle(it.msg)
		}
	}
}

// handle runs both phases of a handler. It runs on the dispatcher.
func (c *Conn) handle(in *inbound) {
	if in.req.IsNotification() {
		// A message that precedes the end of the stream is handled even after that end.
		reply, err := c.ordered(in)
		if err != nil && c.opts.Dropped != nil {
			c.opts.Dropped(fmt.Errorf("%s: %w", in.req.Method, err))
		}
		if reply == nil {
			c.update(func(s *connState) { s.handlers-- })
			return
		}
		go func() {
			_, _ = c.concurrent(in, reply) // a notification has no answer
			c.update(func(s *connState) { s.handlers-- })
		}()
		return
	}
	if in.ctx.Err() != nil {
		c.answer(in, nil, context.Cause(in.ctx))
		return
	}
	reply, err := c.ordered(in)
	switch {
	case err != nil && reply != nil:
		c.answer(in, nil, bug.Errorf("%s: the handler gave both a reply and an error: %w", in.req.Method, err))
	case err != nil:
		c.answer(in, nil, err)
	case reply == nil:
		c.answer(in, nil, bug.Errorf("%s: the handler gave neither a reply nor an error", in.req.Method))
	default:
		go func() {
			result, err := c.concurrent(in, reply)
			if err != nil && result != nil {
				err = bug.Errorf("%s: the handler gave both a result and an error: %w", in.req.Method, err)
			}
			c.answer(in, result, err)
		}()
	}
}

// answer sends the response and the messages after it, and removes the request.
func (c *Conn) answer(in *inbound, result any, err error) {
	var rerr *Error
	if err != nil {
		result = nil
		rerr = c.opts.MapError(err)
	}
	// Release the ID before the peer can receive the answer.
	c.update(func(s *connState) { delete(s.incoming, in.req.ID.key()) })
	c.respond(in.req.ID, result, rerr)
	for _, fn := range in.after {
		fn()
	}
	in.cancel(nil)
	c.update(func(s *connState) { s.handlers-- })
}

func (c *Conn) ordered(in *inbound) (reply Reply, err error) {
	if c.opts.Handler == nil {
		return nil, fmt.Errorf("%w: %s", ErrMethodNotFound, in.req.Method)
	}
	defer c.recover(in, &err)
	return c.opts.Handler.Handle(in.ctx, in.req)
}

func (c *Conn) concurrent(in *inbound, reply Reply) (result any, err error) {
	defer c.recover(in, &err)
	return reply()
}

// recover turns a panic of a handler into an internal error: one bad request must not end all sessions. No other panics are recovered.
func (c *Conn) recover(in *inbound, err *error) {
	v := recover()
	if v == nil {
		return
	}
	if c.opts.Panicked != nil {
		c.opts.Panicked(in.req.Method, v, debug.Stack())
	}
	*err = fmt.Errorf("%w: %s panicked: %v", errInternal, in.req.Method, v)
}

// WireError converts an error to the one that is sent: with the code and data of the first [*Error] in err's tree and err's whole text,
// -32800 for a cancelled context, otherwise -32603. It returns nil for nil.
func WireError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return &Error{Code: e.Code, Message: err.Error(), Data: e.Data}
	}
	if errors.Is(err, ErrPeerCancelled) || errors.Is(err, context.Canceled) {
		return &Error{Code: CodeCancelled, Message: err.Error()}
	}
	return &Error{Code: CodeInternalError, Message: err.Error()}
}
