package conformance

import (
	"fmt"
	"sync"
)

// A tour is one long conversation with an agent. Checks that only inspect an agent's messages share its transcript.
type tour struct {
	name         string
	capabilities object

	once     sync.Once
	p        *peer  // its transcript remains after the agent's end
	cut      string // why the tour ended early; "" if it did not
	sessions []string
	turns    map[Purpose]*turn
	created  call // the first session/new
	loaded   call // session/load; zero if there was none
}

// newTours returns the tours: with a client that has all of the stable protocol, and with one without capabilities.
func newTours() map[string]*tour {
	return map[string]*tour{
		"full": {name: "full", capabilities: full, turns: make(map[Purpose]*turn)},
		"bare": {name: "bare", capabilities: bare, turns: make(map[Purpose]*turn)},
	}
}

// tour returns the transcript of a tour, which the first check that needs it creates.
func (t *trial) tour(name string) *tour {
	tr := t.suite.tours[name]
	tr.once.Do(func() {
		// The tour outlives the check that creates it, but not the run.
		guide, err := t.suite.try(t.suite.ctx, 4*t.suite.opts.Timeout, "tour-"+name, tr.run)
		switch {
		case err != nil:
			tr.cut = err.Error()
		case guide.result.Status != StatusPassed:
			tr.cut = guide.result.Detail
		}
	})
	if tr.p == nil {
		t.failf("the conversation did not begin: %s", tr.cut)
	}
	t.shown = append(t.shown, tr.p)
	return tr
}

// toured is like tour, for checks that something does not occur, which need a session.
func (t *trial) toured(name string) *tour {
	tr := t.tour(name)
	if len(tr.sessions) == 0 {
		t.notSeen("%s", tr.missing("session"))
	}
	return tr
}

// missing is the reason why a tour may lack something.
func (tr *tour) missing(what string) string {
	if tr.cut != "" {
		return fmt.Sprintf("there was no %s; the conversation broke off: %s", what, tr.cut)
	}
	return "there was no " + what
}

func (tr *tour) run(t *trial) {
	p := t.start()
	tr.p = p
	p.initialize(tr.capabilities)
	p.lives()
	tr.created = call{index: p.now()}
	id := p.newSession()
	tr.sessions = append(tr.sessions, id)
	p.settle()
	tr.work(t, id)
	tr.options(p, id)
	tr.cancel(t, id)
	tr.errors(p, id)
	tr.reopen(p, id)
	p.settle()
	p.closeStdin()
	_, _ = p.await(p.now(), func(*message) bool { return false })
}

// work runs a turn for each purpose.
func (tr *tour) work(t *trial, id string) {
	p := tr.p
	p.file("notes.txt", "The first line.\nThe second line.\n")
	p.file("edit.txt", "before\nalpha\nafter\n")
	have := func(purpose Purpose, values ...string) {
		if t.suite.opts.Prompts[purpose] != "" {
			u := p.purpose(id, purpose, values...)
			tr.turns[purpose] = u
			u.answer()
		}
	}
	have(PurposeSay, "text", "lighthouse")
	have(PurposeThink, "text", "lighthouse")
	have(PurposeRead, "file", "notes.txt")
	have(PurposeWrite, "file", "new.txt", "text", "written")
	have(PurposeEdit, "file", "edit.txt", "old", "alpha", "text", "omega")
	have(PurposeCommand, "file", "ran.txt", "text", "ran")
	have(PurposePlan)
	have(PurposeAsk)
	have(PurposeLength)
	have(PurposeRefusal)
	have(PurposeFail)
	if prompt := t.suite.opts.Prompts[PurposeRead]; prompt != "" {
		p.say(id, fill(prompt, "file", "missing.txt")).answer()
	}
}

// options sets each mode and option to another value and back.
func (tr *tour) options(p *peer, id string) {
	m := p.response(p.request("session/new", setup(p.work)))
	current := str(m.result, "modes", "currentModeId")
	for _, mode := range []string{otherMode(m.result), current} {
		if mode != "" {
			p.response(p.request("session/set_mode", object{"sessionId": id, "modeId": mode}))
		}
	}
	for _, o := range options(m.result) {
		for _, value := range []any{o.other(), o.current} {
			if value != nil {
				p.response(p.request("session/set_config_option", o.set(id, value)))
			}
		}
	}
	tr.sessions = append(tr.sessions, str(m.result, "sessionId"))
	p.say(str(m.result, "sessionId"), fill(p.t.suite.opts.Prompts[PurposeSay], "text", "harbour")).answer()
}

// cancel cancels a turn that streams text and one that runs a command.
func (tr *tour) cancel(t *trial, id string) {
	p := tr.p
	p.holdCommands()
	for _, purpose := range []Purpose{PurposeLong, PurposeSlowCommand} {
		if t.suite.opts.Prompts[purpose] == "" {
			continue
		}
		u := p.purpose(id, purpose)
		tr.turns[purpose] = u
		p.wait(u.index, "a sign of the model's work", func(m *message) bool {
			kind, _ := m.update()
			return u.answeredBy(m) || kind == "agent_message_chunk" || kind == "tool_call_update"
		})
		u.cancel()
		u.answer()
	}
}

// errors sends requests that must fail.
func (tr *tour) errors(p *peer, id string) {
	for _, c := range []struct {
		method string
		params any
	}{
		{"session/new", setup("relative/path")},
		{"session/prompt", object{"sessionId": "no-such-session", "prompt": []any{object{"type": "text", "text": "x"}}}},
		{"session/prompt", object{"sessionId": id}},
		{"no/such/method", object{}},
		{"authenticate", object{"methodId": "no-such-method"}},
		{"session/load", again("no-such-session", p.work)},
	} {
		p.response(p.request(c.method, c.params))
	}
}

// reopen lists, closes, loads and resumes.
func (tr *tour) reopen(p *peer, id string) {
	if p.advertises("sessionCapabilities", "list") {
		p.response(p.request("session/list", object{}))
	}
	closeSession := func() {
		if p.advertises("sessionCapabilities", "close") {
			p.response(p.request("session/close", object{"sessionId": id}))
		}
	}
	closeSession()
	if p.advertises("loadSession") {
		tr.loaded = p.request("session/load", again(id, p.work))
		p.response(tr.loaded)
		p.settle()
		closeSession()
	}
	if p.advertises("sessionCapabilities", "resume") {
		p.response(p.request("session/resume", again(id, p.work)))
		p.settle()
	}
	if p.advertises("sessionCapabilities", "delete") {
		p.response(p.request("session/delete", object{"sessionId": id}))
	}
	if p.advertises("auth", "logout") {
		p.response(p.request("logout", object{}))
	}
}

// A look inspects one message of a tour. It reports whether the requirement concerns the message, and what is wrong
// with it, if anything.
type look func(m *message) (concerned bool, complaint string)

// watch returns a check of a requirement on all messages of the agent. begin is called once for each tour, so that a
// look can keep state. Messages of both directions are passed.
func watch(what string, begin func(tr *tour) look) func(*trial) {
	return func(t *trial) {
		seen := false
		reason := ""
		for _, name := range []string{"full", "bare"} {
			tr := t.tour(name)
			see := begin(tr)
			for _, m := range tr.p.messages(0) {
				concerned, complaint := see(m)
				seen = seen || concerned
				if complaint != "" {
					t.failAt(m, "%s", complaint)
				}
			}
			reason = tr.missing(what)
		}
		if !seen {
			t.notSeen("%s", reason)
		}
	}
}

// watchOne is like watch, for a requirement on single messages of the agent.
func watchOne(what string, see look) func(*trial) {
	return watch(what, func(*tour) look {
		return func(m *message) (bool, string) {
			if m.sent {
				return false, ""
			}
			return see(m)
		}
	})
}

// watchUpdate is like watchOne, for the bodies of updates of one kind.
func watchUpdate(kind string, see func(body any) string) func(*trial) {
	return watchOne(kind, func(m *message) (bool, string) {
		k, body := m.update()
		if k != kind {
			return false, ""
		}
		return true, see(body)
	})
}

// watchCall is like watchOne, for the parameters of the agent's requests of one method.
func watchCall(method string, see func(params any) string) func(*trial) {
	return watchOne("call of "+method, func(m *message) (bool, string) {
		if m.method != method {
			return false, ""
		}
		return true, see(m.params)
	})
}
