package hub

import (
	"bytes"
	"crypto/rand"

	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// The hubs of several servers share a session through their engines: the one that has it open sends this hub, its client, what the clients of
// the others prompt and cancel. The names are those of package acp/server/relay.
const (
	elsewhereKey    = "gjc/elsewhere" // of the hub's capabilities
	messageKey      = "gjc/message"   // of a prompt: the ID of its message; of an update: the message that is stored
	elsewherePrompt = "_gjc/elsewhere/prompt"
	elsewhereCancel = "_gjc/elsewhere/cancel"
	elsewhereStored = "_gjc/elsewhere/stored"
)

// declareElsewhere adds to the parameters of initialize that the hub takes prompts of other servers.
func declareElsewhere(params jsonx.Raw) jsonx.Raw {
	const capabilities = "clientCapabilities"
	return setMember(params, capabilities, setMeta(jsonx.Lookup(params, capabilities), elsewhereKey, encode(true)))
}

// promptElsewhere takes in a prompt of a client of another server, which waits for its turn like any other.
func (e *engine) promptElsewhere(m *message) {
	s := e.hub.sessions[m.session]
	refuse := func(kind, text string) { e.out.put(answer(m.id, nil, failure(jsonrpc.CodeInternalError, kind, text))) }
	switch {
	case s == nil || s.engine != e || s.closing || s.watched != nil:
		refuse("session_closed", "the session is not open there any more; load it again")
	case e.hub.draining:
		refuse(kindShutdown, ErrDrained.Error())
	default:
		c := &call{engine: e, session: s, id: e.newID(), method: "session/prompt", params: bytes.Clone(m.params), asked: bytes.Clone(m.id)}
		e.calls[callKey(c.id)] = c
		s.prompt(c, request(c.id, c.method, c.params))
	}
}

// cancelElsewhere cancels for a client of another server.
func (e *engine) cancelElsewhere(m *message) {
	s := e.hub.sessions[m.session]
	if s == nil || s.engine != e || s.watched != nil {
		return
	}
	s.cancelled()
	e.out.put(request(nil, "session/cancel", encode(map[string]string{"sessionId": s.id})))
}

// cancelRequest handles that the engine does not need the answer to one of its requests any more.
func (e *engine) cancelRequest(m *message) {
	id := jsonx.Lookup(m.params, "requestId")
	if a := e.asks[callKey(id)]; a != nil {
		a.cancel(m.params)
		return
	}
	for _, c := range e.calls {
		if c.asked != nil && callKey(c.asked) == callKey(id) {
			if !c.session.dropPrompt(c) {
				e.out.put(request(nil, m.method, encode(map[string]jsonx.Raw{"requestId": c.id})))
			}
			return
		}
	}
}

// dropPrompt answers a prompt that waits, because the client has cancelled it. It returns false for one that the engine has.
func (s *session) dropPrompt(c *call) bool {
	s.dropWaiting(func(p *prompt) bool { return p.call == c }, func() *message {
		return &message{err: failure(jsonrpc.CodeCancelled, "cancelled", "the prompt was cancelled before its turn")}
	})
	return s.engine.calls[callKey(c.id)] != c
}

// runsElsewhere reports whether the turn that runs is that of a client of another server. It goes on when the last client of this one closes the
// session.
func (s *session) runsElsewhere() bool {
	return len(s.prompts) > 0 && s.prompts[0].begun && s.prompts[0].call.asked != nil
}

// takesPrompts reports whether another server has the session open and takes the prompts of this one's clients.
func (s *session) takesPrompts() bool {
	return s.watched != nil && textMember(s.watched, "role") == roleController
}

// passesElsewhere reports whether a request or notification goes to the server that has a session open.
func passesElsewhere(method string) bool {
	return method == "session/prompt" || method == "session/cancel"
}

// marked gives the message of a prompt an ID, so that the client that has sent it does not receive it again when it is stored.
func marked(params jsonx.Raw) jsonx.Raw { return setMeta(params, messageKey, encode(rand.Text())) }

// own returns the prompt of a client of this server that an update shows, in a session that another server has open; nil for none.
func (s *session) own(kind string, update jsonx.Raw) *prompt {
	id := textMember(update, "messageId")
	if s.watched == nil || kind != "user_message_chunk" || id == "" {
		return nil
	}
	for _, p := range s.prompts {
		if textOf(meta(p.call.params, messageKey)) == id {
			return p
		}
	}
	return nil
}
