package dap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/permit"
)

// client is a connection with an adapter. A request completes exactly once: with the adapter's answer, the end of the
// connection, or the end of its context. Events and answers are handled in the order of arrival: an event before an answer
// is handled before the request completes.
//
// Its goroutines: one reads, one writes, one for each reverse request under way. All have ended when close returns.
type client struct {
	opts   clientOptions
	ctx    context.Context //nolint:containedctx // bounds the connection and its goroutines
	cancel context.CancelCauseFunc
	work   sync.WaitGroup // grows only while mu is held and the client is not closed
	slots  chan struct{}  // one for each reverse request under way
	// scoping is held during requests for scopes and their variables, if the adapter keeps the scopes of one frame only.
	scoping chan struct{}

	mu      sync.Mutex // guards the fields below
	seq     int
	pending map[int]*pending
	queue   [][]byte
	queued  int
	wake    chan struct{} // has a capacity of one
	// room is closed and replaced when the queue has shrunk.
	room chan struct{}
	err  error         // why the connection has ended; nil while it is open
	done chan struct{} // closed when the connection has ended
}

// pending is a request that waits for its answer.
type pending struct {
	command string
	done    chan answer // has a capacity of one
}

type answer struct {
	body jsonx.Raw
	err  error
}

type clientOptions struct {
	reader io.Reader
	writer io.Writer
	// closer closes the reader and the writer. Required.
	closer io.Closer
	// event handles the adapter's events, one at a time. It blocks the reader.
	event func(name string, body jsonx.Raw)
	// reverse answers the adapter's requests. Calls may run concurrently.
	reverse func(ctx context.Context, command string, arguments jsonx.Raw) (body any, err error)
	// dropped receives the errors of messages that were dropped.
	dropped func(error)
	// cancels reports whether the adapter supports the cancel request.
	cancels func() bool
	// max bounds a message, in bytes.
	max int
}

const (
	// maxQueued bounds the messages that wait to be written, in bytes: an adapter that does not read must not exhaust the
	// memory.
	maxQueued = 64 << 20
	// maxReverse is the number of requests of the adapter that run at once; more wait in the adapter's pipe.
	maxReverse = 16
)

var (
	errHungUp    = errors.New("the connection was closed")
	errNotRead   = errors.New("the debug adapter is not reading its input")
	errMalformed = errors.New("malformed message from the debug adapter")
)

func newClient(opts clientOptions) *client {
	c := &client{
		opts: opts, slots: make(chan struct{}, maxReverse), pending: make(map[int]*pending),
		wake: make(chan struct{}, 1), room: make(chan struct{}), done: make(chan struct{}), scoping: make(chan struct{}, 1),
	}
	c.ctx, c.cancel = context.WithCancelCause(permit.With(context.Background(), permit.Own()))
	c.work.Go(c.read)
	c.work.Go(c.write)
	return c
}

// envelope has the members of all kinds of messages (ProtocolMessage, Request, Response, Event).
type envelope struct {
	Seq        int       `json:"seq"`
	Type       string    `json:"type"`
	Command    string    `json:"command"`
	Arguments  jsonx.Raw `json:"arguments"`
	Event      string    `json:"event"`
	RequestSeq int       `json:"request_seq"`
	Success    bool      `json:"success"`
	Message    string    `json:"message"`
	Body       jsonx.Raw `json:"body"`
}

func (c *client) read() {
	in := frame.Headers.NewReader(c.opts.reader, c.opts.max)
	for {
		data, err := in.Read()
		switch {
		case err == nil:
			if err := c.message(data); err != nil {
				c.opts.dropped(err)
			}
		case frame.Recoverable(err):
			c.opts.dropped(err)
		default:
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = errHungUp
			}
			c.end(err)
			return
		}
	}
}

func (c *client) message(data []byte) error {
	var m envelope
	if err := jsonx.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	switch m.Type {
	case "event":
		if m.Event == "" {
			return fmt.Errorf("%w: an event without a name", errMalformed)
		}
		c.opts.event(m.Event, m.Body)
	case "response":
		return c.response(&m)
	case "request":
		if m.Command == "" {
			return fmt.Errorf("%w: a request without a command", errMalformed)
		}
		c.request(&m)
	default:
		return fmt.Errorf("%w: unknown type %q", errMalformed, m.Type)
	}
	return nil
}

func (c *client) response(m *envelope) error {
	c.mu.Lock()
	p := c.pending[m.RequestSeq]
	delete(c.pending, m.RequestSeq)
	c.mu.Unlock()
	if p == nil {
		return fmt.Errorf("%w: an answer to request %d, which is not under way", errMalformed, m.RequestSeq)
	}
	a := answer{body: m.Body.Clone()}
	if !m.Success {
		a.err = requestError(p.command, m)
	}
	p.done <- a
	return nil
}

// request starts to answer a request of the adapter.
func (c *client) request(m *envelope) {
	select {
	case c.slots <- struct{}{}:
	case <-c.ctx.Done():
		return
	}
	seq, command, arguments := m.Seq, m.Command, m.Arguments.Clone()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		<-c.slots
		return
	}
	c.work.Go(func() {
		defer func() { <-c.slots }()
		body, err := c.handle(command, arguments)
		reply := reply{Type: "response", RequestSeq: seq, Command: command, Success: err == nil, Body: body}
		if err != nil {
			reply.Message, reply.Body = err.Error(), nil
		}
		if err := c.send(c.ctx, func(seq int) any { reply.Seq = seq; return &reply }, nil); err != nil && c.ctx.Err() == nil {
			c.opts.dropped(err)
		}
	})
}

func (c *client) handle(command string, arguments jsonx.Raw) (body any, err error) {
	defer func() {
		if v := recover(); v != nil {
			body, err = nil, fmt.Errorf("internal error: %v", v)
			c.opts.dropped(fmt.Errorf("answering %s: panic: %v\n%s", command, v, debug.Stack()))
		}
	}()
	return c.opts.reverse(c.ctx, command, arguments)
}

type call struct {
	Seq       int    `json:"seq"`
	Type      string `json:"type"`
	Command   string `json:"command"`
	Arguments any    `json:"arguments,omitzero"`
}

type reply struct {
	Seq        int    `json:"seq"`
	Type       string `json:"type"`
	RequestSeq int    `json:"request_seq"`
	Success    bool   `json:"success"`
	Command    string `json:"command"`
	Message    string `json:"message,omitzero"`
	Body       any    `json:"body,omitzero"`
}

// do makes a request and decodes the body of the answer into body, which may be nil. If ctx ends first, it cancels the
// request and returns the cause.
func (c *client) do(ctx context.Context, command string, arguments, body any) error {
	r, err := c.begin(ctx, command, arguments)
	if err != nil {
		return err
	}
	return r.wait(ctx, body)
}

// A sent request has been written and is not answered yet.
type sent struct {
	client *client
	seq    int
	*pending
}

// begin sends a request. The caller must call wait.
func (c *client) begin(ctx context.Context, command string, arguments any) (*sent, error) {
	r := &sent{client: c, pending: &pending{command: command, done: make(chan answer, 1)}}
	err := c.send(ctx, func(n int) any {
		r.seq = n
		return &call{Seq: n, Type: "request", Command: command, Arguments: arguments}
	}, r.pending)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// wait waits for the answer and decodes its body. If ctx ends first, it cancels the request.
func (r *sent) wait(ctx context.Context, body any) error {
	c := r.client
	select {
	case a := <-r.done:
		return c.decodeAnswer(r.command, a, body)
	case <-ctx.Done():
	}
	c.mu.Lock()
	_, waiting := c.pending[r.seq]
	delete(c.pending, r.seq)
	c.mu.Unlock()
	if !waiting { // the answer arrived meanwhile
		return c.decodeAnswer(r.command, <-r.done, body)
	}
	if c.opts.cancels() && r.command != "cancel" {
		ignored := &pending{command: "cancel", done: make(chan answer, 1)}
		_ = c.send(c.ctx, func(n int) any {
			return &call{Seq: n, Type: "request", Command: "cancel", Arguments: cancelArguments{RequestID: r.seq}}
		}, ignored) // fails only if the connection has ended
	}
	return context.Cause(ctx)
}

type cancelArguments struct {
	RequestID int `json:"requestId"`
}

func (c *client) decodeAnswer(command string, a answer, body any) error {
	if a.err != nil || body == nil {
		return a.err
	}
	if raw, ok := body.(*jsonx.Raw); ok {
		*raw = a.body
		return nil
	}
	if jsonx.IsNull(a.body) {
		return nil
	}
	if err := jsonx.Unmarshal(a.body, body); err != nil {
		return fmt.Errorf("cannot decode the answer of the debug adapter to %s: %w", command, err)
	}
	return nil
}

// send queues the message that make returns for a sequence number. p, if not nil, receives the answer. It blocks while the
// queue is full.
func (c *client) send(ctx context.Context, make func(seq int) any, p *pending) error {
	c.mu.Lock()
	for c.queued > maxQueued && c.err == nil {
		room := c.room
		c.mu.Unlock()
		select {
		case <-room:
		case <-c.done:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", errNotRead, context.Cause(ctx))
		}
		c.mu.Lock()
	}
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	data, err := jsonx.Marshal(make(c.seq+1), jsonx.LegacyOmitEmpty())
	if err != nil {
		return fmt.Errorf("cannot encode a message: %w", err)
	}
	c.seq++
	if p != nil {
		c.pending[c.seq] = p
	}
	c.queue = append(c.queue, data)
	c.queued += len(data)
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return nil
}

func (c *client) write() {
	var out []byte
	for {
		select {
		case <-c.wake:
		case <-c.done:
			return
		}
		c.mu.Lock()
		queue := c.queue
		c.queue, c.queued = nil, 0
		close(c.room)
		c.room = make(chan struct{})
		c.mu.Unlock()
		for _, data := range queue {
			out = frame.Headers.Append(out[:0], data)
			if _, err := c.opts.writer.Write(out); err != nil {
				c.end(errHungUp)
				return
			}
		}
	}
}

// end fails all requests under way with err and closes the connection. It does not wait. Further calls are no-ops.
func (c *client) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	waiting := c.pending
	c.pending = nil
	close(c.done)
	c.mu.Unlock()
	c.cancel(err)
	for _, p := range waiting {
		p.done <- answer{err: err}
	}
	_ = c.opts.closer.Close() // may be closed already
}

// close ends the connection and waits for its goroutines. It must not be called from one of them.
func (c *client) close() {
	c.end(errHungUp)
	c.work.Wait()
}

// closeError returns why the connection has ended; nil while it is open.
func (c *client) closeError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
