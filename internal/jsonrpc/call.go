package jsonrpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// Call is an outgoing request.
type Call struct {
	conn   *Conn
	id     ID
	method string
	done   chan struct{} // closed when resp or err is set
	resp   *response
	err    error
}

// Go queues a request, in the order of the calls to Go and Notify. It does not block. The caller must call Await.
func (c *Conn) Go(method string, params any) *Call {
	call := &Call{conn: c, method: method, done: make(chan struct{})}
	c.update(func(s *connState) {
		if s.cause != nil {
			call.fail(nil, fmt.Errorf("%s: %w", method, s.cause))
			return
		}
		s.nextID++
		call.id = numberID(s.nextID)
		// Add it before it is written, so that an early answer finds it.
		s.outgoing[call.id] = call
	})
	if !call.id.isValid() {
		return call
	}
	if err := c.send(call.id, method, params); err != nil && c.retire(call) {
		call.fail(nil, err)
	}
	return call
}

// Call sends a request, waits for the answer, and decodes it into result unless that is nil. If ctx has ended already, it sends nothing.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
	return c.Go(method, params).Await(ctx, result)
}

// Await waits for the answer and decodes it into result unless that is nil. The error is an [*Error] for an error answer, and an
// [*AnswerError] for an answer that is invalid or does not match result. An answer without a result and an error counts as null.
// If ctx ends first, Await drops the call, notifies the peer if the protocol supports it, and returns ctx's cause at once; a late
// answer is dropped.
func (call *Call) Await(ctx context.Context, result any) error {
	select {
	case <-call.done:
	case <-ctx.Done():
		if c := call.conn; c.retire(call) {
			call.cancel()
			return fmt.Errorf("%s: %w", call.method, context.Cause(ctx))
		}
		// The answer has arrived or is about to: prefer it, unless it waits for notifications before it.
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

// AnswerError is the error of a call with an invalid answer. Err is a [*frame.TooLongError] for an answer over
// [Options.MaxMessageSize], otherwise usually a [*jsonx.DecodeError].
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

// mebibytes formats a size.
func mebibytes(n int) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// cancel notifies the peer that the call was cancelled.
func (call *Call) cancel() {
	c := call.conn
	if c.opts.CancelMethod == "" {
		return
	}
	// Do not wait for the write: the caller's deadline has passed. A connection that is closing needs no notification.
	_ = c.send(ID{}, c.opts.CancelMethod, map[string]ID{c.opts.CancelParam: call.id})
}

// retire removes a call and reports whether it was open.
func (c *Conn) retire(call *Call) bool {
	open := false
	c.update(func(s *connState) {
		if open = s.outgoing[call.id] == call; open {
			delete(s.outgoing, call.id)
		}
	})
	return open
}

// fail completes a call with a local error. Only the caller that has removed the call from the table may call it, once.
func (call *Call) fail(resp *response, err error) {
	call.resp, call.err = resp, err
	close(call.done)
}

// Notify queues a notification, in order. It blocks only while more than Options.HighWater bytes wait for the peer, and until ctx ends.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	if err := c.outbox.wait(ctx); err != nil {
		return fmt.Errorf("%s: the peer is not reading: %w", method, err)
	}
	return c.send(ID{}, method, params)
}

// NotifyMergeable queues a notification that may absorb later ones while it waits for the peer. The caller must not use params
// afterwards.
func (c *Conn) NotifyMergeable(ctx context.Context, method string, params Mergeable) error {
	if err := c.outbox.wait(ctx); err != nil {
		return fmt.Errorf("%s: the peer is not reading: %w", method, err)
	}
	if !c.outbox.putMergeable(method, params) {
		return c.closedError(method)
	}
	return nil
}

// Flush waits until everything that was queued before has been written, or the connection or ctx ends.
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

// IsGone reports whether err is due to the end of the connection, by either side.
func IsGone(err error) bool {
	return errors.Is(err, ErrClosed) || errors.Is(err, ErrPeerGone)
}
