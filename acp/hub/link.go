package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// link is the connection of one client.
type link struct {
	hub    *Hub
	client Client
	out    *outbox
	engine *engine
	ctx    context.Context //nolint:containedctx // ends with the connection
	end    context.CancelCauseFunc

	// The hub's mutex guards the fields below.
	features features
	gone     bool
	calls    map[string]*call // the client's requests, by its IDs
	asks     map[string]*ask  // the requests that the client has to answer, by the IDs that it knows
}

// name returns the name of the client, for others; it may be nil.
func (l *link) name() string {
	if l == nil {
		return ""
	}
	return l.client.Name
}

// read reads the client's messages until it is gone.
func (l *link) read(r frame.Reader) {
	for l.ctx.Err() == nil {
		line, err := r.Read()
		switch {
		case err == nil:
			l.receive(bytes.Clone(line))
		case frame.Recoverable(err):
			l.out.put(answer(jsonx.Raw("null"), nil, failure(jsonrpc.CodeInvalidRequest, "size", err.Error())))
		case errors.Is(err, io.ErrUnexpectedEOF):
			l.end(io.EOF)
			return
		default:
			l.end(err)
			return
		}
	}
}

// receive handles a message of the client's. It waits while the engine has much to read.
func (l *link) receive(line []byte) {
	m, err := parse(line)
	switch {
	case err != nil && l.client.mayAll():
		l.engine.out.put(line) // the engine answers it
	case err != nil:
		l.out.put(answer(jsonx.Raw("null"), nil, failure(jsonrpc.CodeInvalidRequest, "message", "invalid message: "+err.Error())))
	case m.isRequest() && (m.method == "session/load" || m.method == "session/resume"):
		if !l.allowed(&m) {
			return
		}
		l.open(&m)
	default:
		to := l.route(&m)
		_ = to.out.wait(l.ctx, lowWater) // the next read reports the end
	}
}

// allowed reports whether the client may make a request, and refuses it otherwise.
func (l *link) allowed(m *message) bool {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	kind, why := l.refusal(m, nil)
	if why != "" {
		l.refuse(m, jsonrpc.CodeInvalidRequest, kind, why)
	}
	return why == ""
}

// refuse answers a request with an error. It ignores a notification.
func (l *link) refuse(m *message, code jsonrpc.Code, kind, text string) {
	if m.isRequest() {
		l.out.put(answer(m.id, nil, failure(code, kind, text)))
	}
}

// inUse reports whether the ID of a request is that of one that is not answered, and refuses the request then.
func (l *link) inUse(m *message) bool {
	if l.calls[callKey(m.id)] == nil {
		return false
	}
	l.refuse(m, jsonrpc.CodeInvalidRequest, "id", fmt.Sprintf("the ID %s is that of a request that is not answered yet", m.id))
	return true
}

// drained waits until the client has read most of what it was sent. The caller holds the hub's mutex, which drained releases meanwhile.
func (l *link) drained() error {
	size, _ := l.out.waiting()
	if size <= lowWater {
		return context.Cause(l.ctx)
	}
	l.hub.mu.Unlock()
	defer l.hub.mu.Lock()
	ctx, cancel := context.WithTimeoutCause(l.ctx, l.hub.opts.Stall, errors.New("the client does not read the conversation"))
	defer cancel()
	return l.out.wait(ctx, lowWater)
}

// route passes a message of the client's on, and returns the engine that it went to. It drops what comes after the end of the connection.
func (l *link) route(m *message) *engine {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.ctx.Err() != nil {
		return l.engine // the client is gone, or was dismissed
	}
	if m.method == "" {
		a := l.asks[askKey(m.id)]
		if a == nil {
			return l.engine // late, or to a question that was not put to this client
		}
		a.answered(l, m)
		return a.engine
	}
	s := l.sessionOf(m.session)
	var mem *member
	if s != nil {
		mem = s.member(l)
	}
	if kind, why := l.refusal(m, mem); why != "" {
		l.refuse(m, jsonrpc.CodeInvalidRequest, kind, why)
		return l.engine
	}
	if m.isRequest() && l.inUse(m) {
		return l.engine
	}
	switch {
	case m.method == "initialize":
		l.features = parseFeatures(m.params)
		if m.isRequest() {
			m.params = declareElsewhere(m.params)
			m.line = request(m.id, m.method, m.params)
		}
	case m.method == "$/cancel_request":
		return l.cancelRequest(m)
	case s == nil:
	case mem == nil && s.engine == l.engine:
		l.refuse(m, -32002, "session_not_found", fmt.Sprintf("this client has left the session %q; load it again", m.session))
		return l.engine
	case mem != nil:
		return l.inSession(m, s)
	}
	l.engine.forward(l, m, nil)
	return l.engine
}

// sessionOf returns the live session with an ID, or the one that has a child with it and the client as a member; nil for none.
func (l *link) sessionOf(id string) *session {
	if id == "" {
		return nil
	}
	if s := l.hub.sessions[id]; s != nil {
		return s
	}
	if s := l.engine.children[id]; s != nil {
		return s
	}
	for _, s := range l.hub.sessions {
		if s.engine.children[id] == s && s.member(l) != nil {
			return s
		}
	}
	return nil
}

// inSession passes on a message about a session of which the client is a member, and returns the engine.
func (l *link) inSession(m *message, s *session) *engine {
	e := s.engine
	switch m.method {
	case "session/close":
		if m.isRequest() && (len(s.members) > 1 || s.runsElsewhere()) {
			s.remove(l)
			l.out.put(answer(m.id, jsonx.Raw("{}"), nil))
			return e
		}
		s.closing = m.isRequest()
	case "session/cancel":
		s.cancelled()
	case "session/prompt":
		for m.isRequest() && s.quiet && !s.over {
			if l.hub.waitFor(l.ctx, s.replayed, l.hub.opts.Stall) != nil {
				break
			}
		}
		if name := l.client.Name; name != "" && m.isRequest() {
			m.params = setMeta(m.params, authorKey, encode(name))
			m.line = request(m.id, m.method, m.params)
		}
		if s.watched != nil && m.isRequest() {
			m.params = marked(m.params)
			m.line = request(m.id, m.method, m.params)
		}
	}
	if s.over {
		l.refuse(m, -32002, "session_closed", "the session was closed; load it again")
		return e
	}
	if m.method == "session/prompt" && m.isRequest() {
		s.prompt(e.register(l, m, s))
		return e
	}
	e.forward(l, m, s)
	return e
}

// cancelRequest passes on that the client does not need an answer any more.
func (l *link) cancelRequest(m *message) *engine {
	c := l.calls[callKey(jsonx.Lookup(m.params, "requestId"))]
	if c == nil {
		return l.engine // it is answered, or that of another client
	}
	if s := c.session; s != nil {
		if s.dropPrompt(c) {
			return c.engine
		}
	}
	line := m.line
	if !bytes.Equal(c.own, c.id) {
		line = request(nil, m.method, setMember(m.params, "requestId", c.id))
	}
	c.engine.out.put(line)
	return c.engine
}
