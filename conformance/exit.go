package conformance

import (
	"time"

	"github.com/gajae-code/gjc/internal/proc"
)

// exits waits for the agent to end by itself and returns its exit and the time that it took.
func (p *peer) exits() (state proc.ExitState, took time.Duration) {
	begin := time.Now()
	select {
	case <-p.child.Done():
		return p.child.State(), time.Since(begin)
	case <-p.t.ctx.Done():
		p.t.failf("the agent does not end")
		return proc.ExitState{}, 0
	}
}

// ends checks that the agent ends in time with exit code 0, with no process left.
func (p *peer) ends() {
	before := descendants(p)
	p.closeStdin()
	p.endsWell()
	p.leavesNothing(before)
}

// endsWell checks for exit code 0, in time.
func (p *peer) endsWell() {
	state, took := p.exits()
	if !state.Success() {
		p.t.failf("the agent %v", state)
	}
	if limit := p.t.suite.opts.Patience; took > limit {
		p.t.failf("the agent took %v to end, more than %v", took.Round(time.Millisecond), limit)
	}
}

// busyWith starts a turn for a purpose and waits until it is running.
func (t *trial) busyWith(capabilities object, purpose Purpose) *turn {
	p, id := t.session(capabilities)
	u := p.purpose(id, purpose)
	if purpose == PurposeLong {
		u.running()
		return u
	}
	// The start of a command is visible only in the tool call's status.
	u.sees("a running tool call", func(m *message) bool {
		_, body := m.update()
		return str(body, "status") == "in_progress" || m.method == "terminal/wait_for_exit"
	})
	return u
}

var exitChecks = []Check{
	{"exit.eof.at-start", TierMust, "An agent whose stdin ends before initialize ends with code 0 in time.", pageTransports, func(t *trial) {
		p := t.start()
		p.closeStdin()
		p.endsWell()
	}},
	{"exit.eof.idle", TierMust, "An agent whose stdin ends ends with code 0 in time.", pageTransports, func(t *trial) {
		p, _ := t.session(bare)
		p.closeStdin()
		p.endsWell()
	}},
	{"exit.eof.in-turn", TierMust, "An agent whose stdin ends in a turn ends with code 0 in time.", pageTransports, func(t *trial) {
		u := t.busyWith(bare, PurposeLong)
		u.p.closeStdin()
		u.p.endsWell()
	}},
	{"exit.eof.in-permission", TierMust, "An agent whose stdin ends while it waits for permission ends with code 0 in time.", pageTransports, func(t *trial) {
		u, _ := t.asking(bare)
		u.p.closeStdin()
		u.p.endsWell()
	}},
	{"exit.eof.in-command", TierMust, "An agent whose stdin ends while it runs a command ends with code 0 in time.", pageTransports, func(t *trial) {
		u := t.busyWith(bare, PurposeSlowCommand)
		u.p.closeStdin()
		u.p.endsWell()
	}},
	{"exit.eof.in-terminal", TierMust, "An agent whose stdin ends while it waits for the client's terminal ends with code 0 in time.", pageTransports, func(t *trial) {
		u := t.slowCommand()
		u.p.closeStdin()
		u.p.endsWell()
	}},
	{"exit.eof.half-a-line", TierMust, "An agent whose stdin ends inside a message ends with code 0 in time.", pageTransports, func(t *trial) {
		p := t.agent(bare)
		p.sendPieces([]byte(`{"jsonrpc":"2.0","id":9,"method":"_conform`))
		p.closeStdin()
		p.endsWell()
	}},
	{"exit.eof.answers-first", TierShould, "What was asked before the end of stdin is answered.", pageTransports, func(t *trial) {
		p := t.agent(bare)
		c := p.request("_conformance/ping", object{})
		p.closeStdin()
		p.response(c)
	}},
	{"exit.signal.idle", TierMust, "An idle agent ends in time on SIGTERM.", pageTransports, signalled(func(t *trial) *peer {
		p, _ := t.session(bare)
		return p
	})},
	{"exit.signal.in-turn", TierMust, "An agent in a turn ends in time on SIGTERM.", pageTransports, signalled(func(t *trial) *peer {
		return t.busyWith(bare, PurposeLong).p
	})},
	{"exit.signal.in-command", TierMust, "An agent that runs a command ends in time on SIGTERM, with nothing left behind.", pageTransports, signalled(func(t *trial) *peer {
		return t.busyWith(bare, PurposeSlowCommand).p
	})},
	{"exit.signal.code", TierShould, "An agent that SIGTERM ends has the exit code 0.", pageTransports, func(t *trial) {
		p, _ := t.session(bare)
		p.terminate()
		if state, _ := p.exits(); !state.Success() {
			t.failf("the agent %v", state)
		}
	}},
	{"exit.orphans.idle", TierMust, "An agent that has ended leaves no process behind.", pageTransports, func(t *trial) {
		p, _ := t.session(bare)
		p.ends()
	}},
	{"exit.orphans.in-command", TierMust, "An agent that ends while it runs a command leaves no process behind.", pageTransports, func(t *trial) {
		t.busyWith(bare, PurposeSlowCommand).p.ends()
	}},
	{"exit.orphans.cancel", TierMust, "A cancelled command is gone.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		// An agent may start a helper process with its first command, and a cancelled command may not have started.
		p.purpose(id, PurposeCommand, "file", "ran.txt", "text", "ran").answer()
		before := descendants(p)
		u := p.purpose(id, PurposeSlowCommand)
		u.sees("a running tool call", func(m *message) bool {
			_, body := m.update()
			return str(body, "status") == "in_progress"
		})
		u.cancels()
		p.leavesOnly(before)
	}},
	{"exit.stdout.whole-lines", TierMust, "What the agent says at its end are whole messages.", pageTransports, func(t *trial) {
		u := t.busyWith(bare, PurposeLong)
		u.p.closeStdin()
		u.p.exits()
		_, _ = u.p.await(u.p.now(), func(*message) bool { return false })
		for _, m := range u.p.messages(0) {
			if !m.sent && m.fault != "" {
				t.failAt(m, "a line on stdout is no message: %s", m.fault)
			}
		}
	}},
	{"exit.stdout.closed", TierShould, "An agent whose client reads no more ends by itself, or at the end of stdin.", pageTransports, func(t *trial) {
		u := t.busyWith(bare, PurposeLong)
		u.p.pause()
		u.p.closeStdin()
		_, took := u.p.exits()
		if took > u.p.t.suite.opts.Patience {
			t.failf("the agent took %v to end", took.Round(time.Millisecond))
		}
	}},
}

// terminate signals the agent.
func (p *peer) terminate() {
	if err := p.child.Terminate(); err != nil {
		p.t.skipAs(ReasonNotPossible, "the agent cannot be signalled here: %v", err)
	}
}

// signalled returns a check that an agent ends in time on a signal, with no process left.
func signalled(prepare func(*trial) *peer) func(*trial) {
	return func(t *trial) {
		p := prepare(t)
		before := descendants(p)
		p.terminate()
		if _, took := p.exits(); took > t.suite.opts.Patience {
			t.failf("the agent took %v to end", took.Round(time.Millisecond))
		}
		p.leavesNothing(before)
	}
}
