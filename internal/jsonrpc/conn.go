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

// Handler serves what the peer sends.
//
// Handle is called on the dispatcher, for one message at a time, in the order of the wire; it must not block.
// What takes time goes into the [Reply], which runs concurrently. For a notification the Reply may be nil.
type Handler interface {
	Handle(ctx context.Context, req *Request) (Reply, error)
}

// Reply makes the result of a request. It runs in a goroutine of its own.
type Reply func() (result any, err error)

// HandlerFunc is a function as a [Handler].
type HandlerFunc func(ctx context.Context, req *Request) (Reply, error)

// Handle implements [Handler].
func (f HandlerFunc) Handle(ctx context.Context, req *Request) (Reply, error) { return f(ctx, req) }

// Direction says which way a message went.
type Direction bool

// The directions.
const (
	Received Direction = false
	Sent     Direction = true
)

// Options configures a [Conn].
type Options struct {
	// Framing is how messages are put on the stream. Required.
	Framing frame.Framing
	// Handler serves the peer's requests and notifications. If nil, requests get -32601.
	Handler Handler
	// Closer, if set, is closed once when the connection ends, to free a blocked Read or Write.
	Closer io.Closer
	// MaxMessageSize caps an inbound message in bytes. If zero, [frame.DefaultMaxSize].
	MaxMessageSize int
	// CancelMethod is the notification that cancels a request, and CancelParam the name of its id member:
	// "$/cancel_request" and "requestId" in ACP. If empty, nothing is cancelled on the wire.
	CancelMethod, CancelParam string
	// HandleFirst makes a response wait until the notifications that came before it have been handled.
	// A handler must then not await a call in its ordered phase.
	HandleFirst bool
	// MapError turns a handler's error into what goes on the wire. If nil, [WireError].
	MapError func(error) *Error
	// Trace, if set, sees every frame in both directions. The bytes are valid during the call.
	Trace func(dir Direction, frame []byte)
	// Dropped, if set, is told of inbound messages that could not be used, and of late responses.
	Dropped func(reason error)
	// Panicked, if set, is told of a panic in a handler. The peer gets -32603 either way.
	Panicked func(method string, value any, stack []byte)
	// Unheard, if set, reports whether the answer to a method is of no use to a peer that has closed its side. When only such
	// requests are left then, the connection ends at once; other requests may go on for a moment.
	Unheard func(method string) bool
	// HighWater is how many bytes may wait for the peer to read before Notify waits too. If zero, 4 MiB.
	HighWater int
	// CloseGrace is how long Close waits for handlers to return, and again for queued messages to be written.
	// If zero, one second.
	CloseGrace time.Duration
}

// Conn is one end of a connection. Its methods may be called from anywhere, also from handlers.
//
// It owns these goroutines: the reader, which decodes, settles calls, cancels requests and queues the rest, and
// never runs a handler; the dispatcher, which runs the ordered phase of handlers; one goroutine for each running
// [Reply]; the writer, which alone touches the io.Writer. [Conn.Done] is closed when all but the reader have
// ended; the reader ends when Read returns, which Options.Closer should see to.
type Conn struct {
	opts   Options
	ctx    context.Context // parent of every request; ends with the connection, with a cause
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
	// inputOver says that the peer has closed its side; the connection ends when handlers is zero, or soon.
	inputOver bool
	// cause is why the connection ended; nil while it lives.
	cause error
	// forced stops waiting for handlers.
	forced bool
	// flushing says that the outbox is closed and the writer on its way out; written that it is out, or given up.
	flushing, written bool
	finished          bool
	// timer bounds the phase of the end that the connection is in.
	timer *time.Timer
}

// inbound is a request that is queued or running.
type inbound struct {
	req    *Request
	ctx    context.Context
	cancel context.CancelCauseFunc
	after  []func()
}

// inboxItem is an inbound message, or a settled call of ours that waits its turn behind notifications.
type inboxItem struct {
	msg  *inbound
	call *Call
}

// NewConn starts a connection over r and w. When ctx ends the connection closes with ctx's cause.
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
	// Handlers are cancelled by the connection, with its cause, after it has taken note of the end.
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

// Done is closed when the connection has ended and all its handlers have returned or been given up on.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Closing is closed when the connection begins to end: the peer went away, or we closed it.
func (c *Conn) Closing() <-chan struct{} { return c.ctx.Done() }

// Err returns why the connection ended: [ErrClosed], something that wraps [ErrPeerGone], or the cause of the
// context that it was started with. It is nil while the connection lives.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.cause
}

// Close ends the connection now: handlers are cancelled, calls fail with [ErrClosed], what is queued is still
// written. It returns when that is done, or when Options.CloseGrace has run out. It must not be called from a
// handler's ordered phase.
func (c *Conn) Close() error {
	c.end(ErrClosed)
	<-c.done
	return nil
}

// Shutdown refuses new requests, waits for the running ones to be answered, and closes. When ctx ends first it
// closes at once and returns ctx's cause.
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

// update makes every change of the connection's state and every transition that follows from it.
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
	case s.inputOver && c.unheardLocked():
		c.endLocked(ErrPeerGone)
	case s.draining && s.handlers == 0:
		c.endLocked(ErrClosed)
	}
	if s.cause != nil && (s.handlers == 0 || s.forced) && !s.flushing {
		// Nobody is left who would answer: let the writer finish.
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
				_ = c.opts.Closer.Close() // the stream is over whatever this says
			}
			close(c.done)
		}()
	}
}

// unheardLocked reports whether a peer that has closed its side waits for no answer. c.mu is held.
func (c *Conn) unheardLocked() bool {
	n := 0
	if c.opts.Unheard != nil {
		for _, in := range c.state.incoming {
			if c.opts.Unheard(in.req.Method) {
				n++
			}
		}
	}
	return n == c.state.handlers
}

// end begins the end of the connection.
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
		call.settle(nil, fmt.Errorf("%s: %w", call.method, cause))
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

// answerGrace is how long what the peer asked before it closed its side may go on: "echo request | program" wants an
// answer, but nobody waits for a long one.
const answerGrace = 100 * time.Millisecond

// inputOver takes note that the peer closed its side between two messages.
func (c *Conn) inputOver() {
	c.update(func(s *connState) {
		s.inputOver = true
		if s.cause == nil && s.handlers > 0 { // unless update ends them at once
			c.restartTimer(s, answerGrace, func() { c.end(ErrPeerGone) })
		}
	})
}

// receive sorts one inbound message. It runs on the reader.
func (c *Conn) receive(data []byte) {
	req, resp, bad := decodeMessage(data)
	switch {
	case bad != nil:
		c.refuse(bad)
	case resp != nil:
		c.settle(resp)
	case req.IsNotification() && req.Method == c.opts.CancelMethod && c.opts.CancelMethod != "":
		c.cancelInbound(req)
	default:
		c.accept(req)
	}
}

// refuse answers a message that cannot be used, or settles the call that it should have answered.
func (c *Conn) refuse(bad *inboundError) {
	answered, id := bad.dropped, bad.id
	c.update(func(s *connState) {
		switch {
		case bad.answer != nil && (!bad.unsure || s.issued(bad.id)):
			answered = true
		case s.incoming[bad.id.key()] != nil:
			// The peer would take the refusal for the answer to its open request.
			id = NullID()
		}
	})
	if answered && bad.answer != nil {
		c.settle(bad.answer)
		return
	}
	if c.opts.Dropped != nil {
		c.opts.Dropped(bad.err)
	}
	if !answered {
		c.respond(id, nil, WireError(bad.err))
	}
}

// issued reports whether id was given to one of this side's requests, open or not.
func (s *connState) issued(id ID) bool {
	id = id.ours()
	return id.kind == idNumber && id.num >= 1 && id.num <= s.nextID
}

// settle completes the call that resp answers. An answer to a call that is not open is dropped: it is late, or the
// second, or to a request that was never made.
func (c *Conn) settle(resp *response) {
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

// cancelInbound cancels the request that a cancel notification names. An unknown id is no error: the answer may
// have crossed the notification.
func (c *Conn) cancelInbound(req *Request) {
	var id ID
	err := jsonx.ReadObject(req.Params, func(name []byte, value jsonx.Raw) error {
		if string(name) == c.opts.CancelParam {
			return id.UnmarshalJSON(value)
		}
		return nil
	})
	if err != nil || !id.IsValid() {
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
			// The answer must not carry the id: the peer would take it for that of the first request.
			refused = fmt.Errorf("%w: id %v is in use by a request that has not been answered", ErrInvalidRequest, req.ID)
			req.ID = NullID()
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

// respond queues a response. A result that does not encode is our bug; the peer gets an internal error for it.
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
