package conformance

import (
	"cmp"
	"slices"
	"strings"
)

// A story is a stored conversation of two turns that another process has reopened. The second turn has a tool call if the model
// makes one.
type story struct {
	*scene              // of the new process
	first, second *turn // of the old one
	reply         *message
	replay        []*message // the messages of the new process before the reply
}

// reopened returns a check of a session that a new process reopens with a method.
func reopened(method string, capability []string, run func(s *story)) func(*trial) {
	return onAgentFor(full, func(p *peer) {
		p.needs(capability...)
		old := &scene{p, p.newSession()}
		s := &story{first: old.ask(PurposeSay, "text", "lantern").stop()}
		p.file("story.txt", "once upon a time\n")
		s.second = old.ask(PurposeRead, "file", "story.txt").stop()
		s.open(old, method)
		run(s)
	})
}

// open ends the agent and opens the session with another one.
func (s *story) open(old *scene, method string) {
	old.quit()
	s.scene = &scene{old.agent(full), old.session}
	c := s.request(method, again(old.session, old.work))
	if s.reply = s.response(c); s.reply.err != nil {
		s.failAt(s.reply, "%s has to succeed and got %v", method, s.reply.err)
	}
	s.replay = s.messages(c.index)[:s.reply.index-c.index]
}

func loaded(run func(s *story)) func(*trial) {
	return reopened("session/load", canLoad, run)
}

func resumed(run func(s *story)) func(*trial) { return reopened("session/resume", canResume, run) }

// keepsOptions returns a check that a method returns the modes and options that session/new returned.
func keepsOptions(method string, capability ...string) func(*trial) {
	return onAgentFor(full, func(p *peer) {
		p.needs(capability...)
		created := p.call("session/new", setup(p.work))
		old := &scene{p, str(created, "sessionId")}
		old.ask(PurposeSay, "text", "lantern").stop()
		s := new(story)
		s.open(old, method)
		if a, b := modeIDs(created), modeIDs(s.reply.result); len(a) != len(b) {
			s.failAt(s.reply, "session/new has the modes %v, %s %v", a, method, b)
		}
		if a, b := optionIDs(created), optionIDs(s.reply.result); !slices.Equal(a, b) {
			s.failAt(s.reply, "session/new has the options %v, %s %v", a, method, b)
		}
	})
}

// refusesReopening returns a check that a session cannot be opened again.
func refusesReopening(method string, capability []string, id, cwd string, codes ...int) func(*trial) {
	return onAgent(func(p *peer) {
		p.needs(capability...)
		if id == "" {
			id = p.withTurn(setup(p.work)).session
		}
		p.fails(method, again(id, cmp.Or(cwd, p.work)), codes...)
		p.lives()
	})
}

var loadChecks = []Check{
	{"session.load.as-advertised", TierMust, "session/load is there if loadSession is advertised, and else refused with -32601.", pageSession, asAdvertised("session/load", again(noSession, "/"), canLoad...)},
	{"session.load.other-process", TierCapability, "A session can be loaded by another process.", pageSession, loaded(func(*story) {})},
	{"session.load.user", TierCapability, "session/load replays what the user said.", pageSession, loaded(func(s *story) {
		said := textOf(updates(s.replay, "user_message_chunk"))
		if prompt := s.prompt(PurposeSay, "text", "lantern"); !strings.Contains(said, strings.TrimSpace(prompt)) {
			s.failf("the replay of %s has not what the user said first: %q", s.session, said)
		}
	})},
	{"session.load.agent", TierCapability, "session/load replays what the agent said.", pageSession, loaded(func(s *story) {
		live, replayed := s.firstWords(), textOf(updates(s.replay, "agent_message_chunk"))
		if !strings.Contains(replayed, live) {
			s.failf("the agent said %q, and the replay has %q", live, replayed)
		}
	})},
	{"session.load.order", TierCapability, "The replay keeps the order of the conversation.", pageSession, loaded(func(s *story) {
		var order []string
		for _, m := range s.replay {
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
		s.firstWords()
		if !slices.Equal(order, []string{"first prompt", "answer", "second prompt"}) {
			s.failf("the replay has this order: %s", strings.Join(order, ", "))
		}
	})},
	{"session.load.before-response", TierCapability, "The replay is over when session/load is answered.", pageSession, loaded(func(s *story) {
		s.awaitQuiet()
		s.saysNothing(s.messages(s.reply.index+1), "a %s of the replay comes after the response")
	})},
	{"session.load.tools", TierCapability, "session/load replays tool calls with their ids.", pageSession, loaded(func(s *story) {
		live := s.second.tool()
		if !slices.ContainsFunc(toolCalls(s.replay), func(c *toolCall) bool { return c.id == live.id }) {
			s.failf("%v is not in the replay", live)
		}
	})},
	{"session.load.tools-ended", TierCapability, "Replayed tool calls have the status that they ended with.", pageSession, loaded(func(s *story) {
		live := s.second.tool()
		for _, c := range toolCalls(s.replay) {
			if c.id == live.id {
				s.wants(c, live.status(), "it ended as "+live.status())
			}
		}
	})},
	{"session.load.tools-announced", TierCapability, "A replayed tool call begins with tool_call.", pageTools, loaded(func(s *story) {
		calls := toolCalls(s.replay)
		if len(calls) == 0 {
			s.notSeen("the replay has no tool call")
		}
		for _, c := range calls {
			if kind, _ := c.first.update(); kind != "tool_call" {
				s.failAt(c.first, "%v begins with %s", c, kind)
			}
		}
	})},
	{"session.load.own", TierCapability, "The replay is about the loaded session alone.", pageSession, onAgentFor(full, func(p *peer) {
		p.needs(canLoad...)
		old := p.withTurn(setup(p.work))
		other := &scene{p, p.newSession()}
		other.ask(PurposeSay, "text", "foreign").stop()
		s := new(story)
		s.open(old, "session/load")
		for _, m := range s.replay {
			if kind, body := m.update(); turnKind(kind) && (m.session() != s.session || strings.Contains(str(body, "content", "text"), "foreign")) {
				s.failAt(m, "the replay has something of another session")
			}
		}
	})},
	{"session.load.message-ids", TierShould, "Replayed messages have the ids that they had live.", pagePrompt, loaded(func(s *story) {
		live := str(s.first.updates("agent_message_chunk"), 0, "messageId")
		if live == "" {
			s.notSeen("live messages have no ids")
		}
		if !slices.ContainsFunc(updates(s.replay, "agent_message_chunk"), func(u any) bool { return str(u, "messageId") == live }) {
			s.failf("the message %q of the first turn is not in the replay", live)
		}
	})},
	{"session.load.goes-on", TierCapability, "A loaded session takes prompts.", pageSession, loaded(func(s *story) { s.alive() })},
	{"session.load.options", TierCapability, "session/load answers with the modes and options that session/new answers with.", pageSession, keepsOptions("session/load", canLoad...)},
	{"session.load.unknown", TierCapability, "Loading an unknown session is refused.", pageSession, refusesReopening("session/load", canLoad, noSession, "")},
	{"session.load.unknown-code", TierShould, "Loading an unknown session is refused with -32002.", pageSession, refusesReopening("session/load", canLoad, noSession, "", codeNotFound)},
	{"session.load.odd-id", TierCapability, "A session id that is a path does not lead out of the agent's store.", pageSession, refusesReopening("session/load", canLoad, "../../../etc/passwd", "")},
	{"session.load.relative-cwd", TierCapability, "Loading with a relative cwd is refused with -32602.", pageSession, refusesReopening("session/load", canLoad, "", "some/dir", codeParams)},
}

// firstWords returns what the agent said in the first turn. It skips the check if it said nothing.
func (s *story) firstWords() string {
	live := strings.TrimSpace(s.first.text())
	if live == "" {
		s.notSeen("the agent said nothing in the first turn")
	}
	return live
}

var resumeChecks = []Check{
	{"session.resume.as-advertised", TierMust, "session/resume is there if advertised, and else refused with -32601.", pageResume, asAdvertised("session/resume", again(noSession, "/"), canResume...)},
	{"session.resume.no-replay", TierCapability, "session/resume replays nothing.", pageResume, resumed(func(s *story) {
		s.awaitQuiet()
		s.saysNothing(s.messages(0), "session/resume replays a %s")
	})},
	{"session.resume.goes-on", TierCapability, "A resumed session takes prompts.", pageResume, resumed(func(s *story) { s.alive() })},
	{"session.resume.options", TierCapability, "session/resume answers with the options that session/new answers with.", pageResume, keepsOptions("session/resume", canResume...)},
	{"session.resume.unknown", TierCapability, "Resuming an unknown session is refused.", pageResume, refusesReopening("session/resume", canResume, noSession, "")},
	{"session.resume.relative-cwd", TierCapability, "Resuming with a relative cwd is refused with -32602.", pageResume, refusesReopening("session/resume", canResume, "", "some/dir", codeParams)},
}
