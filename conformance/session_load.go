package conformance

import (
	"cmp"
	"slices"
	"strings"
)

// story is a stored conversation: two turns, the second with a tool call if the model makes one.
type story struct {
	p           *peer
	id          string
	first, tool *turn
}

func (p *peer) tell(id string) *story {
	s := &story{p: p, id: id}
	s.first = p.purpose(id, PurposeSay, "text", "lantern")
	s.first.stop()
	p.file("story.txt", "once upon a time\n")
	s.tool = p.purpose(id, PurposeRead, "file", "story.txt")
	s.tool.stop()
	return s
}

// reopen opens the session again with a method, in a new process, and returns the call and its agent.
func (s *story) reopen(method string) (*peer, call, *message) {
	s.p.closeStdin()
	s.p.exits()
	p := s.p.t.agent(full)
	c := p.request(method, again(s.id, s.p.work))
	m := p.response(c)
	if m.err != nil {
		p.t.failAt(m, "%s has to succeed and got %v", method, m.err)
	}
	return p, c, m
}

// loaded loads the stored conversation and returns the messages before the response.
func (t *trial) loaded() (*story, *peer, []*message) {
	s := t.storyFor("loadSession")
	p, c, m := s.reopen("session/load")
	return s, p, p.messages(c.index)[:m.index-c.index]
}

// storyFor creates the conversation with an agent that has a capability.
func (t *trial) storyFor(path ...string) *story {
	p := t.agent(full)
	p.needs(path...)
	return p.tell(p.newSession())
}

var loadChecks = []Check{
	{"session.load.as-advertised", TierMust, "session/load is there if loadSession is advertised, and else refused with -32601.", pageSession, asAdvertised("session/load", func(p *peer) object { return again("no-such-session", p.work) }, "loadSession")},
	{"session.load.other-process", TierCapability, "A session can be loaded by another process.", pageSession, func(t *trial) { t.loaded() }},
	{"session.load.user", TierCapability, "session/load replays what the user said.", pageSession, func(t *trial) {
		s, _, replay := t.loaded()
		said := textOf(updates(replay, "user_message_chunk"))
		if prompt := t.prompt(PurposeSay, "text", "lantern"); !strings.Contains(said, strings.TrimSpace(prompt)) {
			t.failf("the replay of %s has not what the user said first: %q", s.id, said)
		}
	}},
	{"session.load.agent", TierCapability, "session/load replays what the agent said.", pageSession, func(t *trial) {
		s, _, replay := t.loaded()
		told := textOf(updates(replay, "agent_message_chunk"))
		if live := strings.TrimSpace(s.first.text()); live == "" {
			t.notSeen("the agent said nothing in the first turn")
		} else if !strings.Contains(told, live) {
			t.failf("the agent said %q, and the replay has %q", live, told)
		}
	}},
	{"session.load.order", TierCapability, "The replay keeps the order of the conversation.", pageSession, func(t *trial) {
		s, _, replay := t.loaded()
		var order []string
		for _, m := range replay {
			kind, body := m.update()
			text := str(body, "content", "text")
			switch {
			case kind == "user_message_chunk" && strings.Contains(text, "lantern"):
				order = append(order, "first prompt")
			case kind == "user_message_chunk" && strings.Contains(text, "story.txt"):
				order = append(order, "second prompt")
			case kind == "agent_message_chunk" && !slices.Contains(order, "answer"):
				order = append(order, "answer")
			}
		}
		if strings.TrimSpace(s.first.text()) == "" {
			t.notSeen("the agent said nothing in the first turn")
		}
		if !slices.Equal(order, []string{"first prompt", "answer", "second prompt"}) {
			t.failf("the replay has this order: %s", strings.Join(order, ", "))
		}
	}},
	{"session.load.before-response", TierCapability, "The replay is over when session/load is answered.", pageSession, func(t *trial) {
		s := t.storyFor("loadSession")
		p, _, m := s.reopen("session/load")
		p.settle()
		for _, late := range p.messages(m.index + 1) {
			if kind, _ := late.update(); turnKind(kind) {
				t.failAt(late, "a %s of the replay comes behind the response", kind)
			}
		}
	}},
	{"session.load.tools", TierCapability, "session/load replays tool calls with their ids.", pageSession, func(t *trial) {
		s, _, replay := t.loaded()
		live := s.tool.tool()
		if !slices.ContainsFunc(toolCalls(replay), func(c *toolCall) bool { return c.id == live.id }) {
			t.failf("%v is not in the replay", live)
		}
	}},
	{"session.load.tools-ended", TierCapability, "Replayed tool calls have the status that they ended with.", pageSession, func(t *trial) {
		s, _, replay := t.loaded()
		live := s.tool.tool()
		for _, c := range toolCalls(replay) {
			if c.id == live.id && c.status() != live.status() {
				t.failAt(c.events[len(c.events)-1], "%v ended as %s and is replayed as %s", c, live.status(), c.status())
			}
		}
	}},
	{"session.load.tools-announced", TierCapability, "A replayed tool call begins with tool_call.", pageTools, func(t *trial) {
		_, _, replay := t.loaded()
		calls := toolCalls(replay)
		if len(calls) == 0 {
			t.notSeen("the replay has no tool call")
		}
		for _, c := range calls {
			if kind, _ := c.first.update(); kind != "tool_call" {
				t.failAt(c.first, "%v begins with %s", c, kind)
			}
		}
	}},
	{"session.load.own", TierCapability, "The replay is about the loaded session alone.", pageSession, func(t *trial) {
		s := t.storyFor("loadSession")
		other := s.p.newSession()
		s.p.purpose(other, PurposeSay, "text", "foreign").stop()
		p, c, m := s.reopen("session/load")
		for _, u := range p.messages(c.index)[:m.index-c.index] {
			if kind, body := u.update(); turnKind(kind) && (u.session() != s.id || strings.Contains(str(body, "content", "text"), "foreign")) {
				t.failAt(u, "the replay has something of another session")
			}
		}
	}},
	{"session.load.message-ids", TierShould, "Replayed messages have the ids that they had live.", pagePrompt, func(t *trial) {
		s, _, replay := t.loaded()
		live := str(s.first.updates("agent_message_chunk"), 0, "messageId")
		if live == "" {
			t.notSeen("live messages have no ids")
		}
		if !slices.ContainsFunc(updates(replay, "agent_message_chunk"), func(u any) bool { return str(u, "messageId") == live }) {
			t.failf("the message %q of the first turn is not in the replay", live)
		}
	}},
	{"session.load.goes-on", TierCapability, "A loaded session takes prompts.", pageSession, func(t *trial) {
		s, p, _ := t.loaded()
		p.purpose(s.id, PurposeSay, "text", "more").ends("end_turn")
	}},
	{"session.load.options", TierCapability, "session/load answers with the modes and options that session/new answers with.", pageSession, func(t *trial) {
		p := t.agent(full)
		p.needs("loadSession")
		m := p.response(p.request("session/new", setup(p.work)))
		id := str(m.result, "sessionId")
		p.purpose(id, PurposeSay, "text", "lantern").stop()
		s := &story{p: p, id: id}
		_, _, r := s.reopen("session/load")
		if a, b := len(list(m.result, "modes", "availableModes")), len(list(r.result, "modes", "availableModes")); a != b {
			t.failAt(r, "session/new has %d modes, session/load %d", a, b)
		}
		if a, b := optionIDs(m.result), optionIDs(r.result); !slices.Equal(a, b) {
			t.failAt(r, "session/new has the options %v, session/load %v", a, b)
		}
	}},
	{"session.load.unknown", TierCapability, "Loading an unknown session is refused.", pageSession, refusesReopening("session/load", "no-such-session", "", "loadSession")},
	{"session.load.unknown-code", TierShould, "Loading an unknown session is refused with -32002.", pageSession, refusesReopening("session/load", "no-such-session", "", "loadSession", codeNotFound)},
	{"session.load.odd-id", TierCapability, "A session id that is a path does not lead out of the agent's store.", pageSession, refusesReopening("session/load", "../../../etc/passwd", "", "loadSession")},
	{"session.load.relative-cwd", TierCapability, "Loading with a relative cwd is refused with -32602.", pageSession, func(t *trial) {
		s := t.storyFor("loadSession")
		s.p.fails("session/load", again(s.id, "some/dir"), codeParams)
	}},
}

// refusesReopening returns a check that a session cannot be opened again.
func refusesReopening(method, id, cwd string, capability ...any) func(*trial) {
	return func(t *trial) {
		p := t.agent(bare)
		var path []string
		var codes []int
		for _, c := range capability {
			switch c := c.(type) {
			case string:
				path = append(path, c)
			case int:
				codes = append(codes, c)
			}
		}
		p.needs(path...)
		p.fails(method, again(id, cmp.Or(cwd, p.work)), codes...)
		p.lives()
	}
}

var resumeChecks = []Check{
	{"session.resume.as-advertised", TierMust, "session/resume is there if advertised, and else refused with -32601.", pageResume, asAdvertised("session/resume", func(p *peer) object { return again("no-such-session", p.work) }, "sessionCapabilities", "resume")},
	{"session.resume.no-replay", TierCapability, "session/resume replays nothing.", pageResume, func(t *trial) {
		s := t.storyFor("sessionCapabilities", "resume")
		p, c, _ := s.reopen("session/resume")
		p.settle()
		for _, m := range p.messages(c.index) {
			if kind, _ := m.update(); turnKind(kind) {
				t.failAt(m, "session/resume replays a %s", kind)
			}
		}
	}},
	{"session.resume.goes-on", TierCapability, "A resumed session takes prompts.", pageResume, func(t *trial) {
		s := t.storyFor("sessionCapabilities", "resume")
		p, _, _ := s.reopen("session/resume")
		p.purpose(s.id, PurposeSay, "text", "more").ends("end_turn")
	}},
	{"session.resume.options", TierCapability, "session/resume answers with the options that session/new answers with.", pageResume, func(t *trial) {
		p := t.agent(full)
		p.needs("sessionCapabilities", "resume")
		m := p.response(p.request("session/new", setup(p.work)))
		s := &story{p: p, id: str(m.result, "sessionId")}
		p.purpose(s.id, PurposeSay, "text", "lantern").stop()
		_, _, r := s.reopen("session/resume")
		if a, b := optionIDs(m.result), optionIDs(r.result); !slices.Equal(a, b) {
			t.failAt(r, "session/new has the options %v, session/resume %v", a, b)
		}
	}},
	{"session.resume.unknown", TierCapability, "Resuming an unknown session is refused.", pageResume, refusesReopening("session/resume", "no-such-session", "", "sessionCapabilities", "resume")},
	{"session.resume.relative-cwd", TierCapability, "Resuming with a relative cwd is refused with -32602.", pageResume, func(t *trial) {
		s := t.storyFor("sessionCapabilities", "resume")
		s.p.fails("session/resume", again(s.id, "some/dir"), codeParams)
	}},
}
