package conformance

import (
	"os"
	"path/filepath"
	"strings"
)

// refusesSession returns a check that session/new refuses parameters.
func refusesSession(params func(p *peer) object, codes ...int) func(*trial) {
	return func(t *trial) {
		p := t.agent(bare)
		p.fails("session/new", params(p), codes...)
		p.newSession()
	}
}

var newChecks = []Check{
	{"session.new.id", TierMust, "session/new answers with a session id.", pageSession, func(t *trial) { t.session(bare) }},
	{"session.new.ids-unique", TierMust, "Every session has an id of its own.", pageSession, func(t *trial) {
		p := t.agent(bare)
		seen := make(map[string]bool)
		for range 10 {
			id := p.newSession()
			if seen[id] {
				t.failf("two sessions have the id %q", id)
			}
			seen[id] = true
		}
	}},
	{"session.new.relative-cwd", TierMust, "A relative cwd is refused with -32602.", pageSession, refusesSession(func(*peer) object { return setup("some/dir") }, codeParams)},
	{"session.new.dot-cwd", TierMust, "The cwd . is refused with -32602.", pageSession, refusesSession(func(*peer) object { return setup(".") }, codeParams)},
	{"session.new.empty-cwd", TierMust, "An empty cwd is refused with -32602.", pageSession, refusesSession(func(*peer) object { return setup("") }, codeParams)},
	{"session.new.missing-cwd", TierMust, "session/new without a cwd is refused with -32602.", pageSession, refusesSession(func(*peer) object { return object{"mcpServers": []any{}} }, codeParams)},
	{"session.new.wrong-cwd", TierMust, "A cwd that is no string is refused with -32602.", pageSession, refusesSession(func(*peer) object { return object{"cwd": 7, "mcpServers": []any{}} }, codeParams)},
	{"session.new.wrong-servers", TierShould, "mcpServers that are no array do not end the agent.", pageSession, func(t *trial) {
		p := t.agent(bare)
		p.response(p.request("session/new", object{"cwd": p.work, "mcpServers": "none"}))
		p.newSession()
	}},
	{"session.new.odd-cwd", TierMust, "A cwd may have spaces and characters of any script.", pageSession, func(t *trial) {
		p := t.agent(bare)
		dir := filepath.Join(p.work, "a dir", "ünï 目录 'x'")
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.failf("making a directory: %v", err)
		}
		p.newSessionIn(dir)
	}},
	{"session.new.cwd-honoured", TierMust, "Relative paths are in the session's cwd, wherever the agent was started.", pageSession, func(t *trial) {
		p, id := t.session(bare)
		p.file("here.txt", "the-right-file\n")
		u := p.purpose(id, PurposeRead, "file", "here.txt")
		u.stop()
		c := u.tool()
		if shown := string(encode(c.state)); !strings.Contains(shown, "the-right-file") && !strings.Contains(u.text(), "the-right-file") {
			t.failAt(c.events[len(c.events)-1], "the file in the session's cwd was not read")
		}
	}},
	{"session.new.first-word", TierMust, "Nothing is said for a session before session/new is answered.", pageSession, watch("session/new", func(*tour) look {
		known := make(map[string]bool)
		created := make(map[string]bool) // the open session/new requests
		return func(m *message) (bool, string) {
			switch {
			case m.sent && m.method == "session/new":
				created[m.id] = true
			case m.sent && m.session() != "":
				known[m.session()] = true // the client uses the ID, so it knows it
			case !m.sent && m.isResponse() && created[m.id]:
				known[str(m.result, "sessionId")] = true
				return true, ""
			case !m.sent && m.method != "" && m.session() != "" && !known[m.session()]:
				return true, "the agent speaks of the session " + m.session() + ", which the client does not know"
			}
			return false, ""
		}
	})},
	{"session.new.silent", TierMust, "A new session says nothing of a turn before there is a prompt.", pageSession, func(t *trial) {
		p, id := t.session(full)
		p.settle()
		for _, m := range p.messages(0) {
			if kind, _ := m.update(); turnKind(kind) && m.session() == id {
				t.failAt(m, "a %s comes before any prompt", kind)
			}
		}
	}},
	{"session.new.directories", TierCapability, "additionalDirectories are taken if advertised.", pageSession, func(t *trial) {
		p := t.agent(bare)
		p.needs("sessionCapabilities", "additionalDirectories")
		params := setup(p.work)
		params["additionalDirectories"] = []any{t.dir}
		p.call("session/new", params)
	}},
	{"session.new.directories-relative", TierCapability, "A relative additional directory is refused with -32602.", pageSession, func(t *trial) {
		p := t.agent(bare)
		p.needs("sessionCapabilities", "additionalDirectories")
		params := setup(p.work)
		params["additionalDirectories"] = []any{"relative"}
		p.fails("session/new", params, codeParams)
	}},
	{"session.new.broken-server", TierMust, "An MCP server that cannot be started does not end the agent.", pageSession, func(t *trial) {
		p := t.agent(bare)
		params := setup(p.work)
		params["mcpServers"] = []any{object{"name": "broken", "command": filepath.Join(t.dir, "no-such-program"), "args": []any{}, "env": []any{}}}
		p.response(p.request("session/new", params))
		p.newSession()
	}},
	{"session.new.odd-servers", TierMust, "MCP servers without a name, with the same name or of an unknown kind do not end the agent.", pageSession, func(t *trial) {
		p := t.agent(bare)
		none := filepath.Join(t.dir, "no-such-program")
		stdio := func(name string) object {
			return object{"name": name, "command": none, "args": []any{}, "env": []any{}}
		}
		for _, servers := range [][]any{{stdio("")}, {stdio("a"), stdio("a")}, {object{"name": "x", "type": "carrier-pigeon"}}, {object{}}, {7}} {
			params := setup(p.work)
			params["mcpServers"] = servers
			p.response(p.request("session/new", params))
		}
		p.newSession()
	}},
}

// turnKind reports whether an update belongs to a turn or a replay.
func turnKind(kind string) bool {
	switch kind {
	case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan":
		return true
	}
	return false
}
