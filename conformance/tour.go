package conformance

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A tour is one long conversation with an agent. Checks that only inspect an agent's messages share its transcript.
type tour struct {
	name         string
	capabilities object

	once   sync.Once
	p      *peer  // kept after the agent has ended, for its transcript
	cut    string // why the tour ended early; "" if it did not
	began  bool   // it has a session
	loaded call   // session/load; zero if there was none
}

// newTours returns the tours: one with a client that supports the whole stable protocol, and one with a client without
// capabilities.
func newTours() map[string]*tour {
	return map[string]*tour{"full": {name: "full", capabilities: full}, "bare": {name: "bare", capabilities: bare}}
}

// tour returns a tour. The first check that needs the tour runs it.
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

// missing returns the reason why a tour lacks something.
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
	s := &scene{p, p.newSession()}
	tr.began = true
	p.awaitQuiet()
	tr.work(s)
	tr.options(s)
	tr.cancel(s)
	tr.errors(s)
	tr.reopen(s)
	p.awaitQuiet()
	p.closeStdin()
	_, _ = p.await(p.now(), func(*message) bool { return false })
}

// has reports whether there is a prompt for a purpose.
func (t *trial) has(purpose Purpose) bool { return t.suite.opts.Prompts[purpose] != "" }

// work runs a turn for each purpose.
func (tr *tour) work(s *scene) {
	s.exampleFiles()
	for _, turn := range []struct {
		purpose Purpose
		values  []string
	}{
		{PurposeSay, []string{"text", "lighthouse"}},
		{PurposeThink, []string{"text", "lighthouse"}},
		{PurposeRead, []string{"file", "notes.txt"}},
		{PurposeWrite, []string{"file", "new.txt", "text", "written"}},
		{PurposeEdit, []string{"file", "edit.txt", "old", "alpha", "text", "omega"}},
		{PurposeCommand, []string{"file", "ran.txt", "text", "ran"}},
		{purpose: PurposePlan},
		{purpose: PurposeAsk},
		{purpose: PurposeLength},
		{purpose: PurposeRefusal},
		{purpose: PurposeFail},
		{PurposeRead, []string{"file", "missing.txt"}},
	} {
		if s.has(turn.purpose) {
			s.ask(turn.purpose, turn.values...).answer()
		}
	}
}

// options sets each mode and option to another value and back.
func (tr *tour) options(s *scene) {
	m := s.respond("session/new", setup(s.work))
	for _, mode := range []string{otherMode(m.result), str(m.result, "modes", "currentModeId")} {
		if mode != "" {
			s.respond("session/set_mode", setMode(s.session, mode))
		}
	}
	for _, o := range options(m.result) {
		for _, value := range []any{o.other(), o.current} {
			if value != nil {
				s.respond(setOption, o.set(s.session, value))
			}
		}
	}
	other := &scene{s.peer, str(m.result, "sessionId")}
	other.say(fill(s.suite.opts.Prompts[PurposeSay], "text", "harbour")).answer()
}

// cancel cancels a turn that streams text and one that runs a command.
func (tr *tour) cancel(s *scene) {
	s.holdCommands()
	for _, purpose := range []Purpose{PurposeLong, PurposeSlowCommand} {
		if !s.has(purpose) {
			continue
		}
		u := s.ask(purpose)
		s.wait(u.index, "a sign of the model's work", func(m *message) bool {
			kind, _ := m.update()
			return u.answeredBy(m) || kind == "agent_message_chunk" || kind == "tool_call_update"
		})
		u.abort()
	}
}

// errors sends requests that must fail.
func (tr *tour) errors(s *scene) {
	for _, c := range []struct {
		method string
		params any
	}{
		{"session/new", setup("relative/path")},
		{"session/prompt", with(ref(noSession), "prompt", []any{textBlock("x")})},
		{"session/prompt", ref(s.session)},
		{"no/such/method", object{}},
		{"authenticate", object{"methodId": "no-such-method"}},
		{"session/load", again(noSession, s.work)},
	} {
		s.respond(c.method, c.params)
	}
}

// reopen lists, closes, loads and resumes.
func (tr *tour) reopen(s *scene) {
	try := func(method string, params object, path ...string) {
		if s.advertises(path...) {
			s.respond(method, params)
		}
	}
	try("session/list", object{}, canList...)
	try("session/close", ref(s.session), canClose...)
	if s.advertises("loadSession") {
		tr.loaded = s.request("session/load", again(s.session, s.work))
		s.response(tr.loaded)
		s.awaitQuiet()
		try("session/close", ref(s.session), canClose...)
	}
	if s.advertises(canResume...) {
		s.respond("session/resume", again(s.session, s.work))
		s.awaitQuiet()
	}
	try("session/delete", ref(s.session), canDelete...)
	try("logout", object{}, "auth", "logout")
}

// A look inspects one message of a tour. It reports whether the requirement concerns the message, and what is wrong
// with it, if anything.
type look func(m *message) (concerned bool, complaint string)

// watch returns a check of a requirement on all messages of the tours. begin is called once for each tour, so that a
// look can keep state. Messages of both directions are passed.
func watch(what string, begin func() look) func(*trial) {
	return func(t *trial) {
		seen := false
		reason := ""
		for _, name := range []string{"full", "bare"} {
			tr := t.tour(name)
			see := begin()
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
	return watch(what, func() look {
		return func(m *message) (bool, string) {
			if m.sent {
				return false, ""
			}
			return see(m)
		}
	})
}

// A rule is a requirement on a part of a message. It returns a complaint, or "".
type rule func(v any) string

// watchUpdate is like watchOne, for the bodies of updates of one kind.
func watchUpdate(kind string, see rule) func(*trial) {
	return watchOne(kind, func(m *message) (bool, string) {
		k, body := m.update()
		if k != kind {
			return false, ""
		}
		return true, see(body)
	})
}

// watchCall is like watchOne, for the parameters of the agent's requests of one method.
func watchCall(method string, see rule) func(*trial) {
	return watchOne("call of "+method, func(m *message) (bool, string) {
		if m.method != method {
			return false, ""
		}
		return true, see(m.params)
	})
}

// never returns a check that the agent sends no message of a tour for which bad returns true.
func never(tour, complaint string, bad func(m *message) bool) func(*trial) {
	return func(t *trial) {
		tr := t.tour(tour)
		if !tr.began {
			t.notSeen("%s", tr.missing("session"))
		}
		if m := tr.p.find(0, bad); m != nil {
			t.failAt(m, "%s", complaint)
		}
	}
}

// when returns the complaint if bad is true, otherwise "".
func when(bad bool, complaint string) string {
	if bad {
		return complaint
	}
	return ""
}

func blank(v any, path ...any) bool { return strings.TrimSpace(str(v, path...)) == "" }

// eachOf returns a rule for each element of a list. Its complaints show the element.
func eachOf(name string, see rule) rule {
	return func(v any) string {
		for _, e := range list(v, name) {
			if complaint := see(e); complaint != "" {
				return complaint + ": " + excerpt(e)
			}
		}
		return ""
	}
}

// notBlank returns a rule that a member is a non-blank string.
func notBlank(member, complaint string) rule {
	return func(v any) string { return when(blank(v, member), complaint) }
}

// oneOf returns a rule that a member has one of the values.
func oneOf(member, complaint string, values ...string) rule {
	return func(v any) string { return when(!slices.Contains(values, str(v, member)), complaint) }
}

// absolutePath is the rule that the member path is an absolute path.
func absolutePath(v any) string {
	return when(!filepath.IsAbs(str(v, "path")), "the path is not absolute")
}

// different returns a rule that a member of a list's elements is a unique, non-empty string.
func different(name, member, complaint string) rule {
	return func(v any) string {
		var seen []string
		for _, e := range list(v, name) {
			s := str(e, member)
			if s == "" || slices.Contains(seen, s) {
				return complaint + ": " + excerpt(at(v, name))
			}
			seen = append(seen, s)
		}
		return ""
	}
}

// lineFrom1 is the rule that the member line, if present, is at least 1.
func lineFrom1(v any) string {
	line, ok := at(v, "line").(float64)
	return when(ok && line < 1, "the line is "+excerpt(line))
}

// watchSession returns a check that the agent's requests whose methods have a prefix name a session.
func watchSession(prefix, what string) func(*trial) {
	return watchOne(what, func(m *message) (bool, string) {
		concerned := strings.HasPrefix(m.method, prefix)
		return concerned, when(concerned && m.session() == "", "the request names no session")
	})
}
