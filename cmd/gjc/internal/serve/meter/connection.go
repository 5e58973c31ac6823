package meter

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/access"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// Connection is a connection of a client.
type Connection struct {
	meter   *Meter
	account *account
	id      *access.Identity
	remote  string
	number  uint64
	began   time.Time
	closed  atomic.Bool

	mu sync.Mutex // guards the fields below
	// asked are the requests of the client that are not answered yet, by their IDs, questions those of the engine.
	asked     map[string]request
	questions map[string]request
	// sessions are those that are open, with the last price of each.
	sessions map[string]float64
	// prices are the last prices of sessions that are being opened: what was spent before does not count.
	prices map[string]float64
}

// request is one that is under way.
type request struct {
	method, session string
	began           time.Time
}

// maxPending bounds the requests that are remembered: a client that never lets one end is not recorded beyond.
const maxPending = 10_000

func newConnection(m *Meter, a *account, id *access.Identity, remote string) *Connection {
	return &Connection{
		meter: m, account: a, id: id, remote: remote, number: m.audit.number(), began: m.opts.Clock(),
		asked: make(map[string]request), questions: make(map[string]request), sessions: make(map[string]float64), prices: make(map[string]float64),
	}
}

// Close ends the counting of the connection. It is idempotent.
func (c *Connection) Close() {
	if c.closed.Swap(true) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var open []string
	for s := range c.sessions {
		open = append(open, s)
	}
	for _, r := range c.asked {
		if r.method == methodPrompt {
			c.meter.opts.Counters.add(metricTurns, "", -1)
		}
	}
	c.meter.leave(c.id, c.account, open)
}

// Serve passes messages between a client, which writes to r and reads from w, and an engine, which serve connects in the same way. It returns
// the error of serve, or that of the audit log, when the connection has ended, which it closes.
func (c *Connection) Serve(ctx context.Context, r io.Reader, w io.Writer, serve func(ctx context.Context, r io.Reader, w io.Writer) error) error {
	defer c.Close()
	if err := c.record(&event{Event: "connected"}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in, toEngine := io.Pipe()
	out := &outgoing{connection: c, w: w, stop: cancel}
	done := make(chan struct{})
	go func() { // ends with r, or with the pipe, which is closed below; the transport ends r with the connection
		defer close(done)
		_ = toEngine.CloseWithError(c.receive(ctx, r, toEngine, out))
	}()
	err := serve(ctx, in, out)
	_ = in.CloseWithError(io.ErrClosedPipe)
	if cause := context.Cause(ctx); errors.Is(cause, errAudit) {
		err = cause
	}
	outcome := "ok"
	if err != nil {
		outcome = err.Error()
	}
	ms := c.meter.opts.Clock().Sub(c.began).Milliseconds()
	return errors.Join(err, c.meter.opts.Ledger.store(context.WithoutCancel(ctx)), c.record(&event{Event: "disconnected", Outcome: outcome, Milliseconds: ms}))
}

// errAudit is the cause that ends a connection whose audit log cannot be written.
var errAudit = errors.New("nothing is done that cannot be recorded")

func (c *Connection) record(e *event) error {
	e.User, e.Token, e.Remote, e.Connection = c.id.User, c.id.Token, c.remote, c.number
	if err := c.meter.audit.write(e); err != nil {
		return errors.Join(errAudit, err)
	}
	return nil
}

// The methods that the limits are about.
const (
	methodPrompt = "session/prompt"
	methodNew    = "session/new"
	methodFork   = "session/fork"
	methodClose  = "session/close"
	methodDelete = "session/delete"
)

// opens reports whether a request opens a session.
func opens(method string) bool {
	return slices.Contains([]string{methodNew, methodFork, "session/load", "session/resume"}, method)
}

// receive passes on what the client sends.
func (c *Connection) receive(ctx context.Context, r io.Reader, to io.Writer, out *outgoing) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			c.meter.opts.Counters.add(metricBytes, fromClient, float64(len(line)))
			if err := c.wait(ctx, len(line)); err != nil {
				return err
			}
			m, ok := parse(line)
			refused, err := c.check(ctx, &m, ok)
			if err != nil {
				out.stop(err)
				return err
			}
			if refused != nil {
				if err := out.refuse(&m, refused); err != nil {
					return err
				}
			} else if _, err := to.Write(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// wait delays a client that sends more bytes than it may.
func (c *Connection) wait(ctx context.Context, n int) error {
	limit := c.account.bytes
	for limit != nil && n > 0 {
		part := min(n, limit.Burst())
		if err := limit.WaitN(ctx, part); err != nil {
			return err
		}
		n -= part
	}
	return nil
}

// check records a message of the client, and returns why it is refused, if it is. The error is that of the audit log.
func (c *Connection) check(ctx context.Context, m *message, ok bool) (refused, err error) {
	switch {
	case !ok: // the engine says what is wrong with it
		return nil, nil
	case m.method == "": // an answer
		c.mu.Lock()
		asked, known := c.questions[string(m.id)]
		delete(c.questions, string(m.id))
		c.mu.Unlock()
		if !known {
			return nil, nil
		}
		outcome, code := m.outcome()
		return nil, c.record(&event{Event: "answer", Method: asked.method, Session: asked.session, Outcome: outcome, Code: code, Milliseconds: c.since(asked.began)})
	case !m.hasID():
		return nil, c.record(&event{Event: "notification", Method: m.method, Session: m.session})
	}
	refused = c.allowed(ctx, m)
	if refused != nil {
		c.meter.opts.Counters.add(metricRefused, "", 1)
		return refused, c.record(&event{Event: "request", Method: m.method, Session: m.session, Outcome: refused.Error()})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asked) < maxPending {
		if m.method == methodPrompt {
			c.meter.opts.Counters.add(metricTurns, "", 1)
		}
		c.asked[string(m.id)] = request{m.method, m.session, c.meter.opts.Clock()}
	}
	return nil, nil
}

// allowed returns an error that wraps [ErrLimit] if a request is one too many, or [ErrDraining] if it comes too late.
func (c *Connection) allowed(ctx context.Context, m *message) error {
	if limit := c.account.requests; limit != nil && !limit.Allow() {
		return errTooFast(c.id.Limits.Requests)
	}
	if opens(m.method) || m.method == methodPrompt {
		if err := c.meter.Draining(); err != nil {
			return err
		}
	}
	switch {
	case opens(m.method):
		return c.meter.room(c.account, c.id.Limits.Sessions)
	case m.method == methodPrompt:
		return c.meter.affordable(ctx, c.id)
	}
	return nil
}

func (c *Connection) since(t time.Time) int64 { return c.meter.opts.Clock().Sub(t).Milliseconds() }

// sent records a message of the engine's.
func (c *Connection) sent(line []byte) error {
	c.meter.opts.Counters.add(metricBytes, toClient, float64(len(line)))
	// Nearly all messages are updates without a price.
	if bytes.Contains(line, []byte(`"session/update"`)) && !bytes.Contains(line, []byte(`"usage_update"`)) {
		return nil
	}
	m, ok := parse(line)
	switch {
	case !ok:
		return nil
	case m.method == "session/update":
		c.priced(&m)
		return nil
	case m.method != "" && m.hasID():
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.questions) < maxPending {
			c.questions[string(m.id)] = request{m.method, m.session, c.meter.opts.Clock()}
		}
		return nil
	case m.method != "":
		return nil
	}
	c.mu.Lock()
	asked, known := c.asked[string(m.id)]
	delete(c.asked, string(m.id))
	c.mu.Unlock()
	if !known {
		return nil
	}
	return c.answered(&m, &asked)
}

// answered records the answer to a request of the client.
func (c *Connection) answered(m *message, asked *request) error {
	outcome, code := m.outcome()
	result := "ok"
	if code != 0 {
		result = "error"
	}
	counters := c.meter.opts.Counters
	counters.request(known(asked.method), result, c.meter.opts.Clock().Sub(asked.began))
	if asked.method == methodPrompt {
		counters.add(metricTurns, "", -1)
	}
	session := asked.session
	if asked.method == methodNew || asked.method == methodFork {
		session = m.newSession()
	}
	if code == 0 {
		c.changeSessions(asked.method, session)
	}
	return c.record(&event{Event: "request", Method: asked.method, Session: session, Outcome: outcome, Code: code, Milliseconds: c.since(asked.began)})
}

// changeSessions counts a session that a request has opened or closed.
func (c *Connection) changeSessions(method, session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, open := c.sessions[session]
	switch {
	case opens(method) && !open && session != "":
		c.sessions[session] = c.prices[session]
		delete(c.prices, session)
		c.meter.openSession(c.account, session)
	case (method == methodClose || method == methodDelete) && open:
		delete(c.sessions, session)
		c.meter.mu.Lock()
		defer c.meter.mu.Unlock()
		c.meter.closeSession(c.account, session)
	}
}

// priced notes the price in an update.
func (c *Connection) priced(m *message) {
	price, ok := m.price()
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last, open := c.sessions[m.session]
	if !open {
		if len(c.prices) < maxPending {
			c.prices[m.session] = price
		}
		return
	}
	if price > last {
		c.sessions[m.session] = price
		c.meter.opts.Counters.add(metricCost, "", price-last)
		c.meter.opts.Ledger.add(c.id.Token, price-last)
	}
}

// outgoing is the way to the client. It is safe for concurrent use: the engine writes to it, and so do refusals.
type outgoing struct {
	connection *Connection
	stop       context.CancelCauseFunc
	mu         sync.Mutex // guards w and rest
	w          io.Writer
	rest       []byte // the beginning of a line
}

// Write implements [io.Writer].
func (o *outgoing) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			o.rest = append(o.rest, rest...)
			break
		}
		line := rest[:end+1]
		if len(o.rest) > 0 {
			line = append(o.rest, line...)
			o.rest = nil
		}
		rest = rest[end+1:]
		if err := o.connection.sent(line); err != nil {
			o.stop(err)
			return 0, err
		}
		if _, err := o.w.Write(line); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// refuse answers a request in the engine's place.
func (o *outgoing) refuse(m *message, reason error) error {
	kind := "limit"
	if errors.Is(reason, ErrDraining) {
		kind = "shutdown"
	}
	line, err := jsonx.Marshal(refusal{"2.0", m.id, refusalError{codeInternal, reason.Error(), refusalData{kind, true}}})
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err = o.w.Write(append(line, '\n'))
	return err
}
