package conformance

import (
	"os"
	"path/filepath"
	"strings"
)

const noSession = "no-such-session"

// refusesSession returns a check that session/new refuses parameters.
func refusesSession(params object) func(*trial) {
	return onAgent(func(p *peer) {
		p.fails("session/new", params, codeParams)
		p.newSession()
	})
}

// toleratesServers returns a check that the agent answers session/new and keeps running if MCP servers cannot be used.
func toleratesServers(lists ...any) func(*trial) {
	return onAgent(func(p *peer) {
		for _, servers := range lists {
			p.respond("session/new", object{"cwd": p.work, "mcpServers": servers})
		}
		p.newSession()
	})
}

// badServer returns an MCP server whose program does not exist.
func badServer(name string) object {
	return object{"name": name, "command": "/no/such/program", "args": []any{}, "env": []any{}}
}

// withDirectories returns a check that opens a session with an additional directory.
func withDirectories(run func(p *peer, params object)) func(*trial) {
	return onAgent(func(p *peer) {
		p.needs("sessionCapabilities", "additionalDirectories")
		run(p, with(setup(p.work), "additionalDirectories", []any{p.dir}))
	})
}

var newChecks = []Check{
	{"session.new.id", TierMust, "session/new answers with a session id.", pageSession, inSession(func(*scene) {})},
	{"session.new.ids-unique", TierMust, "Every session has an id of its own.", pageSession, onAgent(func(p *peer) {
		seen := make(map[string]bool)
		for range 10 {
			id := p.newSession()
			if seen[id] {
				p.failf("two sessions have the id %q", id)
			}
			seen[id] = true
		}
	})},
	{"session.new.relative-cwd", TierMust, "A relative cwd is refused with -32602.", pageSession, refusesSession(setup("some/dir"))},
	{"session.new.dot-cwd", TierMust, "The cwd . is refused with -32602.", pageSession, refusesSession(setup("."))},
	{"session.new.empty-cwd", TierMust, "An empty cwd is refused with -32602.", pageSession, refusesSession(setup(""))},
	{"session.new.missing-cwd", TierMust, "session/new without a cwd is refused with -32602.", pageSession, refusesSession(object{"mcpServers": []any{}})},
	{"session.new.wrong-cwd", TierMust, "A cwd that is no string is refused with -32602.", pageSession, refusesSession(object{"cwd": 7, "mcpServers": []any{}})},
	{"session.new.wrong-servers", TierShould, "mcpServers that are no array do not end the agent.", pageSession, toleratesServers("none")},
	{"session.new.odd-cwd", TierMust, "A cwd may have spaces and characters of any script.", pageSession, onAgent(func(p *peer) {
		p.newSessionIn(p.mkdir(filepath.Join("a dir", "ünï 目录 'x'")))
	})},
	{"session.new.cwd-honoured", TierMust, "Relative paths are in the session's cwd, wherever the agent was started.", pageSession, inSession(func(s *scene) {
		s.file("here.txt", "the-right-file\n")
		u := s.ask(PurposeRead, "file", "here.txt")
		if c := u.tool(); !u.shows(c, "the-right-file") {
			s.failAt(c.last(), "the file in the session's cwd was not read")
		}
	})},
	{"session.new.first-word", TierMust, "Nothing is said for a session before session/new is answered.", pageSession, watch("session/new", func() look {
		known := make(map[string]bool)
		created := make(map[string]bool) // session/new requests without a response
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
	{"session.new.silent", TierMust, "A new session says nothing of a turn before there is a prompt.", pageSession, inSessionFor(full, func(s *scene) {
		s.awaitQuiet()
		s.saysNothing(s.messages(0), "a %s comes before any prompt")
	})},
	{"session.new.directories", TierCapability, "additionalDirectories are taken if advertised.", pageSession, withDirectories(func(p *peer, params object) {
		p.call("session/new", params)
	})},
	{"session.new.directories-relative", TierCapability, "A relative additional directory is refused with -32602.", pageSession, withDirectories(func(p *peer, params object) {
		p.fails("session/new", with(params, "additionalDirectories", []any{"relative"}), codeParams)
	})},
	{"session.new.broken-server", TierMust, "An MCP server that cannot be started does not end the agent.", pageSession, toleratesServers([]any{badServer("broken")})},
	{"session.new.odd-servers", TierMust, "MCP servers without a name, with the same name or of an unknown kind do not end the agent.", pageSession, toleratesServers(
		[]any{badServer("")}, []any{badServer("a"), badServer("a")}, []any{object{"name": "x", "type": "carrier-pigeon"}}, []any{object{}}, []any{7},
	)},
}

// mkdir creates a directory in the workspace and returns its path.
func (p *peer) mkdir(name string) string {
	path := filepath.Join(p.work, name)
	if err := os.MkdirAll(path, 0o777); err != nil {
		p.failf("making a directory: %v", err)
	}
	return path
}

// shows reports whether the tool call or the turn's text contains text.
func (u *turn) shows(c *toolCall, text string) bool {
	return strings.Contains(string(encode(c.state))+u.text(), text)
}
