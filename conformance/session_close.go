package conformance

import (
	"strings"
)

// closable opens a session of an agent that can close, or delete, sessions.
func (t *trial) closable(capabilities object, path ...string) (*peer, string) {
	p := t.agent(capabilities)
	p.needs(path...)
	return p, p.newSession()
}

var (
	canClose  = []string{"sessionCapabilities", "close"}
	canDelete = []string{"sessionCapabilities", "delete"}
)

func ref(id string) object { return object{"sessionId": id} }

var closeChecks = []Check{
	{"session.close.as-advertised", TierMust, "session/close is there if advertised, and else refused with -32601.", pageClose, asAdvertised("session/close", func(*peer) object { return ref("no-such-session") }, canClose...)},
	{"session.close.answers", TierCapability, "session/close succeeds.", pageClose, func(t *trial) {
		p, id := t.closable(bare, canClose...)
		p.call("session/close", ref(id))
	}},
	{"session.close.ends", TierCapability, "A closed session takes no prompts.", pageClose, func(t *trial) {
		p, id := t.closable(bare, canClose...)
		p.call("session/close", ref(id))
		m := p.purpose(id, PurposeSay, "text", "closed").answer()
		p.failsWith(m, "a prompt to a closed session")
	}},
	{"session.close.cancels", TierCapability, "Closing ends the running turn as cancelled.", pageClose, func(t *trial) {
		p, id := t.closable(bare, canClose...)
		u := p.purpose(id, PurposeLong)
		u.running()
		over := p.answered(u.call)
		p.call("session/close", ref(id))
		if over {
			t.notSeen("the turn was over before the session was closed")
		}
		u.ends("cancelled")
	}},
	{"session.close.terminals", TierCapability, "Closing releases the terminals of the session.", pageClose, func(t *trial) {
		p, id := t.closable(withTerminals, canClose...)
		p.holdCommands()
		u := p.purpose(id, PurposeSlowCommand)
		u.seesCall("terminal/create")
		p.call("session/close", ref(id))
		u.answer()
		p.settle()
		p.wantsReleased()
	}},
	{"session.close.others", TierCapability, "The other sessions go on.", pageClose, func(t *trial) {
		p, id := t.closable(bare, canClose...)
		other := p.newSession()
		p.call("session/close", ref(id))
		p.purpose(other, PurposeSay, "text", "open").ends("end_turn")
	}},
	{"session.close.twice", TierCapability, "Closing a session twice does not end the agent.", pageClose, func(t *trial) {
		p, id := t.closable(bare, canClose...)
		p.call("session/close", ref(id))
		p.response(p.request("session/close", ref(id)))
		p.newSession()
	}},
	{"session.close.loadable", TierCapability, "A closed session can be loaded again.", pageClose, func(t *trial) {
		p, id := t.closable(bare, canClose...)
		p.needs("loadSession")
		p.purpose(id, PurposeSay, "text", "kept").stop()
		p.call("session/close", ref(id))
		p.call("session/load", again(id, p.work))
		p.purpose(id, PurposeSay, "text", "again").ends("end_turn")
	}},
}

var deleteChecks = []Check{
	{"session.delete.as-advertised", TierMust, "session/delete is there if advertised, and else refused with -32601.", pageDelete, asAdvertised("session/delete", func(*peer) object { return ref("no-such-session") }, canDelete...)},
	{"session.delete.unlists", TierCapability, "A deleted session is not listed.", pageDelete, func(t *trial) {
		p, ids := t.stored(2, canDelete...)
		p.call("session/delete", ref(ids[0]))
		all := p.sessions(object{})
		if listed(all, ids[0]) != nil {
			t.failf("the deleted session %s is still listed", ids[0])
		}
	}},
	{"session.delete.others", TierCapability, "Deleting a session leaves the others.", pageDelete, func(t *trial) {
		p, ids := t.stored(2, canDelete...)
		p.call("session/delete", ref(ids[0]))
		if listed(p.sessions(object{}), ids[1]) == nil {
			t.failf("the session %s is gone too", ids[1])
		}
		p.purpose(ids[1], PurposeSay, "text", "left").ends("end_turn")
	}},
	{"session.delete.unloadable", TierCapability, "A deleted session cannot be loaded.", pageDelete, func(t *trial) {
		p, ids := t.stored(1, canDelete...)
		p.needs("loadSession")
		p.call("session/delete", ref(ids[0]))
		p.fails("session/load", again(ids[0], p.work))
	}},
	{"session.delete.other-process", TierCapability, "A deleted session is deleted for other processes too.", pageDelete, func(t *trial) {
		p, ids := t.stored(1, canDelete...)
		p.call("session/delete", ref(ids[0]))
		p.closeStdin()
		p.exits()
		q := t.agent(bare)
		if listed(q.sessions(object{}), ids[0]) != nil {
			t.failf("the deleted session %s is back", ids[0])
		}
	}},
	{"session.delete.twice", TierShould, "Deleting a session twice succeeds.", pageDelete, func(t *trial) {
		p, ids := t.stored(1, canDelete...)
		p.call("session/delete", ref(ids[0]))
		p.call("session/delete", ref(ids[0]))
	}},
	{"session.delete.unknown", TierShould, "Deleting an unknown session succeeds.", pageDelete, func(t *trial) {
		p := t.agent(bare)
		p.needs(canDelete...)
		p.call("session/delete", ref("no-such-session"))
	}},
	{"session.delete.running", TierCapability, "Deleting a session with a running turn answers the prompt.", pageDelete, func(t *trial) {
		p, id := t.closable(bare, canDelete...)
		u := p.purpose(id, PurposeLong)
		u.running()
		p.response(p.request("session/delete", ref(id)))
		u.answer()
	}},
}

var isolationChecks = []Check{
	{"isolation.cwd", TierMust, "Each session has its own cwd.", pageSession, func(t *trial) {
		p := t.agent(bare)
		var turns []*turn
		for _, name := range []string{"one", "two"} {
			dir := p.dir(name)
			p.file(name+"/which.txt", "in-"+name+"\n")
			turns = append(turns, p.purpose(p.newSessionIn(dir), PurposeRead, "file", "which.txt"))
		}
		for i, name := range []string{"one", "two"} {
			turns[i].stop()
			if shown := string(encode(turns[i].tool().state)) + turns[i].text(); !strings.Contains(shown, "in-"+name) {
				t.failf("the session in the directory %q did not read the file there", name)
			}
		}
	}},
	{"isolation.turns", TierMust, "A session answers while another one is busy.", pageSession, func(t *trial) {
		p, id := t.session(bare)
		busy := p.purpose(id, PurposeLong)
		busy.running()
		p.purpose(p.newSession(), PurposeSay, "text", "meanwhile").stop()
		over := p.answered(busy.call)
		busy.cancel()
		busy.answer()
		if over {
			t.notSeen("the first turn did not last")
		}
	}},
	{"isolation.cancel", TierMust, "Cancelling a session leaves the others running.", pageSession, func(t *trial) {
		p, id := t.session(bare)
		other := p.newSession()
		a, b := p.purpose(id, PurposeLong), p.purpose(other, PurposeLong)
		a.running()
		b.running()
		a.cancels()
		p.settle()
		m := p.find(b.index, func(m *message) bool { return !m.sent && b.answeredBy(m) })
		if m != nil && str(m.result, "stopReason") == "cancelled" {
			t.failAt(m, "the turn of the other session is cancelled too")
		}
		b.cancel()
		b.answer()
	}},
	{"isolation.updates", TierMust, "Updates of a turn carry the session's own id.", pageSession, func(t *trial) {
		p, id := t.session(bare)
		other := p.newSession()
		p.settle()
		from := p.now()
		p.purpose(id, PurposeSay, "text", "mine").stop()
		for _, m := range p.messages(from) {
			if kind, _ := m.update(); turnKind(kind) && m.session() != id {
				t.failAt(m, "an update of the turn carries the id %q, not %q (the other session is %q)", m.session(), id, other)
			}
		}
	}},
	{"isolation.mode", TierCapability, "Setting the mode of a session leaves the others.", pageModes, func(t *trial) {
		p := t.agent(full)
		r := p.call("session/new", setup(p.work))
		mode := otherMode(r)
		if mode == "" {
			t.skipAs(ReasonNotAdvertised, "not advertised: two modes")
		}
		other := p.newSession()
		from := p.now()
		p.call("session/set_mode", object{"sessionId": str(r, "sessionId"), "modeId": mode})
		p.settle()
		for _, m := range p.messages(from) {
			if kind, _ := m.update(); kind == "current_mode_update" && m.session() == other {
				t.failAt(m, "the other session's mode changed too")
			}
		}
	}},
	{"isolation.options", TierCapability, "Setting an option of a session leaves the others.", pageConfig, func(t *trial) {
		p := t.agent(full)
		r := p.call("session/new", setup(p.work))
		o := p.anyOption(r)
		other := p.newSession()
		from := p.now()
		p.call("session/set_config_option", o.set(str(r, "sessionId"), o.other()))
		p.settle()
		for _, m := range p.messages(from) {
			if kind, body := m.update(); kind == "config_option_update" && m.session() == other {
				if now := findOption(body, o.id); now != nil && now.current != o.current {
					t.failAt(m, "the option %q of the other session changed too", o.id)
				}
			}
		}
	}},
}
