package conformance

import (
	"time"
)

// cancelling returns a check that cancels a long turn at some point.
func cancelling(when func(u *turn)) func(*trial) {
	return func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeLong)
		when(u)
		u.cancels()
	}
}

// goesOn checks that the session accepts a prompt, and that its turn has nothing of the cancelled one.
func (u *turn) goesOn() { u.p.purpose(u.session, PurposeSay, "text", "next").ends("end_turn") }

// ignoresCancel returns a check that a session/cancel with some parameters has no effect.
func ignoresCancel(params any) func(*trial) {
	return func(t *trial) {
		p, id := t.session(bare)
		p.notify("session/cancel", params)
		p.purpose(id, PurposeSay, "text", "alive").ends("end_turn")
	}
}

// held starts a turn that calls the client, leaves the call open, and returns both.
func (t *trial) held(capabilities object, method string, purpose Purpose, values ...string) (*turn, *message) {
	p, id := t.session(capabilities)
	p.file("held.txt", "held\n")
	p.on(method, func(*message) {})
	u := p.purpose(id, purpose, values...)
	return u, u.seesCall(method)
}

// cancelsHeld cancels a turn while a call to the client is open, answers the call late, and checks that the session
// still works.
func (u *turn) cancelsHeld(open *message, late any) {
	u.cancels()
	u.p.reply(open, late)
	u.goesOn()
}

// slowCommand starts a turn that runs a command in the client's terminal, which does not end by itself.
func (t *trial) slowCommand() *turn {
	p, id := t.session(withTerminals)
	p.holdCommands()
	u := p.purpose(id, PurposeSlowCommand)
	u.seesCall("terminal/create")
	return u
}

var cancelChecks = []Check{
	{"cancel.at-once", TierMust, "A prompt that is cancelled at once is answered with cancelled.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeLong)
		u.cancel()
		u.ends("cancelled")
	}},
	{"cancel.midway", TierMust, "A turn that is cancelled while the model writes is answered with cancelled.", pageCancellation, cancelling((*turn).running)},
	{"cancel.twice", TierMust, "A second session/cancel does nothing.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeLong)
		u.running()
		u.cancel()
		u.cancels()
		u.goesOn()
	}},
	{"cancel.next", TierMust, "The session takes prompts after a cancelled turn.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		for range 3 {
			u := p.purpose(id, PurposeLong)
			u.running()
			u.cancels()
			u.goesOn()
		}
	}},
	{"cancel.next-at-once", TierMust, "A prompt that follows a cancel at once is not cancelled by it.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeLong)
		u.running()
		u.cancel()
		next := p.purpose(id, PurposeSay, "text", "next")
		u.answer()
		next.ends("end_turn")
	}},
	{"cancel.after-end", TierMust, "A session/cancel behind the end of a turn does not cancel the next one.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeSay, "text", "done")
		u.stop()
		u.cancel()
		u.goesOn()
	}},
	{"cancel.idle", TierMust, "A session/cancel for a session without a turn is ignored.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		p.notify("session/cancel", ref(id))
		p.purpose(id, PurposeSay, "text", "alive").ends("end_turn")
	}},
	{"cancel.unknown", TierMust, "A session/cancel for an unknown session is ignored.", pageCancellation, ignoresCancel(ref("no-such-session"))},
	{"cancel.malformed", TierMust, "A session/cancel without a session is ignored.", pageCancellation, ignoresCancel(object{})},
	{"cancel.soon", TierShould, "A cancelled turn is answered soon.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeLong)
		u.running()
		begin := time.Now()
		u.cancels()
		if took := time.Since(begin); took > t.suite.opts.Patience {
			t.failf("the answer took %v", took)
		}
	}},
	{"cancel.silence", TierMust, "Nothing of a cancelled turn comes behind its response.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeLong)
		u.running()
		u.cancels()
		p.settle()
		for _, m := range p.messages(u.answer().index) {
			if kind, _ := m.update(); turnKind(kind) {
				t.failAt(m, "a %s comes behind the response", kind)
			}
		}
	}},
	{"cancel.tools", TierMust, "The tool calls of a cancelled turn are over when it is answered.", pageCancellation, func(t *trial) {
		u := t.slowCommand()
		u.cancels()
		for _, c := range toolCalls(u.all()) {
			if !c.ended() {
				t.failAt(c.events[len(c.events)-1], "the turn is cancelled and %v is %s", c, c.status())
			}
		}
	}},
	{"cancel.queued", TierMust, "Prompts that wait behind a cancelled turn are answered.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeLong)
		u.running()
		waiting := p.purpose(id, PurposeSay, "text", "waiting")
		p.lives()
		u.cancel()
		u.answer()
		waiting.answer()
		u.goesOn()
	}},
	{"cancel.permission", TierMust, "A turn that waits for permission can be cancelled.", pageCancellation, func(t *trial) {
		u, m := t.asking(bare)
		u.cancel()
		u.p.reply(m, cancelledOutcome)
		u.ends("cancelled")
		u.goesOn()
	}},
	{"cancel.permission.silent", TierShould, "A client that never answers the permission request does not hold up the cancelled turn.", pageCancellation, func(t *trial) {
		u, _ := t.asking(bare)
		u.cancels()
	}},
	{"cancel.permission.late", TierMust, "A permission that comes behind the cancelled turn is ignored.", pageCancellation, func(t *trial) {
		u, m := t.asking(bare)
		u.cancel()
		u.p.reply(m, cancelledOutcome)
		u.ends("cancelled")
		u.p.permit(m, "allow_once", "allow_always")
		u.goesOn()
		if u.ran() {
			t.failAt(m, "the command was run after the turn was cancelled")
		}
	}},
	{"cancel.permission.withdrawn", TierShould, "The agent withdraws its open permission request with $/cancel_request.", pageCancellation, func(t *trial) {
		u, m := t.asking(bare)
		u.cancels()
		if u.p.find(m.index, func(c *message) bool {
			return c.method == "$/cancel_request" && string(encode(at(c.params, "requestId"))) == m.id
		}) == nil {
			t.failAt(m, "the permission request was not withdrawn")
		}
	}},
	{"cancel.terminal", TierMust, "A turn that waits for a command can be cancelled.", pageCancellation, func(t *trial) {
		u := t.slowCommand()
		u.seesCall("terminal/wait_for_exit")
		u.cancels()
		u.goesOn()
	}},
	{"cancel.terminal.killed", TierMust, "A cancelled turn kills, or releases, its command.", pageCancellation, func(t *trial) {
		u := t.slowCommand()
		u.cancels()
		u.p.settle()
		if u.p.find(u.index, func(m *message) bool { return m.method == "terminal/kill" || m.method == "terminal/release" }) == nil {
			t.failf("the command was left running")
		}
	}},
	{"cancel.read", TierShould, "A turn that waits for the client to read a file can be cancelled, and the late answer is ignored.", pageCancellation, func(t *trial) {
		u, m := t.held(withFiles, "fs/read_text_file", PurposeRead, "file", "held.txt")
		u.cancelsHeld(m, object{"content": "late"})
	}},
	{"cancel.write", TierShould, "A turn that waits for the client to write a file can be cancelled, and the late answer is ignored.", pageCancellation, func(t *trial) {
		u, m := t.held(withFiles, "fs/write_text_file", PurposeWrite, "file", "new.txt", "text", "held")
		u.cancelsHeld(m, object{})
	}},
	{"cancel.elicitation", TierShould, "A turn that waits for a form can be cancelled, and the late answer is ignored.", pageCancellation, func(t *trial) {
		u, m := t.held(withForms, "elicitation/create", PurposeAsk)
		u.cancelsHeld(m, object{"action": "accept", "content": fillForm(m.params)})
	}},
	{"cancel.terminal.created-late", TierMust, "A terminal that is created while the turn is cancelled is released.", pageCancellation, func(t *trial) {
		p, id := t.session(withTerminals)
		p.holdCommands()
		p.on("terminal/create", func(*message) {})
		u := p.purpose(id, PurposeSlowCommand)
		m := u.seesCall("terminal/create")
		u.cancel()
		p.createTerminal(m)
		u.ends("cancelled")
		p.settle()
		p.wantsReleased()
	}},
}

// cancelRequest sends $/cancel_request.
func (p *peer) cancelRequest(id string) {
	p.sendf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`, id)
}

var cancelRequestChecks = []Check{
	{"cancel-request.prompt", TierMust, "A prompt that is cancelled with $/cancel_request is answered.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeLong)
		u.running()
		p.cancelRequest(u.id)
		// The agent may ignore it, but then it must handle session/cancel.
		p.lives()
		u.cancel()
		u.answer()
		u.goesOn()
	}},
	{"cancel-request.prompt-outcome", TierShould, "A prompt that is cancelled with $/cancel_request ends as cancelled or with -32800.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeLong)
		u.running()
		p.cancelRequest(u.id)
		m := u.answer()
		if str(m.result, "stopReason") != "cancelled" && (m.err == nil || m.err.code != codeCancelled) {
			t.failAt(m, "the cancelled prompt got %s", m.kind())
		}
	}},
	{"cancel-request.unknown", TierMust, "A $/cancel_request for an unknown request is ignored.", pageCancellation, unanswered(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":424242}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"nobody"}}`)},
	{"cancel-request.malformed", TierMust, "A malformed $/cancel_request is ignored.", pageCancellation, unanswered(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{}}`, `{"jsonrpc":"2.0","method":"$/cancel_request"}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":{"x":1}}}`)},
	{"cancel-request.finished", TierMust, "A $/cancel_request for an answered request is ignored.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeSay, "text", "done")
		u.stop()
		p.cancelRequest(u.id)
		u.goesOn()
	}},
	{"cancel-request.other", TierMust, "Any request that is cancelled is still answered.", pageCancellation, func(t *trial) {
		p := t.agent(bare)
		c := p.request("session/new", setup(p.work))
		p.cancelRequest(c.id)
		p.response(c)
	}},
}
