package jsonrpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// Call is a request of ours that waits for its answer.
type Call struct {
	conn   *Conn
	id     ID
	method string
	done   chan struct{} // closed when resp or err is set
	resp   *response
	err    error
}

// Go sends a request. It is on its way in the order of the calls to Go and Notify when Go returns; Go waits for
// nothing. The caller must Await the call.
func (c *Conn) Go(method string, params any) *Call {
	call := &Call{conn: c, method: method, done: make(chan struct{})}
	c.update(func(s *connState) {
		if s.cause != nil {
			call.settle(nil, fmt.Errorf("%s: %w", method, s.cause))
			return
		}
		s.nextID++
		call.id = NumberID(s.nextID)
		// Known before it is written, so that no answer can come too early.
		s.outgoing[call.id] = call
	})
	if !call.id.IsValid() {
		return call
	}
	if err := c.send(call.id, method, params); err != nil && c.retire(call) {
		call.settle(nil, err)
	}
	return call
}

// Call sends a request and waits for its answer, which it decodes into result unless that is nil. When ctx has ended
// already it sends nothing.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
	return c.Go(method, params).Await(ctx, result)
}

// Await waits for the answer and decodes it into result unless that is nil. An error answer is an [*Error]. When
// ctx ends first, Await forgets the call, tells the peer where the protocol has a way to, and returns ctx's cause
// without waiting for anything more; a late answer is dropped. An answer without a result and an error counts as null;
// one that cannot be read, or does not fit result, is an [*AnswerError].
func (call *Call) Await(ctx context.Context, result any) error {
	select {
	case <-call.done:
	case <-ctx.Done():
		if c := call.conn; c.retire(call) {
			call.cancel()
			return fmt.Errorf("%s: %w", call.method, context.Cause(ctx))
		}
		// The answer is in, or about to be: it is the better result, unless it waits its turn.
		select {
		case <-call.done:
		default:
			return fmt.Errorf("%s: %w", call.method, context.Cause(ctx))
		}
	}
	if call.err != nil {
		return call.err
	}
	if call.resp.err != nil {
		return call.resp.err
	}
	if result == nil {
		return nil
	}
	if err := jsonx.Unmarshal(call.resp.result, result); err != nil {
		return &AnswerError{Method: call.method, Err: err}
	}
	return nil
}

// AnswerError is the error of a call whose answer came and cannot be used. Err is a [*frame.TooLongError] for an answer
// over [Options.MaxMessageSize], and else usually a [*jsonx.DecodeError].
type AnswerError struct {
	Method string
	Err    error
}

func (e *AnswerError) Error() string {
	if long, ok := errors.AsType[*frame.TooLongError](e.Err); ok {
		return fmt.Sprintf("the answer to %s is larger than %s (%d bytes)", e.Method, mebibytes(long.Max), long.Size)
	}
	return fmt.Sprintf("the answer to %s: %v", e.Method, e.Err)
}

func (e *AnswerError) Unwrap() error { return e.Err }

// mebibytes returns a size for people.
func mebibytes(n int) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// cancel tells the peer that nobody waits any more.
func (call *Call) cancel() {
	c := call.conn
	if c.opts.CancelMethod == "" {
		return
	}
	// Queued, not written: the caller's deadline has passed already. A connection that is closing needs none.
	_ = c.send(ID{}, c.opts.CancelMethod, map[string]ID{c.opts.CancelParam: call.id})
}

// retire forgets a call and reports whether it was still open.
func (c *Conn) retire(call *Call) bool {
	open := false
	c.update(func(s *connState) {
		if open = s.outgoing[call.id] == call; open {
			delete(s.outgoing, call.id)
		}
	})
	return open
}

// settle ends a call with an error of ours. It is called once, by whoever took the call out of the table.
func (call *Call) settle(resp *response, err error) {
	call.resp, call.err = resp, err
	close(call.done)
}

// Notify sends a notification. It is on its way, in order, when Notify returns. Notify waits only while the
// peer is more than Options.HighWater behind, and no longer than ctx.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	if err := c.outbox.wait(ctx); err != nil {
		return fmt.Errorf("%s: the peer does not read: %w", method, err)
	}
	return c.send(ID{}, method, params)
}

// NotifyMergeable sends a notification that may absorb later ones while it waits for the peer. The connection
// owns params from here on.
func (c *Conn) NotifyMergeable(ctx context.Context, method string, params Mergeable) error {
	if err := c.outbox.wait(ctx); err != nil {
		return fmt.Errorf("%s: the peer does not read: %w", method, err)
	}
	if !c.outbox.putMergeable(method, params) {
		return c.closedError(method)
	}
	return nil
}

// Flush waits until what was sent before has been written, or the connection ends, or ctx does.
func (c *Conn) Flush(ctx context.Context) error { return c.outbox.flush(ctx) }

func (c *Conn) send(id ID, method string, params any) error {
	buf := buffers.Get().(*[]byte)
	defer recycle(buf)
	msg, err := appendRequest((*buf)[:0], id, method, params)
	*buf = msg[:0]
	if err != nil {
		return err
	}
	if !c.outbox.put(msg) {
		return c.closedError(method)
	}
	return nil
}

func (c *Conn) closedError(method string) error {
	cause := c.Err()
	if cause == nil {
		cause = ErrClosed
	}
	return fmt.Errorf("%s: %w", method, cause)
}

// IsGone reports whether err means that the connection ended, on either side.
func IsGone(err error) bool {
	return errors.Is(err, ErrClosed) || errors.Is(err, ErrPeerGone)
}
