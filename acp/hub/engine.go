package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// engine is the connection to one agent. The client that it was started for is its owner; the engine goes on without it as long as one of
// its sessions does.
type engine struct {
	hub  *Hub
	conn io.ReadWriteCloser
	out  *outbox
	done chan struct{} // closed when the connection is closed

	// The hub's mutex guards the fields below.
	owner    *link // nil if it is gone
	closing  bool
	calls    map[string]*call // the requests that the engine has to answer, by the IDs that it knows
	asks     map[string]*ask  // the requests that a client has to answer, by the engine's IDs
	children map[string]*session
	prefix   string
	made     int           // IDs
	guests   int           // the clients of its sessions that are not the owner, counted for each session
	shared   chan struct{} // closed and replaced when a guest joins
}

// call is a request to an engine.
type call struct {
	link    *link // nil for the hub's own, and after the client is gone
	engine  *engine
	session *session  // nil for a request that concerns no open session
	own     jsonx.Raw // the client's ID
	id      jsonx.Raw // the ID that the engine knows
	method  string
	params  jsonx.Raw
	attach  attachment
	// then receives the answer of a request of the hub's own.
	then func(*message)
	// asked is the ID of the engine's own request that this one serves; nil for none.
	asked jsonx.Raw
}

// run starts the goroutines of an engine. They end when its connection is closed.
func (h *Hub) run(conn io.ReadWriteCloser, owner *link) *engine {
	e := &engine{
		hub: h, conn: conn, out: newOutbox(), done: make(chan struct{}), owner: owner, calls: make(map[string]*call), asks: make(map[string]*ask),
		children: make(map[string]*session), prefix: newPrefix(), shared: make(chan struct{}),
	}
	h.all.Add(1)
	ended := make(chan error, 2)
	go func() { ended <- e.out.drain(conn) }()
	go func() { ended <- e.read(frame.Lines.NewReader(conn, 1<<30)) }()
	go func() {
		defer h.all.Done()
		err := <-ended
		e.out.close()
		_ = conn.Close() // its end is what counts
		<-ended
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ended(e, err)
		close(e.done)
	}()
	return e
}

// errEngine is the cause that ends the connection of a client whose engine is gone.
var errEngine = errors.New("the engine has ended")

// ended removes an engine whose connection is closed. The caller holds h.mu.
func (h *Hub) ended(e *engine, err error) {
	e.closing = true
	for _, s := range h.sessions {
		if s.engine == e {
			s.end("the engine of this session has ended; load the session again")
		}
	}
	for key, c := range e.calls {
		delete(e.calls, key)
		if c.then != nil {
			c.then(&message{err: failure(jsonrpc.CodeInternalError, "engine", errEngine.Error())})
		} else {
			c.reply(&message{err: failure(jsonrpc.CodeInternalError, "engine", "the engine has ended before it answered; try again")})
		}
	}
	for _, a := range e.asks {
		a.withdraw(nil)
	}
	if e.owner != nil {
		if err == nil || errors.Is(err, io.EOF) { // which would be the client's end
			err = io.ErrUnexpectedEOF
		}
		e.owner.end(fmt.Errorf("%w: %w", errEngine, err))
	}
}

// closeEngine ends an engine. The caller holds h.mu.
func (h *Hub) closeEngine(e *engine) {
	if e.closing {
		return
	}
	e.closing = true
	e.out.close() // the stream is closed when the rest is written
	go func() {   // ends with the engine
		select {
		case <-e.done:
		case <-time.After(writeGrace): // the engine does not read
			_ = e.conn.Close()
		}
	}()
}

// settle closes an engine that nothing needs any more. The caller holds h.mu.
func (h *Hub) settle(e *engine) {
	if e.owner != nil {
		return
	}
	for _, s := range h.sessions {
		if s.engine == e && !s.closing {
			return
		}
	}
	h.closeEngine(e)
}

// newID returns an ID that the engine's and the clients' own requests do not have.
func (e *engine) newID() jsonx.Raw {
	e.made++
	return jsonx.Raw(strconv.Quote(e.prefix + strconv.Itoa(e.made)))
}

// read reads the engine's messages until its connection ends.
func (e *engine) read(r frame.Reader) error {
	for {
		line, err := r.Read()
		if err != nil {
			if frame.Recoverable(err) {
				continue
			}
			return err
		}
		e.receive(bytes.Clone(line))
	}
}

// receive passes a message of the engine's on. If there is only one client, it waits until that has read most of what it was sent.
func (e *engine) receive(line []byte) {
	m, err := parse(line)
	e.hub.mu.Lock()
	owner := e.owner
	switch {
	case err != nil:
		e.pass(line)
	case m.method == "":
		e.answered(&m)
	case m.method == elsewherePrompt && m.isRequest():
		e.promptElsewhere(&m)
	case m.method == elsewhereCancel:
		e.cancelElsewhere(&m)
	case m.isRequest():
		e.ask(&m)
	case m.method == "session/update":
		e.update(&m)
	case m.method == "$/cancel_request":
		e.cancelRequest(&m)
	case m.method == "elicitation/complete":
		for _, l := range e.everyone() {
			l.out.put(line)
		}
	default:
		e.pass(line)
	}
	alone, shared := e.guests == 0, e.shared
	e.hub.mu.Unlock()
	if owner != nil && alone {
		e.pace(owner, shared)
	}
}

// pace waits while too much waits for the only client.
func (e *engine) pace(owner *link, shared <-chan struct{}) {
	for {
		size, room := owner.out.waiting()
		if size <= e.hub.opts.MaxQueued/4 {
			return
		}
		select {
		case <-room:
		case <-shared:
			return
		case <-owner.ctx.Done():
			return
		}
	}
}

// everyone returns the clients that depend on the engine, each once.
func (e *engine) everyone() []*link {
	var all []*link
	seen := make(map[*link]bool)
	add := func(l *link) {
		if l != nil && !seen[l] {
			seen[l] = true
			all = append(all, l)
		}
	}
	add(e.owner)
	for _, s := range e.hub.sessions {
		if s.engine == e {
			for _, m := range s.members {
				add(m.link)
			}
		}
	}
	return all
}

// pass sends a line to the owner unchanged.
func (e *engine) pass(line []byte) {
	if e.owner != nil {
		e.owner.out.put(line)
	}
}

// sessionOf returns the open session with an ID, or the one that has a child with it; nil for none.
func (e *engine) sessionOf(id string) *session {
	if s := e.hub.sessions[id]; s != nil && s.engine == e {
		return s
	}
	return e.children[id]
}

// update passes an update to the clients of its session.
func (e *engine) update(m *message) {
	s := e.sessionOf(m.session)
	if s == nil {
		e.pass(m.line)
		return
	}
	kind := textMember(jsonx.Lookup(m.params, "update"), "sessionUpdate")
	if kind == "session_info_update" && s.id == m.session {
		update := jsonx.Lookup(m.params, "update")
		if meta(update, messageKey) != nil {
			s.turnBegins()
			return
		}
		if s.part(update, m.line) {
			return
		}
	}
	if kind == "subagent_update" {
		if child := textMember(jsonx.Lookup(m.params, "update"), "sessionId"); child != "" {
			e.children[child] = s
		}
	}
	s.observe(kind, jsonx.Lookup(m.params, "update"))
	if ofConversation(kind) { // a notice can come at any time, also before the prompt is stored
		s.turnBegins()
	}
	if p := s.own(kind, jsonx.Lookup(m.params, "update")); p != nil {
		if name := p.call.name(); name != "" {
			m.params = setMeta(m.params, authorKey, encode(name))
			m.line = nil
		}
		s.publish(kind, m.params, m.line, p.call.link)
		p.shown, p.seq = true, s.seq
		return
	}
	s.publish(kind, m.params, m.line, nil)
}

// call sends a request of the hub's own.
func (e *engine) call(method string, params jsonx.Raw, then func(*message)) {
	c := &call{engine: e, id: e.newID(), method: method, params: params, then: then}
	e.calls[callKey(c.id)] = c
	e.out.put(request(c.id, method, params))
}

// forward sends a client's request or notification.
func (e *engine) forward(l *link, m *message, s *session) *call {
	if !m.isRequest() {
		e.out.put(m.line)
		return nil
	}
	c, line := e.register(l, m, s)
	e.out.put(line)
	return c
}

// register records a request of a client's, and returns the line for the engine.
func (e *engine) register(l *link, m *message, s *session) (*call, []byte) {
	c := &call{link: l, engine: e, session: s, own: m.id, id: m.id, method: m.method, params: m.params, attach: attachment{declared: l.features.declared}}
	line := m.line
	if e != l.engine {
		c.id = e.newID()
		line = request(c.id, m.method, m.params)
	}
	l.calls[callKey(c.own)] = c
	e.calls[callKey(c.id)] = c
	return c, line
}

// answered passes an answer on to the client that has made the request.
func (e *engine) answered(m *message) {
	c := e.calls[callKey(m.id)]
	if c == nil {
		e.pass(m.line) // for a message that could not be read
		return
	}
	delete(e.calls, callKey(m.id))
	if c.then != nil {
		c.then(m)
		return
	}
	c.settle(m)
}

// reply sends an answer to the client, with the client's ID.
func (c *call) reply(m *message) {
	if c.asked != nil {
		c.engine.out.put(answer(c.asked, m.result, m.err))
		return
	}
	if c.link == nil || c.link.gone {
		return
	}
	delete(c.link.calls, callKey(c.own))
	if c.link.ctx.Err() != nil {
		c.link.hub.notify()
	}
	defer c.link.hub.dismiss()
	if m.line != nil && bytes.Equal(c.own, c.id) {
		c.link.out.put(m.line)
		return
	}
	c.link.out.put(answer(c.own, m.result, m.err))
}

// with returns an answer whose result has a member in its _meta.
func (m *message) with(key string, value jsonx.Raw) *message {
	if m.err != nil {
		return m
	}
	return &message{id: m.id, result: setMeta(m.result, key, value)}
}

// settle records what an answer says about sessions, and passes it on.
func (c *call) settle(m *message) {
	ok := m.err == nil
	s := c.session
	switch c.method {
	case "initialize":
		if ok {
			result := m.result
			own := setMeta(jsonx.Lookup(result, "agentCapabilities"), attachKey, encode(map[string]any{"roles": []string{roleController, roleObserver}}))
			c.reply(&message{id: m.id, result: setMember(result, "agentCapabilities", own)})
			return
		}
	case "session/new", "session/fork":
		if id := textMember(m.result, "sessionId"); ok && id != "" && !c.engine.closing {
			s := c.engine.hub.open(c, id)
			s.log.complete = c.method == "session/new"
			s.opened(m.result)
			m = s.described(m, c.link)
			c.reply(m)
			s.deserted()
			return
		}
	case "session/load", "session/resume":
		if s != nil {
			c.loaded(s, m)
			return
		}
	case "session/prompt":
		if s != nil {
			m = s.prompted(c, m)
			c.reply(m)
			s.advance()
			s.deserted()
			return
		}
	case "session/close", "session/delete":
		if s != nil && ok {
			c.reply(m)
			s.end("the session was closed by " + c.author())
			return
		}
		if s != nil {
			s.closing = false
			s.advance()
		}
	case "session/set_mode", "session/set_config_option":
		if s != nil && ok {
			s.changed(c, m)
		}
	case "_session/steering":
		if outcome := textMember(m.result, "outcome"); s != nil && (outcome == "injected" || outcome == "startedNewTurn") {
			s.echo(c)
		}
	case "_gjc/session/branch":
		if s != nil && ok {
			s.log.complete = false
		}
	}
	c.reply(m)
}

// name returns the name of the client that has made the request, which may be one of another server; empty if it has none.
func (c *call) name() string {
	if c.link == nil {
		return textOf(meta(c.params, authorKey))
	}
	return c.link.name()
}

// author returns the name of the client that made the request.
func (c *call) author() string {
	if c.link == nil || c.link.client.Name == "" {
		return "another client"
	}
	return c.link.client.Name
}

// waitFor waits for a channel with the hub's mutex released, for a bounded time. The caller holds h.mu.
func (h *Hub) waitFor(ctx context.Context, ch <-chan struct{}, patience time.Duration) error {
	h.mu.Unlock()
	defer h.mu.Lock()
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("timed out waiting for the session; try again"))
	defer cancel()
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
