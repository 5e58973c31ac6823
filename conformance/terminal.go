package conformance

import (
	"path/filepath"
	"strings"
)

// wantsReleased checks that the agent releases every terminal.
func (p *peer) wantsReleased() {
	issued := make(map[string]*message)
	creations := make(map[string]bool)
	for _, m := range p.messages(0) {
		switch {
		case !m.sent && m.method == "terminal/create":
			creations[m.id] = true
		case m.sent && m.isResponse() && creations[m.id] && m.hasResult:
			issued[str(m.result, "terminalId")] = m
		case !m.sent && m.method == "terminal/release":
			delete(issued, str(m.params, "terminalId"))
		}
	}
	for id, m := range issued {
		p.t.failAt(m, "the terminal %s is not released", id)
	}
}

// commanded runs a turn that runs a command in a client terminal, prepared by prepare.
func commanded(prepare func(p *peer), then func(t *trial, u *turn)) func(*trial) {
	return func(t *trial) {
		p, id := t.session(withTerminals)
		prepare(p)
		u := p.purpose(id, PurposeCommand, "file", "ran.txt", "text", "ran")
		u.seesCall("terminal/create")
		u.stop()
		p.settle()
		then(t, u)
	}
}

// refusesCall makes a peer answer a method with an error.
func refusesCall(method string) func(*peer) {
	return func(p *peer) {
		p.on(method, func(m *message) { p.replyError(m, -32603, "the editor has a problem") })
	}
}

func released(_ *trial, u *turn) { u.p.wantsReleased() }

var terminalChecks = []Check{
	{"terminal.used", TierShould, "Commands run in the client's terminals, so that the user sees them.", pageTerminals, func(t *trial) {
		p, id := t.session(withTerminals)
		u := p.purpose(id, PurposeCommand, "file", "ran.txt", "text", "ran")
		u.stop()
		c := u.tool()
		if p.find(u.index, func(m *message) bool { return m.method == "terminal/create" }) == nil {
			t.failAt(c.first, "the client has terminals and was not asked for one")
		}
	}},
	{"terminal.create.command", TierMust, "terminal/create has a command.", pageTerminals, watchCall("terminal/create", func(params any) string {
		return map[bool]string{true: "the command is empty"}[strings.TrimSpace(str(params, "command")) == ""]
	})},
	{"terminal.create.cwd", TierMust, "The cwd of terminal/create, if any, is absolute.", pageTerminals, watchCall("terminal/create", func(params any) string {
		cwd := at(params, "cwd")
		return map[bool]string{true: "the cwd is " + excerpt(cwd)}[cwd != nil && !filepath.IsAbs(str(params, "cwd"))]
	})},
	{"terminal.create.session-cwd", TierShould, "A command runs in the session's cwd.", pageTerminals, func(t *trial) {
		p, id := t.session(withTerminals)
		u := p.purpose(id, PurposeCommand, "file", "ran.txt", "text", "ran")
		m := u.seesCall("terminal/create")
		u.stop()
		if str(m.params, "cwd") != p.work {
			t.failAt(m, "the session's cwd is %s", p.work)
		}
	}},
	{"terminal.create.limit", TierShould, "terminal/create has an output limit, above zero.", pageTerminals, watchCall("terminal/create", func(params any) string {
		limit, ok := at(params, "outputByteLimit").(float64)
		return map[bool]string{false: "the limit is " + excerpt(at(params, "outputByteLimit"))}[ok && limit > 0]
	})},
	{"terminal.create.session", TierMust, "Terminal requests name a session.", pageTerminals, watchOne("terminal request", func(m *message) (bool, string) {
		if !strings.HasPrefix(m.method, "terminal/") {
			return false, ""
		}
		return true, map[bool]string{true: "the request names no session"}[m.session() == ""]
	})},
	{"terminal.create.error", TierMust, "A terminal that cannot be created makes a failed tool call, and the turn goes on.", pageTerminals, commanded(refusesCall("terminal/create"), func(t *trial, u *turn) {
		if c := u.tool(); c.status() != "failed" && !u.p.exists("ran.txt") {
			t.failAt(c.events[len(c.events)-1], "the terminal was not created, nothing was run, and %v is %s", c, c.status())
		}
	})},
	{"terminal.create.malformed", TierMust, "A malformed answer to terminal/create does not end the turn with an error.", pageTerminals, commanded(func(p *peer) {
		p.on("terminal/create", func(m *message) { p.reply(m, object{"terminalId": 7}) })
	}, func(*trial, *turn) {})},
	{"terminal.own", TierMust, "Terminal requests name terminals that the client gave out.", pageTerminals, watch("request about a terminal", func(*tour) look {
		creations := make(map[string]bool)
		issued := make(map[string]bool)
		return func(m *message) (bool, string) {
			switch {
			case !m.sent && m.method == "terminal/create":
				creations[m.id] = true
			case m.sent && m.isResponse() && creations[m.id]:
				issued[str(m.result, "terminalId")] = true
			case !m.sent && strings.HasPrefix(m.method, "terminal/"):
				return true, map[bool]string{false: "there is no such terminal"}[issued[str(m.params, "terminalId")]]
			}
			return false, ""
		}
	})},
	{"terminal.dead", TierMust, "A released terminal is not used again.", pageTerminals, watch("terminal/release", func(*tour) look {
		dead := make(map[string]bool)
		return func(m *message) (bool, string) {
			if m.sent || !strings.HasPrefix(m.method, "terminal/") {
				return false, ""
			}
			id := str(m.params, "terminalId")
			if dead[id] && id != "" {
				return true, "the terminal " + id + " was released before"
			}
			dead[id] = dead[id] || m.method == "terminal/release"
			return dead[id], ""
		}
	})},
	{"terminal.embedded", TierShould, "The tool call shows the terminal, before it is released.", pageTerminals, func(t *trial) {
		p, id := t.session(withTerminals)
		u := p.purpose(id, PurposeCommand, "file", "ran.txt", "text", "ran")
		u.seesCall("terminal/create")
		u.stop()
		for _, m := range u.all() {
			_, body := m.update()
			for _, c := range list(body, "content") {
				if str(c, "type") == "terminal" {
					return
				}
			}
			if m.method == "terminal/release" {
				t.failAt(m, "the terminal is released before any tool call has shown it")
			}
		}
		t.failf("no tool call shows the terminal")
	}},
	{"terminal.released", TierMust, "A terminal is released when its command has ended.", pageTerminals, commanded(func(*peer) {}, released)},
	{"terminal.released.wait-error", TierMust, "A terminal is released when waiting for it fails.", pageTerminals, commanded(refusesCall("terminal/wait_for_exit"), released)},
	{"terminal.released.output-error", TierMust, "A terminal is released when its output cannot be had.", pageTerminals, commanded(refusesCall("terminal/output"), released)},
	{"terminal.released.failure", TierMust, "A terminal is released when its command fails.", pageTerminals, commanded(func(p *peer) {
		p.on("terminal/wait_for_exit", func(m *message) { p.reply(m, object{"exitCode": 3}) })
	}, released)},
	{"terminal.released.cancel", TierMust, "A terminal is released when its turn is cancelled.", pageTerminals, func(t *trial) {
		u := t.slowCommand()
		u.cancels()
		u.p.settle()
		u.p.wantsReleased()
	}},
	{"terminal.exit-code", TierShould, "A command that fails makes a failed tool call.", pageTerminals, func(t *trial) {
		p, id := t.session(withTerminals)
		failed := object{"exitCode": 3, "signal": nil}
		p.on("terminal/wait_for_exit", func(m *message) { p.reply(m, failed) })
		p.on("terminal/output", func(m *message) {
			p.reply(m, object{"output": "no\n", "truncated": false, "exitStatus": failed})
		})
		u := p.purpose(id, PurposeCommand, "file", "ran.txt", "text", "ran")
		u.seesCall("terminal/create")
		u.stop()
		if c := u.tool(); c.status() != "failed" {
			t.failAt(c.events[len(c.events)-1], "the command ended with code 3 and %v is %s", c, c.status())
		}
	}},
}
