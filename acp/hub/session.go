package hub

import (
	"bytes"
	"fmt"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// session is a session of an engine. The hub's mutex guards it.
type session struct {
	hub    *Hub
	engine *engine
	id     string
	params jsonx.Raw // of the request that has opened it
	cwd    string
	files  *features // what the client could do whose files and terminals the session uses

	members []*member
	// primary is the member whose files and terminals the session uses; nil if it is gone.
	primary *member
	log     *updateLog
	seq     int64 // the number of the last update
	// result has the modes and options, as the answer that has opened the session had them and updates have changed them.
	result jsonx.Raw
	// watched has what the engine says about a session that it only watches, because another server has it open or because its directory
	// is missing; nil for one that the engine has open.
	watched jsonx.Raw
	prompts []*prompt // that are not answered, in order

	ready chan struct{} // closed when the session is open, or cannot be opened
	replayState
	closing bool // an engine is closing it
	over    bool
	gone    chan struct{} // closed when the engine has closed it
	timer   *time.Timer   // runs while the session has no members
}

// replayState is the state of a session whose conversation an engine replays.
type replayState struct {
	// replaying reports whether the engine replays the conversation: its updates repeat what others contain. quiet reports whether the
	// hub has asked for that: then the members do not receive it. replayed is closed at the end.
	replaying, quiet bool
	replayed         chan struct{}
}

// prompt is a prompt that is not answered.
type prompt struct {
	call  *call
	line  []byte // for the engine
	begun bool   // the engine has it
	shown bool   // the other clients have it
	seq   int64  // of its echo
}

// member is a client that takes part in a session.
type member struct {
	link     *link
	session  *session
	observer bool
	declared bool // the client knows the extension
	guest    bool // the engine was not started for it
	cwd      string
	// live reports whether the client has received all entries of the log before place. Until then, it receives no updates.
	live  bool
	place int
}

// open adds a session that a call opens, with the client of the call as its first member.
func (h *Hub) open(c *call, id string) *session {
	s := &session{
		hub: h, engine: c.engine, id: id, params: c.params, cwd: textMember(c.params, "cwd"), ready: make(chan struct{}), gone: make(chan struct{}),
	}
	s.seq = time.Now().UnixMicro() // above all numbers of an earlier life of the session
	s.log = newLog(h.opts.MaxLog, s.seq, &h.packer)
	h.sessions[id] = s
	if c.link != nil && !c.link.gone {
		m := s.add(c.link, c.attach)
		m.live, m.cwd = true, s.cwd
		s.primary, s.files = m, &c.link.features
	}
	return s
}

// opened records the answer that has opened a session.
func (s *session) opened(result jsonx.Raw) {
	s.answer(result)
	close(s.ready)
	s.advance()
}

// answer records the answer of an engine that has opened or replayed the session.
func (s *session) answer(result jsonx.Raw) {
	s.result = withoutMember(withoutMember(result, "sessionId"), "_meta")
	if own := withoutMember(jsonx.Lookup(result, "_meta"), attachKey); len(own) > len("{}") {
		s.result = setMember(s.result, "_meta", own)
	}
	s.watch(meta(result, attachKey))
}

// watch records the part that the engine takes in the session.
func (s *session) watch(part jsonx.Raw) {
	s.watched = nil
	if textMember(part, "role") == roleObserver || string(jsonx.Lookup(part, "elsewhere")) == "true" {
		s.watched = bytes.Clone(part)
	}
}

// part records what an engine says about its part in the session, which each client receives as its own. It returns false for anything else.
func (s *session) part(update jsonx.Raw, line []byte) bool {
	own := meta(update, attachKey)
	switch {
	case own == nil:
		return false
	case textMember(own, "state") == "detached":
		if s.member(s.engine.owner) != nil {
			s.engine.pass(line)
		}
		s.end(textMember(own, "reason"))
		return true
	}
	s.watch(own)
	for _, m := range s.members {
		if m.live && m.declared {
			m.link.out.put(request(nil, "session/update", encode(map[string]any{
				"sessionId": s.id,
				"update":    map[string]any{"sessionUpdate": "session_info_update", "_meta": map[string]any{attachKey: m.part()}},
			})))
		}
	}
	return true
}

// part returns the part that a client takes in the session.
func (m *member) part() jsonx.Raw {
	switch {
	case m.session.watched != nil && !(m.observer && m.session.takesPrompts()):
		return m.session.watched
	case m.observer:
		return encode(map[string]string{"role": roleObserver})
	default:
		return encode(map[string]string{"role": roleController})
	}
}

func withoutMember(raw jsonx.Raw, name string) jsonx.Raw {
	if jsonx.Lookup(raw, name) == nil && raw.Kind() == '{' {
		return bytes.Clone(raw)
	}
	out := jsonx.Raw("{}")
	for other, v := range jsonx.Members(raw) {
		if other != name {
			out = setMember(out, other, v)
		}
	}
	return out
}

// isOpen reports whether the session can be used.
func (s *session) isOpen() bool {
	select {
	case <-s.ready:
		return !s.over
	default:
		return false
	}
}

// busy reports whether a turn runs or waits.
func (s *session) busy() bool { return len(s.prompts) > 0 }

// member returns the membership of a client; nil for none.
func (s *session) member(l *link) *member {
	for _, m := range s.members {
		if m.link == l {
			return m
		}
	}
	return nil
}

// add adds a client.
func (s *session) add(l *link, a attachment) *member {
	m := &member{link: l, session: s, observer: a.observer, declared: a.declared, guest: l != s.engine.owner}
	s.members = append(s.members, m)
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if e := s.engine; m.guest {
		e.guests++
		close(e.shared)
		e.shared = make(chan struct{})
	}
	return m
}

// remove removes a client, and closes the session if nothing needs it any more.
func (s *session) remove(l *link) {
	for i, m := range s.members {
		if m.link != l {
			continue
		}
		s.members = append(s.members[:i:i], s.members[i+1:]...)
		if m.guest {
			s.engine.guests--
		}
		for _, a := range s.engine.asks {
			if a.session == s {
				a.lose(l)
			}
		}
		if s.primary == m {
			s.primary = nil
			s.promote()
		}
		s.deserted()
		return
	}
}

// promote makes a member the primary one that has the same files and can do the same with them.
func (s *session) promote() {
	for _, m := range s.members {
		if m.live && !m.observer && m.cwd == s.cwd && s.files != nil && m.link.features.hasFilesOf(s.files) {
			s.primary = m
			return
		}
	}
}

// deserted closes a session without members: at once if it is idle, otherwise after the grace. If the hub drains, it closes any idle session.
func (s *session) deserted() {
	switch {
	case s.hub.draining:
		s.handOver()
	case len(s.members) > 0 || s.closing || s.over || !s.isOpen():
	case !s.busy():
		s.close()
	case s.timer == nil:
		s.timer = time.AfterFunc(s.hub.opts.Grace, func() {
			s.hub.mu.Lock()
			defer s.hub.mu.Unlock()
			if len(s.members) == 0 && s.timer != nil && !s.closing {
				s.close()
			}
		})
	}
}

// close closes the session in the engine, or the engine with its last session.
func (s *session) close() {
	s.closing = true
	s.hub.settle(s.engine)
	if !s.engine.closing {
		s.engine.call("session/close", encode(map[string]string{"sessionId": s.id}), func(*message) { s.end("the session was closed") })
	}
}

// end removes a session that its engine has closed. The clients learn why.
func (s *session) end(why string) {
	if s.over {
		return
	}
	s.over, s.closing = true, true
	delete(s.hub.sessions, s.id)
	s.hub.notify()
	s.dropWaiting(func(*prompt) bool { return true }, func() *message { return &message{err: failure(-32002, "session_closed", why)} })
	if s.timer != nil {
		s.timer.Stop()
	}
	for id, of := range s.engine.children {
		if of == s {
			delete(s.engine.children, id)
		}
	}
	for _, a := range s.engine.asks {
		if a.session == s {
			a.withdraw(nil)
		}
	}
	for _, m := range s.members {
		if m.guest {
			s.engine.guests--
		}
		if m.link != s.engine.owner {
			m.detached(why)
		}
	}
	s.members, s.primary = nil, nil
	select {
	case <-s.ready:
	default:
		close(s.ready)
	}
	s.replayEnded()
	close(s.gone)
	s.hub.settle(s.engine)
	s.hub.dismiss()
}

// replayEnded ends the state in which the engine replays the conversation.
func (s *session) replayEnded() {
	s.replaying, s.quiet = false, false
	if s.replayed != nil {
		close(s.replayed)
		s.replayed = nil
	}
}

// detached sends a client the reason why it no longer takes part in a session.
func (m *member) detached(why string) {
	part := map[string]string{"state": "detached", "reason": why}
	if why == drained {
		part["kind"] = kindShutdown
	}
	params := encode(map[string]any{
		"sessionId": m.session.id,
		"update":    map[string]any{"sessionUpdate": "session_info_update", "_meta": map[string]any{attachKey: part}},
	})
	m.link.out.put(request(nil, "session/update", params))
}

// observe records the state of a session that clients receive which join later.
func (s *session) observe(kind string, update jsonx.Raw) {
	switch kind {
	case "current_mode_update":
		if mode := jsonx.Lookup(update, "currentModeId"); mode != nil && jsonx.Lookup(s.result, "modes") != nil {
			s.result = setMember(s.result, "modes", setMember(jsonx.Lookup(s.result, "modes"), "currentModeId", bytes.Clone(mode)))
		}
	case "config_option_update":
		if options := jsonx.Lookup(update, "configOptions"); options != nil {
			s.result = setMember(s.result, "configOptions", bytes.Clone(options))
		}
	}
}

// ofConversation reports whether an update is a part of the conversation, and not of the state around it.
func ofConversation(kind string) bool {
	switch kind {
	case "available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update", "notice":
		return false
	default:
		return true
	}
}

// publish keeps an update and sends it to the members but one. line is the message as the engine has sent it; nil for one of the hub's.
func (s *session) publish(kind string, params jsonx.Raw, line []byte, but *link) {
	if !s.replaying {
		s.seq++
	}
	s.log.add(s.seq, params)
	quiet := s.quiet && ofConversation(kind)
	for _, m := range s.members { // of which fallBehind makes a copy
		if !m.live {
			continue
		}
		m.place = s.log.next
		if quiet || m.link == but {
			continue
		}
		if size := m.send(s.seq, kind, params, line); size > s.hub.opts.MaxQueued && s.engine.guests > 0 {
			m.fallBehind(size)
		}
	}
}

// send sends an update in the form that the client understands. It returns the number of bytes that wait for the client.
func (m *member) send(seq int64, kind string, params jsonx.Raw, line []byte) int {
	if m.guest {
		fit := m.link.features.fit(kind, params)
		if fit == nil || !m.link.features.subagents && textMember(params, "sessionId") != m.session.id {
			return 0
		}
		if len(fit) != len(params) || &fit[0] != &params[0] {
			params, line = fit, nil
		}
	}
	if m.declared {
		params, line = setMeta(params, seqKey, encode(seq)), nil
	}
	if line == nil {
		line = request(nil, "session/update", params)
	}
	return m.link.out.put(line)
}

// fallBehind removes a client that does not read from a session that others share; if it is alone, its connection ends.
func (m *member) fallBehind(size int) {
	why := fmt.Sprintf("%d bytes wait for this client, which does not read them; load the session again", size)
	if len(m.session.members) == 1 {
		m.link.end(fmt.Errorf("the client does not read: %d bytes wait for it", size))
		return
	}
	m.detached(why)
	m.session.remove(m.link)
}

// prompt takes a prompt in. The engine gets it when those before it are answered: only so does the hub know where in the conversation it
// stands, since the updates of the next turn may come before the answer to the last prompt.
func (s *session) prompt(c *call, line []byte) {
	s.prompts = append(s.prompts, &prompt{call: c, line: line})
	s.advance()
}

// advance sends the next prompt to the engine, if none is there.
func (s *session) advance() {
	if len(s.prompts) == 0 || s.replaying || !s.isOpen() || s.closing {
		return
	}
	if p := s.prompts[0]; !p.begun {
		p.begun = true
		s.engine.out.put(p.line)
	}
}

// turnBegins shows the prompt that the engine has to the other clients. It is called when the engine has stored the prompt, or at the first sign of
// its turn: one that is refused, or lost with its engine, is shown to none.
func (s *session) turnBegins() {
	if len(s.prompts) == 0 || s.replaying || s.watched != nil {
		return // a session that is open elsewhere shows a prompt when it is stored there
	}
	if p := s.prompts[0]; p.begun && !p.shown {
		p.shown = true
		p.seq = s.echo(p.call)
	}
}

// cancelled answers the prompts that wait when a client cancels: they have no turn.
func (s *session) cancelled() {
	s.dropWaiting(func(*prompt) bool { return true }, func() *message { return &message{result: jsonx.Raw(`{"stopReason":"cancelled"}`)} })
}

// dropWaiting answers the prompts that the engine does not have, of those that match.
func (s *session) dropWaiting(match func(*prompt) bool, answer func() *message) {
	var rest, dropped []*prompt
	for _, p := range s.prompts {
		if !p.begun && match(p) {
			dropped = append(dropped, p)
		} else {
			rest = append(rest, p)
		}
	}
	s.prompts = rest
	if len(dropped) > 0 {
		s.hub.notify()
	}
	for _, p := range dropped {
		delete(s.engine.calls, callKey(p.call.id))
		p.call.reply(answer())
	}
}

// prompted removes a prompt that is answered, and returns the answer for its client.
func (s *session) prompted(c *call, m *message) *message {
	for i, p := range s.prompts {
		if p.call != c {
			continue
		}
		if m.err == nil {
			s.turnBegins() // without an update
		}
		s.prompts = append(s.prompts[:i:i], s.prompts[i+1:]...)
		s.hub.notify()
		if c.link != nil && p.seq != 0 {
			if mem := s.member(c.link); mem != nil && mem.declared {
				m = m.with(seqKey, encode(p.seq))
			}
		}
		break
	}
	return m
}

// echo shows what a client has written to the others, and returns the number of the last update about it.
func (s *session) echo(c *call) int64 {
	id := fmt.Sprintf("prompt-%d", s.seq+1)
	var blocks []jsonx.Raw
	if jsonx.Unmarshal(jsonx.Lookup(c.params, "prompt"), &blocks) != nil {
		return 0 // the engine refuses it
	}
	for _, block := range blocks {
		texts := []jsonx.Raw{block}
		if textMember(block, "type") == "text" {
			if parts := acp.SplitText(textMember(block, "text")); len(parts) > 1 {
				texts = texts[:0]
				for _, part := range parts {
					texts = append(texts, encode(map[string]string{"type": "text", "text": part}))
				}
			}
		}
		for _, content := range texts {
			params := encode(userChunk{SessionID: s.id, Update: userUpdate{"user_message_chunk", id, content}, Meta: map[string]string{authorKey: c.name()}})
			s.publish("user_message_chunk", params, nil, c.link)
		}
	}
	return s.seq
}

// userChunk is the parameters of an update with a part of a user's message.
type userChunk struct {
	SessionID string            `json:"sessionId"`
	Update    userUpdate        `json:"update"`
	Meta      map[string]string `json:"_meta"`
}

type userUpdate struct {
	Kind      string    `json:"sessionUpdate"`
	MessageID string    `json:"messageId"`
	Content   jsonx.Raw `json:"content"`
}

// changed shows a change of the mode or of an option to the clients that have not made it. The engine expects that its client knows.
func (s *session) changed(c *call, m *message) {
	update := map[string]any{}
	switch c.method {
	case "session/set_mode":
		update["sessionUpdate"], update["currentModeId"] = "current_mode_update", jsonx.Lookup(c.params, "modeId")
	default:
		options := jsonx.Lookup(m.result, "configOptions")
		if options == nil {
			return
		}
		update["sessionUpdate"], update["configOptions"] = "config_option_update", options
	}
	kind := update["sessionUpdate"].(string)
	raw := encode(update)
	s.observe(kind, raw)
	s.publish(kind, encode(map[string]any{"sessionId": s.id, "update": raw}), nil, c.link)
}
