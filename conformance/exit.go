package conformance

import (
	"strconv"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
)

// exits waits for the agent to end by itself and returns its exit and the time that it took.
func (p *peer) exits() (state proc.ExitState, took time.Duration) {
	begin := time.Now()
	select {
	case <-p.child.Done():
		return p.child.State(), time.Since(begin)
	case <-p.ctx.Done():
		p.failf("the agent does not end")
		return proc.ExitState{}, 0
	}
}

// quit closes the agent's stdin and waits until it has ended.
func (p *peer) quit() {
	p.closeStdin()
	p.exits()
}

// endsInTime checks that the agent ends in time, with exit code 0 if clean is set.
func (p *peer) endsInTime(clean bool) {
	state, took := p.exits()
	if clean && !state.Success() {
		p.failf("the agent %v", state)
	}
	if limit := p.suite.opts.Patience; took > limit {
		p.failf("the agent took %v to end, more than %v", took.Round(time.Millisecond), limit)
	}
}

// endsAtEOF closes the agent's stdin and checks that it ends in time with exit code 0.
func (p *peer) endsAtEOF() {
	p.closeStdin()
	p.endsInTime(true)
}

// leavesNothing closes the agent's stdin and checks that it ends in time with exit code 0, with no process left.
func (p *peer) leavesNothing() {
	before := p.descendants()
	p.endsAtEOF()
	p.gone(before, nil)
}

// terminate sends the agent a termination signal.
func (p *peer) terminate() {
	if err := p.child.Terminate(); err != nil {
		p.skipAs(ReasonNotPossible, "the agent cannot be signalled here: %v", err)
	}
}

// endsOnSignal checks that the agent ends in time on a signal, with no process left.
func (p *peer) endsOnSignal() {
	before := p.descendants()
	p.terminate()
	p.endsInTime(false)
	p.gone(before, nil)
}

// idle returns a check of an agent with a session.
func idle(then func(*peer)) func(*trial) { return inSession(func(s *scene) { then(s.peer) }) }

// busy returns a check of an agent that runs a turn.
func busy(then func(*peer)) func(*trial) { return inSession(func(s *scene) { then(s.long().peer) }) }

// inCommand returns a check of an agent that runs a command.
func inCommand(then func(*peer)) func(*trial) {
	return inTurn(PurposeSlowCommand, (*turn).seesRunningTool, func(u *turn) { then(u.peer) })
}

var exitChecks = []Check{
	{"exit.eof.at-start", TierMust, "An agent whose stdin ends before initialize ends with code 0 in time.", pageTransports, onStart((*peer).endsAtEOF)},
	{"exit.eof.idle", TierMust, "An agent whose stdin ends ends with code 0 in time.", pageTransports, idle((*peer).endsAtEOF)},
	{"exit.eof.in-turn", TierMust, "An agent whose stdin ends in a turn ends with code 0 in time.", pageTransports, busy((*peer).endsAtEOF)},
	{"exit.eof.in-permission", TierMust, "An agent whose stdin ends while it waits for permission ends with code 0 in time.", pageTransports, asking(func(u *turn, _ *message) { u.endsAtEOF() })},
	{"exit.eof.in-command", TierMust, "An agent whose stdin ends while it runs a command ends with code 0 in time.", pageTransports, inCommand((*peer).endsAtEOF)},
	{"exit.eof.in-terminal", TierMust, "An agent whose stdin ends while it waits for the client's terminal ends with code 0 in time.", pageTransports, func(t *trial) { t.slowCommand().endsAtEOF() }},
	{"exit.eof.half-a-line", TierMust, "An agent whose stdin ends inside a message ends with code 0 in time.", pageTransports, onAgent(func(p *peer) {
		p.sendPieces(`{"jsonrpc":"2.0","id":9,"method":"_conform`)
		p.endsAtEOF()
	})},
	{"exit.eof.answers-first", TierShould, "What was asked before the end of stdin is answered.", pageTransports, onAgent(func(p *peer) {
		c := p.request("_conformance/ping", object{})
		p.closeStdin()
		p.response(c)
	})},
	{"exit.signal.idle", TierMust, "An idle agent ends in time on SIGTERM.", pageTransports, idle((*peer).endsOnSignal)},
	{"exit.signal.in-turn", TierMust, "An agent in a turn ends in time on SIGTERM.", pageTransports, busy((*peer).endsOnSignal)},
	{"exit.signal.in-command", TierMust, "An agent that runs a command ends in time on SIGTERM, with no process left.", pageTransports, inCommand((*peer).endsOnSignal)},
	{"exit.signal.code", TierShould, "An agent that SIGTERM ends has the exit code 0.", pageTransports, idle(func(p *peer) {
		p.terminate()
		if state, _ := p.exits(); !state.Success() {
			p.failf("the agent %v", state)
		}
	})},
	{"exit.orphans.idle", TierMust, "An agent that has ended leaves no process.", pageTransports, idle((*peer).leavesNothing)},
	{"exit.orphans.in-command", TierMust, "An agent that ends while it runs a command leaves no process.", pageTransports, inCommand((*peer).leavesNothing)},
	{"exit.orphans.cancel", TierMust, "A cancelled command is gone.", pageCancellation, inSession(func(s *scene) {
		// An agent may start a helper process with its first command, and a cancelled command may not have started.
		s.command().answer()
		before := s.descendants()
		u := s.ask(PurposeSlowCommand)
		u.seesRunningTool()
		u.cancels()
		s.gone(nil, before)
	})},
	{"exit.stdout.whole-lines", TierMust, "What the agent says at its end are whole messages.", pageTransports, busy(func(p *peer) {
		p.quit()
		_, _ = p.await(p.now(), func(*message) bool { return false })
		if m := p.find(0, func(m *message) bool { return m.fault != "" }); m != nil {
			p.failAt(m, "a line on stdout is no message: %s", m.fault)
		}
	})},
	{"exit.stdout.closed", TierShould, "An agent whose client reads no more ends by itself, or at the end of stdin.", pageTransports, busy(func(p *peer) {
		p.pause()
		p.closeStdin()
		p.endsInTime(false)
	})},
}

var robustnessChecks = []Check{
	{"robustness.sessions", TierMust, "A hundred sessions can be open.", pageSession, onAgent(func(p *peer) {
		var calls []call
		for range 100 {
			calls = append(calls, p.request("session/new", setup(p.work)))
		}
		seen := make(map[string]bool)
		for _, c := range calls {
			m := p.response(c)
			id := str(m.result, "sessionId")
			if id == "" || seen[id] {
				p.failAt(m, "a session of a hundred has no id of its own")
			}
			seen[id] = true
		}
	})},
	{"robustness.prompts", TierMust, "Fifty prompts in a session, one after the other, are answered.", pagePrompt, inSession(func(s *scene) {
		for i := range 50 {
			s.ask(PurposeSay, "text", "n"+strconv.Itoa(i)).ends("end_turn")
		}
	})},
	{"robustness.parallel-turns", TierMust, "Ten sessions can have a turn at once.", pagePrompt, onAgent(func(p *peer) {
		var turns []*turn
		for i := range 10 {
			s := &scene{p, p.newSession()}
			turns = append(turns, s.ask(PurposeSay, "text", "p"+strconv.Itoa(i)))
		}
		for _, u := range turns {
			u.ends("end_turn")
		}
	})},
	{"robustness.cancel-storm", TierMust, "A hundred cancels do not harm a session.", pageCancellation, inSession(func(s *scene) {
		u := s.ask(PurposeLong)
		for range 100 {
			u.cancel()
		}
		u.answer()
		s.lives()
		s.alive()
	})},
	{"robustness.mixed-junk", TierMust, "Junk between the messages of a turn does not harm it.", pageTransports, inSession(func(s *scene) {
		s.send("junk")
		u := s.ask(PurposeSay, "text", "through")
		s.send(`{"jsonrpc":"2.0","id":`, "[]")
		u.ends("end_turn")
	})},
	{"robustness.late-responses", TierMust, "Responses that come late, or twice, do not harm a session.", pageJSONRPC, asking(func(u *turn, m *message) {
		u.reject(m)
		u.answer()
		for range 5 {
			u.allow(m)
			u.replyError(m, -32603, "late")
		}
		u.alive()
	})},
}
