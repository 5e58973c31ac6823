package conformance

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A peer is the client's end of a connection to one agent. It is lenient, can send any bytes, and keeps everything it
// receives.
//
// Its goroutines end with finish: the reader with the agent's stdout, the writer with the queue.
type peer struct {
	t     *trial
	child child
	env   []string
	work  string // the workspace
	start time.Time
	client
	result any // of initialize

	readerDone, writerDone chan struct{}

	mu       sync.Mutex // guards what follows
	log      []*message
	changed  chan struct{} // closed and replaced at each change
	ended    bool          // the agent's stdout has ended
	broken   error         // writing failed
	next     int           // the last ID that request used
	queue    []outgoing
	handlers map[string]func(*message)
	paused   chan struct{} // if not nil, reading is paused
	finished bool
}

// outgoing is one write; with close it closes stdin.
type outgoing struct {
	bytes []byte
	close bool
}

func newPeer(t *trial, c child, env []string, work string) *peer {
	p := &peer{
		t: t, child: c, env: env, work: work, start: time.Now(),
		readerDone: make(chan struct{}), writerDone: make(chan struct{}),
		changed: make(chan struct{}), handlers: make(map[string]func(*message)),
	}
	p.ready(p)
	go p.read()
	go p.write()
	return p
}

// finish ends the agent and the peer's goroutines.
func (p *peer) finish() {
	p.resume()
	p.child.End()
	p.mu.Lock()
	p.finished = true
	p.wake()
	p.mu.Unlock()
	<-p.writerDone
	_ = p.child.Stdout().Close()
	<-p.readerDone
}

// wake notifies all waiting goroutines. The caller holds p.mu.
func (p *peer) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *peer) read() {
	defer close(p.readerDone)
	lines := bufio.NewReaderSize(pausable{p}, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			whole := bytes.HasSuffix(line, []byte("\n"))
			m := readMessage(bytes.TrimSuffix(line, []byte("\n")))
			if !whole && m.fault == "" {
				m.fault = "stdout ends without a newline"
			}
			p.received(m)
		}
		if err != nil {
			p.mu.Lock()
			p.ended = true
			p.wake()
			p.mu.Unlock()
			return
		}
	}
}

// pausable reads the agent's stdout, except while the peer is paused.
type pausable struct{ p *peer }

func (g pausable) Read(b []byte) (int, error) {
	g.p.mu.Lock()
	gate := g.p.paused
	g.p.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return g.p.child.Stdout().Read(b)
}

func (p *peer) received(m *message) {
	p.mu.Lock()
	p.enter(m)
	handle := p.handlers[m.method]
	p.mu.Unlock()
	if m.isRequest() {
		if handle == nil {
			handle = p.refuse
		}
		handle(m)
	}
}

// enter adds to the transcript. The caller holds p.mu.
func (p *peer) enter(m *message) {
	m.index, m.since = len(p.log), time.Since(p.start)
	p.log = append(p.log, m)
	p.wake()
}

func (p *peer) write() {
	defer close(p.writerDone)
	for {
		p.mu.Lock()
		for len(p.queue) == 0 && !p.finished {
			changed := p.changed
			p.mu.Unlock()
			<-changed
			p.mu.Lock()
		}
		if p.finished {
			p.mu.Unlock()
			return
		}
		out := p.queue[0]
		p.queue = p.queue[1:]
		p.mu.Unlock()
		var err error
		if out.close {
			err = p.child.CloseStdin()
		} else {
			_, err = p.child.Write(out.bytes)
		}
		if err != nil {
			p.mu.Lock()
			p.broken = errors.Join(p.broken, err)
			p.wake()
			p.mu.Unlock()
		}
	}
}

// sendBytes queues one write of any bytes. If they are a message, it is added to the transcript.
func (p *peer) sendBytes(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte("\n")), []byte("\n")) {
		m := readMessage(line)
		m.sent = true
		p.enter(m)
	}
	p.queue = append(p.queue, outgoing{bytes: b})
	p.wake()
}

// sendPieces queues one message as several writes.
func (p *peer) sendPieces(pieces ...[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := readMessage(bytes.TrimSuffix(slices.Concat(pieces...), []byte("\n")))
	m.sent = true
	p.enter(m)
	for _, b := range pieces {
		p.queue = append(p.queue, outgoing{bytes: b})
	}
	p.wake()
}

// send queues one line.
func (p *peer) send(line string) { p.sendBytes([]byte(line + "\n")) }

// sendf is like send with a format.
func (p *peer) sendf(format string, args ...any) { p.send(fmt.Sprintf(format, args...)) }

// closeStdin closes the agent's input after what was sent.
func (p *peer) closeStdin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, outgoing{close: true})
	p.wake()
}

// pause stops reading until resume.
func (p *peer) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused == nil {
		p.paused = make(chan struct{})
	}
}

func (p *peer) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused != nil {
		close(p.paused)
		p.paused = nil
	}
}

// on sets the handler of a client method.
func (p *peer) on(method string, handle func(*message)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handlers[method] = handle
}

// refuse answers a request for a method that the client does not support.
func (p *peer) refuse(m *message) {
	p.replyError(m, -32601, "the client has no method "+m.method)
}

func (p *peer) reply(to *message, result any) {
	p.sendf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, to.id, encode(result))
}

func (p *peer) replyError(to *message, code int, text string) {
	p.sendf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, to.id, encode(object{"code": code, "message": text}))
}

// A call is a request by the suite.
type call struct {
	id     string
	method string
	index  int // index of the request in the transcript
}

// request sends a request with a new ID.
func (p *peer) request(method string, params any) call {
	p.mu.Lock()
	p.next++
	id := strconv.Itoa(p.next)
	p.mu.Unlock()
	return p.requestAs(id, method, params)
}

// requestAs sends a request with an ID, which is JSON.
func (p *peer) requestAs(id, method string, params any) call {
	c := call{id: id, method: method, index: p.now()}
	p.sendf(`{"jsonrpc":"2.0","id":%s,"method":%s,"params":%s}`, id, encode(method), encode(params))
	return c
}

func (p *peer) notify(method string, params any) {
	p.sendf(`{"jsonrpc":"2.0","method":%s,"params":%s}`, encode(method), encode(params))
}

// now returns the index that the next message will have.
func (p *peer) now() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.log)
}

// messages returns the transcript from an index on.
func (p *peer) messages(from int) []*message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log[min(from, len(p.log)):])
}

// find returns the first message from an index on for which ok is true, or nil.
func (p *peer) find(from int, ok func(*message) bool) *message {
	for _, m := range p.messages(from) {
		if ok(m) {
			return m
		}
	}
	return nil
}

var (
	errClosed = errors.New("the agent closed its stdout")
	errTime   = errors.New("it did not come in time")
)

// await returns the first message of the agent from an index on for which ok is true.
func (p *peer) await(from int, ok func(*message) bool) (*message, error) {
	for {
		p.mu.Lock()
		for ; from < len(p.log); from++ {
			if m := p.log[from]; !m.sent && ok(m) {
				p.mu.Unlock()
				return m, nil
			}
		}
		ended, changed := p.ended || p.finished, p.changed
		p.mu.Unlock()
		if ended {
			return nil, errClosed
		}
		select {
		case <-changed:
		case <-p.t.ctx.Done():
			return nil, errTime
		}
	}
}

// wait is like await and fails the check on an error.
func (p *peer) wait(from int, what string, ok func(*message) bool) *message {
	m, err := p.await(from, ok)
	if err != nil {
		p.t.failf("waiting for %s: %v%s", what, err, p.epitaph())
	}
	return m
}

// epitaph describes how an agent has ended.
func (p *peer) epitaph() string {
	select {
	case <-p.child.Done():
		return fmt.Sprintf(" (it %v)", p.child.State())
	default:
		return ""
	}
}

// response waits for the response to a call.
func (p *peer) response(c call) *message {
	return p.wait(c.index, fmt.Sprintf("the response to %s (id %s)", c.method, c.id), c.answeredBy)
}

func (c call) answeredBy(m *message) bool { return m.isResponse() && m.id == c.id }

// answered reports whether a call has its response.
func (p *peer) answered(c call) bool {
	return p.find(c.index, func(m *message) bool { return !m.sent && c.answeredBy(m) }) != nil
}

// call sends a request that must succeed and returns its result.
func (p *peer) call(method string, params any) any {
	m := p.response(p.request(method, params))
	if m.err != nil || !m.hasResult {
		p.t.failAt(m, "%s has to succeed and got %s", method, m.kind())
	}
	return m.result
}

// fails sends a request that must be answered with an error, with one of the codes if there are any.
func (p *peer) fails(method string, params any, codes ...int) *rpcError {
	return p.failsWith(p.response(p.request(method, params)), method, codes...)
}

func (p *peer) failsWith(m *message, what string, codes ...int) *rpcError {
	if m.err == nil {
		p.t.failAt(m, "%s has to be refused and got %s", what, excerpt(m.result))
	}
	if len(codes) > 0 && !slices.Contains(codes, int(m.err.code)) {
		p.t.failAt(m, "%s has to be refused with %v and got %d", what, codes, int(m.err.code))
	}
	return m.err
}

// lives checks that the agent still answers.
func (p *peer) lives() *message {
	// The method starts with an underscore: the agent must answer, with whatever result.
	return p.response(p.request("_conformance/ping", object{}))
}

// settle waits until the agent has sent what it had to send: a round trip, followed by silence.
func (p *peer) settle() {
	p.lives()
	limit := time.NewTimer(10 * p.t.quiet) // an agent that never falls silent is inspected as it is
	defer limit.Stop()
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		quiet := time.NewTimer(p.t.quiet)
		select {
		case <-changed:
			quiet.Stop()
		case <-limit.C:
			return
		case <-quiet.C:
			return
		}
	}
}
