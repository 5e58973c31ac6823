package reconnect

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// attachKey is the member of _meta with which an editor declares that it follows sessions by itself, as docs/attach.md describes.
const attachKey = "gjc/attach"

// book records the sessions that the editor has open, so that they can be opened again over the next connection. The mutex of ids guards it.
type book struct {
	// declared reports whether the editor's initialize declares attachKey, and resumes whether the agent can resume sessions.
	declared, resumes bool
	changes           []change // the requests without an answer that open or close sessions
	open              []*opened
}

// change is a request that opens or closes a session.
type change struct {
	request string // its ID
	closes  bool
	session string // empty for a new one
	params  jsonx.Raw
}

// opened is a session that is open.
type opened struct {
	id       string
	params   jsonx.Raw // of the request that has opened it
	declared bool
}

// initialized records the agent's answer to initialize.
func (b *book) initialized(result jsonx.Raw) {
	b.resumes = lookup(result, "agentCapabilities", "sessionCapabilities", "resume").Kind() == '{'
}

// asked records a request of the editor's.
func (b *book) asked(request, method string, params jsonx.Raw) {
	c := change{request: request}
	switch method {
	case "session/new", "session/fork":
	case "session/load", "session/resume":
		c.session = text(params, "sessionId")
	case "session/close", "session/delete":
		c.session, c.closes = text(params, "sessionId"), true
	default:
		return
	}
	c.params = bytes.Clone(params)
	b.changes = append(b.changes, c)
}

// answered records the answer to a request of the editor's.
func (b *book) answered(request string, m *message) {
	i := slices.IndexFunc(b.changes, func(c change) bool { return c.request == request })
	if i < 0 {
		return
	}
	c := b.changes[i]
	b.changes = slices.Delete(b.changes, i, i+1)
	if len(m.Error) > 0 {
		return
	}
	if c.session == "" {
		c.session = text(m.Result, "sessionId")
	}
	b.remove(c.session)
	if !c.closes && c.session != "" {
		b.open = append(b.open, &opened{c.session, c.params, declares(lookup(c.params, "_meta"), b.declared)})
	}
}

// declares reports whether a _meta declares attachKey; otherwise if it says nothing about it.
func declares(meta jsonx.Raw, otherwise bool) bool {
	switch jsonx.Lookup(meta, attachKey).Kind() {
	case '{', 't':
		return true
	case 'f':
		return false
	default:
		return otherwise
	}
}

func (b *book) remove(session string) {
	b.open = slices.DeleteFunc(b.open, func(o *opened) bool { return o.id == session })
}

// updated records the parameters of a session/update: the agent may have given a session up. One that shuts down does not count, since the
// session is to be opened at the next one.
func (b *book) updated(params jsonx.Raw) {
	if !bytes.Contains(params, []byte(`"detached"`)) {
		return
	}
	part := lookup(params, "update", "_meta", attachKey)
	if text(part, "state") != "detached" {
		return
	}
	id := text(params, "sessionId")
	i := slices.IndexFunc(b.open, func(o *opened) bool { return o.id == id })
	if i >= 0 && (text(part, "kind") != "shutdown" || b.open[i].declared || !b.resumes) {
		b.open = slices.Delete(b.open, i, i+1)
	}
}

// lose ends the connection. It returns the updates for an editor that has declared that it opens its sessions again when it learns that it
// does not have them.
func (b *book) lose(reason string) (updates [][]byte) {
	b.changes = nil
	for _, o := range b.open {
		if !o.declared {
			continue
		}
		line := append([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`), jsonx.AppendString(nil, o.id)...)
		line = append(line, `,"update":{"sessionUpdate":"session_info_update","_meta":{"`+attachKey+`":{"state":"detached","reason":`...)
		updates = append(updates, append(jsonx.AppendString(line, reason), "}}}}}\n"...))
	}
	b.open = slices.DeleteFunc(b.open, func(o *opened) bool { return o.declared || !b.resumes })
	return updates
}

// reopen returns the requests that open the sessions again, with their IDs. A session that another process has for the time of its lease is
// watched until then, so the requests declare attachKey.
func (b *book) reopen(connection int) (requests map[string]*opened, lines [][]byte) {
	requests = make(map[string]*opened)
	for i, o := range b.open {
		id := string(jsonx.AppendString(nil, fmt.Sprintf("gjc-connect-%d-resume-%d", connection, i)))
		requests[id] = o
		line := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
		line = append(line, `,"method":"session/resume","params":{"sessionId":`...)
		line = jsonx.AppendString(line, o.id)
		meta := []byte(`{"` + attachKey + `":{"role":"controller"}`)
		for name, value := range jsonx.Members(o.params) {
			switch name {
			case "sessionId", "systemPrompt":
			case "_meta":
				for name, value := range jsonx.Members(value) {
					if name != attachKey {
						meta = append(append(jsonx.AppendString(append(meta, ','), name), ':'), value...)
					}
				}
			default:
				line = append(append(jsonx.AppendString(append(line, ','), name), ':'), value...)
			}
		}
		line = append(append(line, `,"_meta":`...), meta...)
		lines = append(lines, append(line, "}}}\n"...))
	}
	return requests, lines
}

// lookup returns a member of a member; nil for none.
func lookup(raw jsonx.Raw, names ...string) jsonx.Raw {
	for _, name := range names {
		raw = jsonx.Lookup(raw, name)
	}
	return raw
}

// text returns a member that is a string; empty for none.
func text(raw jsonx.Raw, name string) string {
	s, _ := jsonx.Text(jsonx.Lookup(raw, name))
	return s
}
