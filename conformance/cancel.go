package conformance

import "time"

// ignoresCancel returns a check that a session/cancel with some parameters has no effect.
func ignoresCancel(params object) func(*trial) {
	return inSession(func(s *scene) {
		s.notify("session/cancel", params)
		s.alive()
	})
}

// cancelsHeld returns a check that cancels a turn while a call to the client is open, answers the call late, and checks that the
// session still works.
func cancelsHeld(capabilities object, method string, late func(m *message) object, purpose Purpose, values ...string) func(*trial) {
	return inSessionFor(capabilities, func(s *scene) {
		s.file("held.txt", "held\n")
		s.on(method, func(*message) {})
		u := s.ask(purpose, values...)
		open := u.seesCall(method)
		u.cancels()
		u.reply(open, late(open))
		u.alive()
	})
}

// slowCommand starts a turn that runs a command in the client's terminal, which does not end by itself.
func (t *trial) slowCommand() *turn {
	s := t.session(withTerminals)
	s.holdCommands()
	u := s.ask(PurposeSlowCommand)
	u.seesCall("terminal/create")
	return u
}

var cancelChecks = []Check{
	{"cancel.at-once", TierMust, "A prompt that is cancelled at once is answered with cancelled.", pageCancellation, inTurn(PurposeLong, (*turn).cancel, (*turn).endsCancelled)},
	{"cancel.midway", TierMust, "A turn that is cancelled while the model writes is answered with cancelled.", pageCancellation, inTurn(PurposeLong, (*turn).running, (*turn).cancels)},
	{"cancel.twice", TierMust, "A second session/cancel does nothing.", pageCancellation, inTurn(PurposeLong, (*turn).running, (*turn).cancel, (*turn).cancels, (*turn).alive)},
	{"cancel.next", TierMust, "The session takes prompts after a cancelled turn.", pageCancellation, inSession(func(s *scene) {
		for range 3 {
			s.long().cancels()
			s.alive()
		}
	})},
	{"cancel.next-at-once", TierMust, "A prompt that follows a cancel at once is not cancelled by it.", pageCancellation, inSession(func(s *scene) {
		u := s.long()
		u.cancel()
		next := s.ask(PurposeSay, "text", "next")
		u.answer()
		next.ends("end_turn")
	})},
	{"cancel.after-end", TierMust, "A session/cancel after the end of a turn does not cancel the next one.", pageCancellation, inSession(func(s *scene) {
		s.ask(PurposeSay, "text", "done").stop().cancel()
		s.alive()
	})},
	{"cancel.idle", TierMust, "A session/cancel for a session without a turn is ignored.", pageCancellation, inSession(func(s *scene) {
		s.notify("session/cancel", ref(s.session))
		s.alive()
	})},
	{"cancel.unknown", TierMust, "A session/cancel for an unknown session is ignored.", pageCancellation, ignoresCancel(ref(noSession))},
	{"cancel.malformed", TierMust, "A session/cancel without a session is ignored.", pageCancellation, ignoresCancel(object{})},
	{"cancel.soon", TierShould, "A cancelled turn is answered soon.", pageCancellation, inSession(func(s *scene) {
		u := s.long()
		begin := time.Now()
		u.cancels()
		if took := time.Since(begin); took > s.suite.opts.Patience {
			s.failf("the answer took %v", took)
		}
	})},
	{"cancel.silence", TierMust, "Nothing of a cancelled turn comes after its response.", pageCancellation, inSession(func(s *scene) {
		u := s.long()
		u.cancels()
		s.awaitQuiet()
		s.saysNothing(s.messages(u.answer().index), "a %s comes after the response")
	})},
	{"cancel.tools", TierMust, "The tool calls of a cancelled turn are over when it is answered.", pageCancellation, func(t *trial) {
		u := t.slowCommand()
		u.cancels()
		for _, c := range toolCalls(u.all()) {
			if !over(c.status()) {
				t.failAt(c.last(), "the turn is cancelled and %v is %s", c, c.status())
			}
		}
	}},
	{"cancel.queued", TierMust, "Prompts that wait for a cancelled turn are answered.", pageCancellation, inSession(func(s *scene) {
		u := s.long()
		waiting := s.ask(PurposeSay, "text", "waiting")
		s.lives()
		u.abort()
		waiting.answer()
		s.alive()
	})},
	{"cancel.permission", TierMust, "A turn that waits for permission can be cancelled.", pageCancellation, asking(func(u *turn, m *message) {
		u.cancel()
		u.reply(m, cancelledOutcome)
		u.endsCancelled()
		u.alive()
	})},
	{"cancel.permission.silent", TierShould, "A client that never answers the permission request does not hold up the cancelled turn.", pageCancellation, asking(func(u *turn, _ *message) { u.cancels() })},
	{"cancel.permission.late", TierMust, "A permission that comes after the cancelled turn is ignored.", pageCancellation, asking(func(u *turn, m *message) {
		u.cancel()
		u.reply(m, cancelledOutcome)
		u.endsCancelled()
		u.allow(m)
		u.alive()
		if u.ran() {
			u.failAt(m, "the command was run after the turn was cancelled")
		}
	})},
	{"cancel.permission.withdrawn", TierShould, "The agent withdraws its open permission request with $/cancel_request.", pageCancellation, asking(func(u *turn, m *message) {
		u.cancels()
		if u.find(m.index, func(c *message) bool {
			return c.method == "$/cancel_request" && string(encode(at(c.params, "requestId"))) == m.id
		}) == nil {
			u.failAt(m, "the permission request was not withdrawn")
		}
	})},
	{"cancel.terminal", TierMust, "A turn that waits for a command can be cancelled.", pageCancellation, func(t *trial) {
		u := t.slowCommand()
		u.seesCall("terminal/wait_for_exit")
		u.cancels()
		u.alive()
	}},
	{"cancel.terminal.killed", TierMust, "A cancelled turn kills, or releases, its command.", pageCancellation, func(t *trial) {
		u := t.slowCommand()
		u.cancels()
		u.awaitQuiet()
		if !u.called("terminal/kill") && !u.called("terminal/release") {
			t.failf("the command was left running")
		}
	}},
	{"cancel.read", TierShould, "A turn that waits for the client to read a file can be cancelled, and the late answer is ignored.", pageCancellation, cancelsHeld(
		withFiles, "fs/read_text_file", func(*message) object { return object{"content": "late"} }, PurposeRead, "file", "held.txt",
	)},
	{"cancel.write", TierShould, "A turn that waits for the client to write a file can be cancelled, and the late answer is ignored.", pageCancellation, cancelsHeld(
		withFiles, "fs/write_text_file", func(*message) object { return object{} }, PurposeWrite, "file", "new.txt", "text", "held",
	)},
	{"cancel.elicitation", TierShould, "A turn that waits for a form can be cancelled, and the late answer is ignored.", pageCancellation, cancelsHeld(
		withForms, elicitation, func(m *message) object { return accepted(fillForm(m.params)) }, PurposeAsk,
	)},
	{"cancel.terminal.created-late", TierMust, "A terminal that is created while the turn is cancelled is released.", pageCancellation, inSessionFor(withTerminals, func(s *scene) {
		s.holdCommands()
		s.on("terminal/create", func(*message) {})
		u := s.ask(PurposeSlowCommand)
		m := u.seesCall("terminal/create")
		u.cancel()
		s.createTerminal(m)
		u.endsCancelled()
		s.awaitQuiet()
		s.wantsReleased()
	})},
}

var cancelRequestChecks = []Check{
	{"cancel-request.prompt", TierMust, "A prompt that is cancelled with $/cancel_request is answered.", pageCancellation, inSession(func(s *scene) {
		u := s.long()
		s.cancelRequest(u.call)
		// The agent may ignore it, but then it must handle session/cancel.
		s.lives()
		u.abort()
		s.alive()
	})},
	{"cancel-request.prompt-outcome", TierShould, "A prompt that is cancelled with $/cancel_request ends as cancelled or with -32800.", pageCancellation, inSession(func(s *scene) {
		u := s.long()
		s.cancelRequest(u.call)
		m := u.answer()
		if str(m.result, "stopReason") != "cancelled" && (m.err == nil || m.err.code != codeCancelled) {
			s.failAt(m, "the cancelled prompt got %s", m.kind())
		}
	})},
	{"cancel-request.unknown", TierMust, "A $/cancel_request for an unknown request is ignored.", pageCancellation, unanswered(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":424242}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"nobody"}}`)},
	{"cancel-request.malformed", TierMust, "A malformed $/cancel_request is ignored.", pageCancellation, unanswered(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{}}`, `{"jsonrpc":"2.0","method":"$/cancel_request"}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":{"x":1}}}`)},
	{"cancel-request.finished", TierMust, "A $/cancel_request for an answered request is ignored.", pageCancellation, inSession(func(s *scene) {
		s.cancelRequest(s.ask(PurposeSay, "text", "done").stop().call)
		s.alive()
	})},
	{"cancel-request.other", TierMust, "Any request that is cancelled is still answered.", pageCancellation, onAgent(func(p *peer) {
		c := p.request("session/new", setup(p.work))
		p.cancelRequest(c)
		p.response(c)
	})},
}
