package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// The members of _meta of the extension, and its roles, which have the names of the protocol's proposal for session/attach.
const (
	attachKey = "gjc/attach"
	seqKey    = "gjc/seq"
	authorKey = "gjc/author"

	roleController = "controller"
	roleObserver   = "observer"
)

// attachment holds a client's wishes for its part in a session.
type attachment struct {
	declared bool // by this request, or in initialize
	observer bool
	after    int64 // the number of the last update that it has; negative for none
}

// parseAttachment reads the _meta of a request that opens a session.
func (l *link) parseAttachment(params jsonx.Raw) (attachment, error) {
	a := attachment{declared: l.features.declared, after: -1}
	raw := meta(params, attachKey)
	switch raw.Kind() {
	case '{':
		var p struct {
			Role  string `json:"role"`
			After *int64 `json:"after"`
		}
		if err := jsonx.Unmarshal(raw, &p); err != nil {
			return a, fmt.Errorf("_meta[%q]: %w", attachKey, err)
		}
		if p.Role != "" && p.Role != roleController && p.Role != roleObserver {
			return a, fmt.Errorf("_meta[%q]: unknown role %q; use %q or %q", attachKey, p.Role, roleController, roleObserver)
		}
		a.declared, a.observer = true, p.Role == roleObserver
		if p.After != nil {
			if a.after = *p.After; a.after < 0 {
				return a, fmt.Errorf("_meta[%q]: after must not be negative", attachKey)
			}
		}
	case 't':
		a.declared = true
	case 'f':
		a.declared = false
	case 0, 'n':
	default:
		return a, fmt.Errorf("_meta[%q] must be true or an object", attachKey)
	}
	return a, nil
}

// described adds to the answer that opens a session what a client needs that knows the extension.
func (s *session) described(m *message, l *link) *message {
	mem := s.member(l)
	if mem == nil || !mem.declared {
		return m
	}
	part := setMember(mem.part(), "seq", encode(s.seq))
	return m.with(attachKey, setMember(part, "clients", encode(len(s.members))))
}

// open handles session/load and session/resume. A session that is live is attached to, if the client wants that or the one that has opened
// it is gone; otherwise the client's engine opens it. It runs in the goroutine that reads from the client, so that the client's later
// messages follow.
func (l *link) open(m *message) {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	a, err := l.parseAttachment(m.params)
	if err != nil {
		l.refuse(m, jsonrpc.CodeInvalidParams, "attach", err.Error())
		return
	}
	if l.inUse(m) {
		return
	}
	s, err := l.await(m.session)
	if err != nil {
		l.refuse(m, jsonrpc.CodeInternalError, "session_locked", err.Error())
		return
	}
	if s == nil {
		if a.after >= 0 { // the client would take the whole conversation for what is new
			l.refuse(m, jsonrpc.CodeInvalidParams, "attach", errAfter.Error())
			return
		}
		l.openStored(m, a)
		return
	}
	mem := s.member(l)
	switch {
	case !s.isOpen():
		l.engine.forward(l, m, nil) // the client opens it twice at a time
		s.log.complete = false
	case mem == nil && !a.declared && s.engine != l.engine && (s.engine.owner != nil || s.watched != nil):
		l.engine.forward(l, m, nil) // the engine refuses it in its own words
	case mem != nil && m.method == "session/resume" && s.engine == l.engine && a.after < 0:
		l.engine.forward(l, m, nil)
	case mem != nil && m.method == "session/load" && s.engine == l.engine && len(s.members) == 1 && !s.busy() && a.after < 0 && !s.replaying:
		s.log.reset(s.seq)
		s.replaying, s.replayed = true, make(chan struct{})
		c := l.engine.forward(l, m, s)
		c.attach = a
	default:
		if err := l.join(s, m, a); err != nil {
			code, kind := jsonrpc.CodeInternalError, "attach"
			if errors.Is(err, errAfter) {
				code = jsonrpc.CodeInvalidParams
			}
			l.refuse(m, code, kind, err.Error())
		}
	}
}

// await returns a live session as soon as no other engine opens, closes or replays it, and the hub has the updates about all that the engine has
// stored; nil if it is not live. The caller holds the hub's mutex, which await releases while it waits.
func (l *link) await(id string) (*session, error) {
	waited := false // for updates
	for {
		s := l.hub.sessions[id]
		if l.ctx.Err() != nil { // the client is gone, or was dismissed
			return nil, context.Cause(l.ctx)
		}
		if s == nil {
			return nil, nil
		}
		var wait <-chan struct{}
		switch {
		case s.closing:
			wait = s.gone
		case !s.isOpen() && s.engine != l.engine:
			wait = s.ready
		case s.replaying && s.engine != l.engine:
			wait = s.replayed
		case !waited && s.awaitUpdates(l): // it may have been closed meanwhile
			waited = true
			continue
		default:
			return s, nil
		}
		if err := l.hub.waitFor(l.ctx, wait, l.hub.opts.Stall); err != nil {
			return nil, err
		}
	}
}

// openStored lets the client's engine open a session.
func (l *link) openStored(m *message, a attachment) {
	if servers := bytes.TrimSpace(jsonx.Lookup(m.params, "mcpServers")); !l.client.may(scopePrompt) && len(servers) > 0 && string(servers) != "[]" {
		l.refuse(m, jsonrpc.CodeInvalidRequest, "forbidden", "this client may not start MCP servers: its token lacks the scope "+scopePrompt)
		return
	}
	if m.session == "" {
		l.engine.forward(l, m, nil) // the engine refuses it
		return
	}
	c := l.engine.forward(l, m, nil)
	c.attach = a
	s := l.hub.open(c, m.session)
	c.session = s
	s.replaying, s.replayed = true, make(chan struct{})
	s.log.complete = m.method == "session/load"
}

// loaded records the answer of an engine that has opened a session, or has replayed an open one.
func (c *call) loaded(s *session, m *message) {
	first := !s.isOpen()
	s.replayEnded()
	switch {
	case s.over:
	case m.err != nil && first:
		c.reply(m)
		s.members = nil // the client has the error
		s.end("")
		return
	case m.err != nil:
		s.log.complete = false
	case first:
		s.opened(m.result)
		m = s.described(m, c.link)
	default:
		s.answer(m.result)
		m = s.described(m, c.link)
	}
	c.reply(m)
	s.advance()
	s.deserted()
}

// errAfter is the error for a number whose updates the hub does not have one by one.
var errAfter = errors.New("the updates after this number are not kept; load the session without after, and replace what is shown")

// join lets a client take part in a live session: it receives the updates so far, then the answer, the open questions, and what follows.
// The caller holds the hub's mutex, which join releases while the client reads.
func (l *link) join(s *session, m *message, a attachment) error {
	if err := s.prepare(l, m, a); err != nil {
		return err
	}
	mem := s.member(l)
	added := mem == nil
	if added {
		mem = s.add(l, a)
	}
	mem.live, mem.observer, mem.declared = false, a.observer, a.declared
	mem.cwd = textMember(m.params, "cwd")
	err := mem.catchUp(m.method, a)
	if err == nil && (s.over || s.member(l) != mem) {
		err = errOver
	}
	if err != nil {
		if s.member(l) == mem {
			s.remove(l)
		}
		return err
	}
	mem.live = true
	if s.primary == nil {
		s.promote()
	}
	result := s.result
	result = l.features.fitOptions(result)
	answered := s.described(&message{id: m.id, result: result}, l)
	l.out.put(answer(m.id, answered.result, nil))
	for _, ask := range s.engine.asks {
		if ask.session == s && ask.kind == askUser {
			ask.put(mem)
		}
	}
	return nil
}

// errOver is the error of a client whose session ends while it loads it.
var errOver = errors.New("the session was closed; load it again")

// prepare makes sure that the log has what a client needs.
func (s *session) prepare(l *link, m *message, a attachment) error {
	if err := s.refresh(l); err != nil {
		return err
	}
	if a.after >= 0 {
		if a.after < s.log.floor || a.after > s.seq {
			return errAfter
		}
		return nil
	}
	if m.method == "session/resume" {
		return nil
	}
	for !s.log.complete || s.quiet {
		if !s.quiet {
			if s.busy() {
				return errors.New("the beginning of the conversation is no longer kept, and cannot be read while a turn runs; load the session when the turn has ended, or resume it")
			}
			s.reload()
		}
		if err := l.hub.waitFor(l.ctx, s.replayed, l.hub.opts.Stall); err != nil {
			return err
		}
		if s.over || s.closing {
			return errOver
		}
		if !s.log.complete {
			return errors.New("the engine cannot read the conversation")
		}
	}
	return nil
}

// refresh waits until the log has all that other servers have stored so far of a session that they have open: a client that comes from one
// of them must not be shown less than it has seen there.
func (s *session) refresh(l *link) error {
	if s.watched == nil || s.replaying {
		return nil
	}
	done := make(chan struct{})
	s.engine.call("session/resume", s.reopening(), func(*message) { close(done) })
	if err := l.hub.waitFor(l.ctx, done, l.hub.opts.Stall); err != nil {
		return err
	}
	if s.over || s.closing {
		return errOver
	}
	return nil
}

// updatePatience bounds how long a client that joins waits for updates. They come at once, unless the engine cannot store anything.
const updatePatience = 2 * time.Second

// awaitUpdates waits until the log has all that the engine has stored of a session that it has open: a client of another server may have seen
// that, and come over. If it takes long, the client is shown what there is. It reports whether it has waited.
func (s *session) awaitUpdates(l *link) bool {
	if s.watched != nil || s.replaying || !s.isOpen() || !s.busy() {
		return false
	}
	done := make(chan struct{})
	s.engine.call(elsewhereStored, encode(map[string]string{"sessionId": s.id}), func(*message) { close(done) })
	_ = l.hub.waitFor(l.ctx, done, updatePatience)
	return true
}

// reopening returns the parameters with which the hub has the engine read the session again.
func (s *session) reopening() jsonx.Raw {
	return setMember(withoutMember(withoutMember(s.params, "systemPrompt"), "_meta"), "sessionId", encode(s.id))
}

// reload has the engine replay the conversation into the log.
func (s *session) reload() {
	s.log.reset(s.seq)
	s.replaying, s.quiet, s.replayed = true, true, make(chan struct{})
	s.engine.call("session/load", s.reopening(), func(m *message) {
		if m.err != nil {
			s.log.complete = false
		}
		s.replayEnded()
		s.advance()
	})
}

// catchUp sends the client the entries of the log that it does not have.
func (m *member) catchUp(method string, a attachment) error {
	s, l := m.session, m.link
	switch {
	case a.after >= 0:
		place, err := s.log.after(a.after)
		if err != nil {
			return err
		}
		m.place = place
	case method == "session/resume":
		m.place = s.log.next
	default:
		m.place = s.log.first
	}
	for {
		entries, next, err := s.log.read(m.place)
		if err != nil || len(entries) == 0 {
			return err
		}
		m.place = next
		for _, e := range entries {
			m.send(e.seq, textMember(jsonx.Lookup(e.params, "update"), "sessionUpdate"), e.params, nil)
		}
		if err := l.drained(); err != nil {
			return err
		}
		if s.over || s.member(l) != m {
			return errOver
		}
	}
}
