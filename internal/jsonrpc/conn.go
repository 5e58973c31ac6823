package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// Handler handles the requests and notifications of the peer.
type Handler interface {
	// Handle is called by the dispatcher for one message at a time, in the order of arrival. It must not block: longer work belongs
	// in the [Reply], which runs concurrently. For a notification the Reply may be nil.
	Handle(ctx context.Context, req *Request) (Reply, error)
}

// Reply returns the result of a request. It runs in its own goroutine.
type Reply func() (result any, err error)

// HandlerFunc implements [Handler] with a function.
type HandlerFunc func(ctx context.Context, req *Request) (Reply, error)

// Handle implements [Handler].
func (f HandlerFunc) Handle(ctx context.Context, req *Request) (Reply, error) { return f(ctx, req) }

// Direction is the direction of a message.
type Direction bool

// The directions.
const (
	Received Direction = false
	Sent     Direction = true
)

// Options configures a [Conn].
type Options struct {
	// Framing delimits the messages on the stream. Required.
	Framing frame.Framing
	// Handler handles the peer's requests and notifications. If nil, requests are answered with -32601.
	Handler Handler
	// Closer, if set, is closed once at the end of the connection, to end a blocked Read or Write.
	Closer io.Closer
	// MaxMessageSize bounds an inbound message in bytes. If zero, [frame.DefaultMaxSize].
	MaxMessageSize int
	// CancelMethod is the notification that cancels a request, and CancelParam the name of its ID member:
	// "$/cancel_request" and "requestId" in ACP. If empty, the protocol has none.
	CancelMethod, CancelParam string
	// HandleFirst delays a response until the notifications before it have been handled. A handler must then not await a
	// call in its ordered phase.
	HandleFirst bool
	// MapError converts a handler's error to the one that is sent. If nil, [WireError].
	MapError func(error) *Error
	// Trace, if set, is called with every message in both directions. The bytes are valid during the call.
	Trace func(dir Direction, frame []byte)
	// Dropped, if set, is called with the errors of invalid inbound messages and of late responses.
	Dropped func(reason error)
	// Panicked, if set, is called after a panic in a handler. The peer receives -32603 in any case.
	Panicked func(method string, value any, stack []byte)
	// AnswerOptional, if set, reports whether a peer that has closed its side does not need the answer to a method. If only such requests are
	// left, the connection ends at once; other requests may go on for a bounded time.
	AnswerOptional func(method string) bool
	// HighWater is the number of queued bytes above which Notify blocks. If zero, 4 MiB.
	HighWater int
	// CloseGrace bounds the time that Close waits for handlers, and then for queued messages to be written. If zero, one second.
	CloseGrace time.Duration
}

// Conn is one end of a connection. Its methods are safe for concurrent use and may be called from handlers.
//
// Its goroutines: the reader, which decodes messages, completes calls, cancels requests and queues the rest, and never runs a
// handler; the dispatcher, which runs the ordered phase of handlers; one for each running [Reply]; the writer, which alone uses
// the io.Writer. [Conn.Done] is closed when all but the reader have ended. The reader ends when Read returns, which
// Options.Closer should cause.
type Conn struct {
	opts   Options
	ctx    context.Context //nolint:containedctx // ends with the connection, with a cause; parent of every request
	cancel context.CancelCauseFunc

	inbox  *queue[inboxItem]
	outbox *outbox
	done   chan struct{}

	mu    sync.Mutex // guards state; see update
	state connState
}

type connState struct {
	nextID   int64
	outgoing map[ID]*Call
	incoming map[ID]*inbound
	// handlers counts inbound messages that are queued or being handled.
	handlers int
	// draining refuses new requests; the connection ends when handlers is zero.
	draining bool
	// inputOver reports whether the peer has closed its side. The connection then ends when handlers is zero, or after a bounded
	// time.
	inputOver bool
	// cause is why the connection ended; nil while it is open.
	cause error
	// forced stops waiting for handlers.
	forced bool
	// flushing reports whether the outbox is closed and the writer is ending; written reports whether the writer has ended or timed
	// out.
	flushing, written bool
	finished          bool
	// timer bounds the present phase of the end.
	timer *time.Timer
}

// inbound is a request that is queued or running.
type inbound struct {
	req    *Request
	ctx    context.Context //nolint:containedctx // bounds one request, and is cancelled by its ID
	cancel context.CancelCauseFunc
	after  []func()
}

// inboxItem is an inbound message, or a completed call that waits for the notifications before its answer.
type inboxItem struct {
	msg  *inbound
	call *Call
}

// NewConn starts a connection over r and w. If ctx ends, the connection closes with ctx's cause.
func NewConn(ctx context.Context, r io.Reader, w io.Writer, opts Options) *Conn {
	if opts.HighWater == 0 {
		opts.HighWater = 4 << 20
	}
	if opts.CloseGrace == 0 {
		opts.CloseGrace = time.Second
	}
	if opts.MapError == nil {
		opts.MapError = WireError
	}
	c := &Conn{
		opts:   opts,
		inbox:  newQueue[inboxItem](),
		outbox: newOutbox(opts.Framing, opts.HighWater),
		done:   make(chan struct{}),
	}
	c.state.outgoing = make(map[ID]*Call)
	c.state.incoming = make(map[ID]*inbound)
	// The connection cancels handlers with its cause, after recording it.
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { c.end(context.Cause(ctx)) })
	go func() {
		<-c.done
		stop()
	}()
	go c.read(opts.Framing.NewReader(r, opts.MaxMessageSize))
	go c.dispatch()
	go c.write(w)
	return c
}

// Done returns a channel that is closed when the connection has ended and all handlers have returned or timed out.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Closing returns a channel that is closed when the connection begins to end, by either side.
func (c *Conn) Closing() <-chan struct{} { return c.ctx.Done() }

// Err returns why the connection ended: [ErrClosed], an error that wraps [ErrPeerGone], or the cause of the context of [NewConn]. It
// returns nil while the connection is open.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.cause
}

// Close ends the connection: it cancels handlers, fails calls with [ErrClosed], and writes queued messages. It returns when that is done,
// or after Options.CloseGrace. It must not be called from a handler's ordered phase.
func (c *Conn) Close() error {
	c.end(ErrClosed)
	<-c.done
	return nil
}

// Shutdown refuses new requests, waits until the running ones are answered, and closes. If ctx ends first, it closes at once and returns
// ctx's cause.
func (c *Conn) Shutdown(ctx context.Context) error {
	c.update(func(s *connState) { s.draining = true })
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		_ = c.Close()
		return context.Cause(ctx)
	}
}

// update changes the connection's state and makes the transitions that follow. All changes go through it.
func (c *Conn) update(change func(*connState)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.state
	change(s)
	if s.handlers < 0 {
		panic("jsonrpc: more handlers ended than began")
	}
	switch {
	case s.cause != nil:
	case s.inputOver && c.answersOptionalLocked():
		c.endLocked(ErrPeerGone)
	case s.draining && s.handlers == 0:
		c.endLocked(ErrClosed)
	}
	if s.cause != nil && (s.handlers == 0 || s.forced) && !s.flushing {
		// No handlers are left: let the writer finish.
		s.flushing = true
		c.inbox.close()
		c.outbox.close()
		c.restartTimer(s, c.opts.CloseGrace, func() { c.update(func(s *connState) { s.written = true }) })
	}
	if s.flushing && s.written && !s.finished {
		s.finished = true
		s.timer.Stop()
		go func() {
			if c.opts.Closer != nil {
				_ = c.opts.Closer.Close() // reached only when the stream has already ended
			}
			close(c.done)
		}()
	}
}

// answersOptionalLocked reports whether a peer that has closed its side needs none of the open answers. c.mu is held.
func (c *Conn) answersOptionalLocked() bool {
	n := 0
	if c.opts.AnswerOptional != nil {
		for _, in := range c.state.incoming {
			if c.opts.AnswerOptional(in.req.Method) {
				n++
			}
		}
	}
	return n == c.state.handlers
}

// end starts to end the connection.
func (c *Conn) end(cause error) {
	c.update(func(s *connState) {
		if s.cause == nil {
			c.endLocked(cause)
		}
	})
}

// endLocked records the cause, fails every call and cancels every handler. c.mu is held.
func (c *Conn) endLocked(cause error) {
	s := &c.state
	s.cause = cause
	c.cancel(cause)
	for id, call := range s.outgoing {
		delete(s.outgoing, id)
		call.fail(nil, fmt.Errorf("%s: %w", call.method, cause))
	}
	c.restartTimer(s, c.opts.CloseGrace, func() { c.update(func(s *connState) { s.forced = true }) })
}

func (c *Conn) restartTimer(s *connState, d time.Duration, fn func()) {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer = time.AfterFunc(d, fn)
}

func (c *Conn) write(w io.Writer) {
	err := c.outbox.drain(w, c.opts.Trace, func(method string, err error) {
		bug.Reportf("notification %s does not encode: %v", method, err)
	})
	if err != nil {
		c.outbox.close()
		c.end(fmt.Errorf("%w: writing: %w", ErrPeerGone, err))
	}
	c.update(func(s *connState) { s.written = true })
}

func (c *Conn) read(r frame.Reader) {
	for {
		data, err := r.Read()
		switch {
		case err == nil:
			if c.opts.Trace != nil {
				c.opts.Trace(Received, data)
			}
			c.receive(bytes.Clone(data))
		case frame.Recoverable(err):
			c.refuse(skipped(err))
		case errors.Is(err, io.EOF):
			c.inputOver()
			return
		default:
			c.end(fmt.Errorf("%w: reading: %w", ErrPeerGone, err))
			return
		}
	}
}

// answerGrace bounds the requests that are open when the peer closes its side: "echo request | program" expects an answer.
const answerGrace = 100 * time.Millisecond

// inputOver records that the peer has closed its side between two messages.
func (c *Conn) inputOver() {
	c.update(func(s *connState) {
		s.inputOver = true
		if s.cause == nil && s.handlers > 0 { // unless update ends them at once
			c.restartTimer(s, answerGrace, func() { c.end(ErrPeerGone) })
		}
	})
}

// receive handles one inbound message. It runs on the reader.
func (c *Conn) receive(data []byte) {
	req, resp, bad := decodeMessage(data)
	switch {
	case bad != nil:
		c.refuse(bad)
	case resp != nil:
		c.complete(resp)
	case req.IsNotification() && req.Method == c.opts.CancelMethod && c.opts.CancelMethod != "":
		c.cancelInbound(req)
	default:
		c.accept(req)
	}
}

// refuse answers an invalid message, or fails the call that it answers.
func (c *Conn) refuse(bad *inboundError) {
	answered, id := bad.dropped, bad.id
	c.update(func(s *connState) {
		switch {
		case bad.answer != nil && (!bad.unsure || s.issued(bad.id)):
			answered = true
		case s.incoming[bad.id.key()] != nil:
			// The peer would treat the refusal as the answer to its open request.
			id = nullID()
		}
	})
	if answered && bad.answer != nil {
		c.complete(bad.answer)
		return
	}
	if c.opts.Dropped != nil {
		c.opts.Dropped(bad.err)
	}
	if !answered {
		c.respond(id, nil, WireError(bad.err))
	}
}

// issued reports whether id belongs to a request of this side, open or not.
func (s *connState) issued(id ID) bool {
	id = id.ours()
	return id.kind == idNumber && id.num >= 1 && id.num <= s.nextID
}

// complete completes the call that resp answers. It drops an answer to a call that is not open.
func (c *Conn) complete(resp *response) {
	var call *Call
	c.update(func(s *connState) {
		if call = s.outgoing[resp.id.ours()]; call != nil {
			delete(s.outgoing, call.id)
		}
	})
	if call == nil {
		if c.opts.Dropped != nil {
			c.opts.Dropped(fmt.Errorf("a response to %v, which is not waiting for one", resp.id))
		}
		return
	}
	call.resp = resp
	if resp.broken != nil {
		call.err = &AnswerError{Method: call.method, Err: resp.broken}
	}
	if !c.opts.HandleFirst || !c.inbox.put(inboxItem{call: call}) {
		close(call.done)
	}
}

// cancelInbound cancels the request with the ID in a cancel notification. It ignores an unknown ID: the request may have been answered
// meanwhile.
func (c *Conn) cancelInbound(req *Request) {
	var id ID
	err := jsonx.ReadObject(req.Params, func(name []byte, value jsonx.Raw) error {
		if string(name) == c.opts.CancelParam {
			return id.UnmarshalJSON(value)
		}
		return nil
	})
	if err != nil || !id.isValid() {
		if c.opts.Dropped != nil {
			c.opts.Dropped(fmt.Errorf("%s without a usable %s", req.Method, c.opts.CancelParam))
		}
		return
	}
	var in *inbound
	c.update(func(s *connState) { in = s.incoming[id.key()] })
	if in != nil {
		in.cancel(ErrPeerCancelled)
	}
}

// accept queues a request or notification for the dispatcher.
func (c *Conn) accept(req *Request) {
	in := &inbound{req: req, ctx: c.ctx}
	if !req.IsNotification() {
		in.ctx, in.cancel = context.WithCancelCause(&inboundContext{Context: c.ctx, in: in})
	}
	var refused error
	c.update(func(s *connState) {
		switch {
		case s.cause != nil:
			refused = s.cause
		case s.draining && !req.IsNotification():
			refused = fmt.Errorf("%w: the connection is closing", ErrInvalidRequest)
		case req.ID.kind > idNull && s.incoming[req.ID.key()] != nil:
			// The answer must not have the ID: the peer would treat it as the answer to the first request.
			refused = fmt.Errorf("%w: id %v is in use by a request that has not been answered", ErrInvalidRequest, req.ID)
			req.ID = nullID()
		default:
			s.handlers++
			if req.ID.kind > idNull {
				s.incoming[req.ID.key()] = in
			}
		}
	})
	if refused == nil {
		c.inbox.put(inboxItem{msg: in})
		return
	}
	if in.cancel != nil {
		in.cancel(refused)
		c.respond(req.ID, nil, WireError(refused))
	}
}

// respond queues a response. If the result cannot be encoded, which is a bug, it queues an internal error.
func (c *Conn) respond(id ID, result any, rerr *Error) {
	buf := buffers.Get().(*[]byte)
	defer recycle(buf)
	msg, err := appendResponse((*buf)[:0], id, result, rerr)
	if err != nil {
		err = bug.Errorf("the response to %v does not encode: %w", id, err)
		msg, _ = appendResponse((*buf)[:0], id, nil, &Error{Code: CodeInternalError, Message: err.Error()})
	}
	*buf = msg[:0]
	c.outbox.put(msg)
}
