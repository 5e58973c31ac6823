package conformance

import (
	"path/filepath"
	"slices"
	"time"
)

// What an agent must advertise for a check.
var (
	canClose  = []string{"sessionCapabilities", "close"}
	canDelete = []string{"sessionCapabilities", "delete"}
	canList   = []string{"sessionCapabilities", "list"}
	canLoad   = []string{"loadSession"}
	canResume = []string{"sessionCapabilities", "resume"}
)

// sessions lists all stored sessions, page by page.
func (p *peer) sessions(params object) []any {
	var all []any
	seen := make(map[string]bool)
	for range 1000 {
		r := p.call("session/list", params)
		all = append(all, list(r, "sessions")...)
		cursor := str(r, "nextCursor")
		if cursor == "" {
			return all
		}
		if seen[cursor] {
			p.failf("session/list gave the cursor %q twice", cursor)
		}
		seen[cursor] = true
		params = with(params, "cursor", cursor)
	}
	p.failf("session/list does not come to an end")
	return nil
}

// listed returns the session's entry in the list, or nil.
func (s *scene) listed(params object) any {
	all := s.sessions(params)
	if i := slices.IndexFunc(all, func(e any) bool { return str(e, "sessionId") == s.session }); i >= 0 {
		return all[i]
	}
	return nil
}

// isListed checks whether the session is listed.
func (s *scene) isListed(want bool, params object, complaint string) {
	if (s.listed(params) != nil) != want {
		s.failf("the session %s %s", s.session, complaint)
	}
}

// needing returns a check that opens a session of an agent that advertises a capability.
func needing(path []string, run func(s *scene)) func(*trial) {
	return onAgent(func(p *peer) {
		p.needs(path...)
		run(&scene{p, p.newSession()})
	})
}

// stored returns a check of a listed session with one turn. It requires an agent that can list sessions and advertises another
// capability.
func stored(path []string, run func(s *scene)) func(*trial) {
	return onAgent(func(p *peer) {
		p.needs(canList...)
		p.needs(path...)
		run(p.withTurn(setup(p.work)))
	})
}

// withTurn opens a session and runs a turn.
func (p *peer) withTurn(params object) *scene {
	s := &scene{p, str(p.call("session/new", params), "sessionId")}
	s.ask(PurposeSay, "text", "stored").stop()
	return s
}

// later ends the agent and starts another one, which has not opened the session.
func (s *scene) later() *scene {
	s.quit()
	return &scene{s.agent(bare), s.session}
}

var listChecks = []Check{
	{"session.list.as-advertised", TierMust, "session/list is there if advertised, and else refused with -32601.", pageList, asAdvertised("session/list", object{}, canList...)},
	{"session.list.empty", TierCapability, "Where there is no session, the list is an empty array.", pageList, onAgent(func(p *peer) {
		p.needs(canList...)
		r := p.call("session/list", object{"cwd": filepath.Join(p.dir, "without-sessions")})
		if s, ok := at(r, "sessions").([]any); !ok || len(s) != 0 {
			p.failf("the list is %s", excerpt(r))
		}
	})},
	{"session.list.has", TierCapability, "A session with a turn is listed.", pageList, stored(canList, func(s *scene) {
		s.isListed(true, object{}, "is not listed")
	})},
	{"session.list.cwd", TierCapability, "A listed session has its cwd.", pageList, stored(canList, func(s *scene) {
		if e := s.listed(object{}); e != nil && str(e, "cwd") != s.work {
			s.failf("the session in %s is listed as %s", s.work, excerpt(e))
		}
	})},
	{"session.list.updated", TierCapability, "updatedAt is a time as ISO 8601 writes it.", pageList, stored(canList, func(s *scene) {
		v := at(s.listed(object{}), "updatedAt")
		if v == nil {
			s.notSeen("the listed session has no updatedAt")
		}
		text, _ := v.(string)
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			s.failf("updatedAt is %s", excerpt(v))
		}
	})},
	{"session.list.other-process", TierCapability, "Another process lists the sessions too.", pageList, stored(canList, func(s *scene) {
		s.later().isListed(true, object{}, "is not listed by another process")
	})},
	{"session.list.filter", TierCapability, "With a cwd the list has the sessions of that directory.", pageList, stored(canList, func(s *scene) {
		s.isListed(true, object{"cwd": s.work}, "is not listed for its cwd")
	})},
	{"session.list.filter-others", TierCapability, "With a cwd the list has no sessions of other directories.", pageList, stored(canList, func(s *scene) {
		for _, cwd := range []string{filepath.Dir(s.work), s.work + "-other", filepath.Join(s.work, "sub")} {
			s.isListed(false, object{"cwd": cwd}, "in "+s.work+" is listed for "+cwd)
		}
	})},
	{"session.list.pages", TierCapability, "The pages have every session once.", pageList, stored(canList, func(s *scene) {
		ids := []string{s.session}
		for range 4 {
			ids = append(ids, s.withTurn(setup(s.work)).session)
		}
		all := s.sessions(object{})
		for _, id := range ids {
			if n := len(slices.DeleteFunc(slices.Clone(all), func(e any) bool { return str(e, "sessionId") != id })); n != 1 {
				s.failf("the session %s is listed %d times", id, n)
			}
		}
	})},
	{"session.list.null-cursor", TierCapability, "A null cursor and a null cwd are as if they were not there.", pageList, stored(canList, func(s *scene) {
		s.isListed(true, object{"cursor": nil, "cwd": nil}, "is not listed")
	})},
	{"session.list.bad-cursor", TierCapability, "A cursor that was never issued is refused.", pageList, onAgent(func(p *peer) {
		p.needs(canList...)
		p.fails("session/list", object{"cursor": "never-issued"})
		p.lives()
	})},
	{"session.list.closed", TierCapability, "A closed session stays in the list.", pageList, stored(canClose, func(s *scene) {
		s.close()
		s.isListed(true, object{}, "is not listed when it is closed")
	})},
	{"session.list.directories", TierCapability, "A listed session has its additional directories.", pageList, withDirectories(func(p *peer, params object) {
		p.needs(canList...)
		if e := p.withTurn(params).listed(object{}); e != nil && str(e, "additionalDirectories", 0) != p.dir {
			p.failf("the session was given the directory %s and is listed as %s", p.dir, excerpt(e))
		}
	})},
}

func (s *scene) close()  { s.call("session/close", ref(s.session)) }
func (s *scene) delete() { s.call("session/delete", ref(s.session)) }

var closeChecks = []Check{
	{"session.close.as-advertised", TierMust, "session/close is there if advertised, and else refused with -32601.", pageClose, asAdvertised("session/close", ref(noSession), canClose...)},
	{"session.close.answers", TierCapability, "session/close succeeds.", pageClose, needing(canClose, (*scene).close)},
	{"session.close.ends", TierCapability, "A closed session takes no prompts.", pageClose, needing(canClose, func(s *scene) {
		s.close()
		s.failsWith(s.ask(PurposeSay, "text", "closed").answer(), "a prompt to a closed session")
	})},
	{"session.close.cancels", TierCapability, "Closing ends the running turn as cancelled.", pageClose, needing(canClose, func(s *scene) {
		u := s.long()
		isOver := s.answered(u.call)
		s.close()
		if isOver {
			s.notSeen("the turn was over before the session was closed")
		}
		u.endsCancelled()
	})},
	{"session.close.terminals", TierCapability, "Closing releases the terminals of the session.", pageClose, func(t *trial) {
		p := t.agent(withTerminals)
		p.needs(canClose...)
		s := &scene{p, p.newSession()}
		s.holdCommands()
		u := s.ask(PurposeSlowCommand)
		u.seesCall("terminal/create")
		s.close()
		u.answer()
		s.awaitQuiet()
		s.wantsReleased()
	}},
	{"session.close.others", TierCapability, "The other sessions go on.", pageClose, needing(canClose, func(s *scene) {
		other := &scene{s.peer, s.newSession()}
		s.close()
		other.alive()
	})},
	{"session.close.twice", TierCapability, "Closing a session twice does not end the agent.", pageClose, needing(canClose, func(s *scene) {
		s.close()
		s.respond("session/close", ref(s.session))
		s.newSession()
	})},
	{"session.close.loadable", TierCapability, "A closed session can be loaded again.", pageClose, needing(canClose, func(s *scene) {
		s.needs("loadSession")
		s.alive()
		s.close()
		s.call("session/load", again(s.session, s.work))
		s.alive()
	})},
}

var deleteChecks = []Check{
	{"session.delete.as-advertised", TierMust, "session/delete is there if advertised, and else refused with -32601.", pageDelete, asAdvertised("session/delete", ref(noSession), canDelete...)},
	{"session.delete.unlists", TierCapability, "A deleted session is not listed.", pageDelete, stored(canDelete, func(s *scene) {
		s.delete()
		s.isListed(false, object{}, "is deleted and still listed")
	})},
	{"session.delete.others", TierCapability, "Deleting a session leaves the others.", pageDelete, stored(canDelete, func(s *scene) {
		other := s.withTurn(setup(s.work))
		s.delete()
		other.isListed(true, object{}, "is gone too")
		other.alive()
	})},
	{"session.delete.unloadable", TierCapability, "A deleted session cannot be loaded.", pageDelete, stored(canDelete, func(s *scene) {
		s.needs("loadSession")
		s.delete()
		s.fails("session/load", again(s.session, s.work))
	})},
	{"session.delete.other-process", TierCapability, "A deleted session is deleted for other processes too.", pageDelete, stored(canDelete, func(s *scene) {
		s.delete()
		s.later().isListed(false, object{}, "is deleted and listed by another process")
	})},
	{"session.delete.twice", TierShould, "Deleting a session twice succeeds.", pageDelete, stored(canDelete, func(s *scene) {
		s.delete()
		s.delete()
	})},
	{"session.delete.unknown", TierShould, "Deleting an unknown session succeeds.", pageDelete, onAgent(func(p *peer) {
		p.needs(canDelete...)
		p.call("session/delete", ref(noSession))
	})},
	{"session.delete.running", TierCapability, "Deleting a session with a running turn answers the prompt.", pageDelete, needing(canDelete, func(s *scene) {
		u := s.long()
		s.respond("session/delete", ref(s.session))
		u.answer()
	})},
}

var isolationChecks = []Check{
	{"isolation.cwd", TierMust, "Each session has its own cwd.", pageSession, onAgent(func(p *peer) {
		names := []string{"one", "two"}
		var turns []*turn
		for _, name := range names {
			p.file(name+"/which.txt", "in-"+name+"\n")
			s := &scene{p, p.newSessionIn(p.mkdir(name))}
			turns = append(turns, s.ask(PurposeRead, "file", "which.txt"))
		}
		for i, name := range names {
			if u := turns[i]; !u.shows(u.tool(), "in-"+name) {
				p.failf("the session in the directory %q did not read the file there", name)
			}
		}
	})},
	{"isolation.turns", TierMust, "A session answers while another one is busy.", pageSession, inSession(func(s *scene) {
		busy := s.long()
		other := &scene{s.peer, s.newSession()}
		other.alive()
		isOver := s.answered(busy.call)
		busy.abort()
		if isOver {
			s.notSeen("the first turn did not last")
		}
	})},
	{"isolation.cancel", TierMust, "Cancelling a session leaves the others running.", pageSession, inSession(func(s *scene) {
		other := &scene{s.peer, s.newSession()}
		a, b := s.ask(PurposeLong), other.ask(PurposeLong)
		a.running()
		b.running()
		a.cancels()
		s.awaitQuiet()
		if m := s.find(b.index, b.answeredBy); m != nil && str(m.result, "stopReason") == "cancelled" {
			s.failAt(m, "the turn of the other session is cancelled too")
		}
		b.abort()
	})},
	{"isolation.updates", TierMust, "Updates of a turn carry the session's own id.", pageSession, inSession(func(s *scene) {
		other := s.newSession()
		s.awaitQuiet()
		from := s.now()
		s.ask(PurposeSay, "text", "mine").stop()
		for _, m := range s.messages(from) {
			if kind, _ := m.update(); turnKind(kind) && m.session() != s.session {
				s.failAt(m, "an update of the turn carries the id %q, not %q (the other session is %q)", m.session(), s.session, other)
			}
		}
	})},
	{"isolation.mode", TierCapability, "Setting the mode of a session leaves the others.", pageModes, func(t *trial) {
		s := t.configured(full)
		mode := s.mode()
		other := s.newSession()
		from := s.now()
		s.setMode(mode)
		s.awaitQuiet()
		if m := s.find(from, func(m *message) bool {
			kind, _ := m.update()
			return kind == "current_mode_update" && m.session() == other
		}); m != nil {
			t.failAt(m, "the other session's mode changed too")
		}
	}},
	{"isolation.options", TierCapability, "Setting an option of a session leaves the others.", pageConfig, func(t *trial) {
		s := t.configured(full)
		o := s.option()
		other := s.newSession()
		from := s.now()
		s.set(o, o.other())
		s.awaitQuiet()
		for _, m := range s.fromAgent(from) {
			if kind, body := m.update(); kind == "config_option_update" && m.session() == other {
				if now := findOption(body, o.id); now != nil && now.current != o.current {
					t.failAt(m, "the option %q of the other session changed too", o.id)
				}
			}
		}
	}},
}
