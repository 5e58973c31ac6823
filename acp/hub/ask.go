package hub

import (
	"bytes"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// ask is a request of an engine's that clients have to answer. The hub's mutex guards it.
type ask struct {
	engine  *engine
	session *session // nil for a request that concerns no open session
	m       message
	kind    askKind
	// to has the clients that have the request and have not answered it, with the IDs that they know.
	to map[*link]jsonx.Raw
	// cancelled reports whether the engine does not need the answer any more.
	cancelled bool
}

type askKind uint8

const (
	// askOwner is a request that only the client can answer that the engine was started for.
	askOwner askKind = iota
	// askFiles is a request for the files and terminals of the primary client.
	askFiles
	// askUser is a question to the user, which any client can answer. It waits until one does.
	askUser
)

func kindOf(method string) askKind {
	switch {
	case method == "session/request_permission", method == "elicitation/create":
		return askUser
	case strings.HasPrefix(method, "fs/"), strings.HasPrefix(method, "terminal/"):
		return askFiles
	default:
		return askOwner
	}
}

// ask passes a request of the engine's to the clients that can answer it.
func (e *engine) ask(m *message) {
	a := &ask{engine: e, session: e.sessionOf(m.session), m: *m, kind: kindOf(m.method), to: make(map[*link]jsonx.Raw)}
	e.asks[callKey(m.id)] = a
	if a.session != nil {
		a.session.turnBegins()
	}
	switch {
	case a.session == nil || a.kind == askOwner:
		if e.owner != nil {
			a.send(e.owner)
			return
		}
		a.fail("the client that can answer has gone; it can load the session again")
	case a.kind == askFiles:
		if p := a.session.primary; p != nil {
			a.send(p.link)
			return
		}
		a.fail("the client with the files of this session has gone; load the session in " + a.session.cwd + " with a client that has them, then try again")
	default:
		for _, mem := range a.session.members {
			a.put(mem)
		}
	}
}

// put sends a question to a member that can answer it.
func (a *ask) put(mem *member) {
	l := mem.link
	if _, has := a.to[l]; has || a.cancelled || !mem.live || mem.observer || !l.client.may(scopeControl) {
		return
	}
	if a.m.method == "elicitation/create" {
		switch textMember(a.m.params, "mode") {
		case "url":
			if !l.features.url {
				return
			}
		default:
			if !l.features.form {
				return
			}
		}
	}
	a.send(l)
}

// send sends the request to a client. The engine's own client receives it unchanged.
func (a *ask) send(l *link) {
	id, line := a.m.id, a.m.line
	if l != a.engine.owner {
		id = a.engine.newID()
		line = request(id, a.m.method, a.m.params)
	}
	a.to[l] = id
	l.asks[askKey(id)] = a
	l.out.put(line)
}

// answered passes on a client's answer. An error of one client leaves the question to the others.
func (a *ask) answered(l *link, m *message) {
	delete(l.asks, askKey(a.to[l]))
	own := bytes.Equal(a.to[l], a.m.id)
	delete(a.to, l)
	if m.err != nil && len(a.to) > 0 {
		return
	}
	a.withdraw(nil)
	if own {
		a.engine.out.put(m.line)
		return
	}
	a.engine.out.put(answer(a.m.id, m.result, m.err))
}

// withdraw takes the request back from the clients that have not answered it. params are those of a cancellation; nil for one of the hub's.
func (a *ask) withdraw(params jsonx.Raw) {
	delete(a.engine.asks, callKey(a.m.id))
	for l, id := range a.to {
		delete(a.to, l)
		delete(l.asks, askKey(id))
		a.notifyCancelled(l, id, params)
	}
}

// cancel passes on that the engine does not need the answer any more. The clients may still answer, which is how they confirm it.
func (a *ask) cancel(params jsonx.Raw) {
	a.cancelled = true
	if len(a.to) == 0 { // there is no client to confirm it
		a.fail("cancelled")
		return
	}
	for l, id := range a.to {
		a.notifyCancelled(l, id, params)
	}
}

func (a *ask) notifyCancelled(l *link, id, params jsonx.Raw) {
	if params.Kind() != '{' {
		params = jsonx.Raw("{}")
	}
	l.out.put(request(nil, "$/cancel_request", setMember(params, "requestId", id)))
}

// lose removes a client that is gone. A question waits for the next one; other requests fail.
func (a *ask) lose(l *link) {
	id, has := a.to[l]
	if !has {
		return
	}
	delete(a.to, l)
	delete(l.asks, askKey(id))
	if len(a.to) == 0 && (a.kind != askUser || a.session == nil || a.cancelled) {
		a.fail("the client that was asked has gone")
	}
}

// fail answers the request with an error.
func (a *ask) fail(text string) {
	a.withdraw(nil)
	a.engine.out.put(answer(a.m.id, nil, failure(jsonrpc.CodeInternalError, "client_gone", text)))
}
