package conformance

import (
	"os"
	"path/filepath"
	"strconv"
)

// dir creates a directory in the workspace.
func (p *peer) dir(name string) string {
	path := filepath.Join(p.work, name)
	if err := os.MkdirAll(path, 0o777); err != nil {
		p.t.failf("making a directory: %v", err)
	}
	return path
}

var robustnessChecks = []Check{
	{"robustness.sessions", TierMust, "A hundred sessions can be open.", pageSession, func(t *trial) {
		p := t.agent(bare)
		var calls []call
		for range 100 {
			calls = append(calls, p.request("session/new", setup(p.work)))
		}
		seen := make(map[string]bool)
		for _, c := range calls {
			m := p.response(c)
			id := str(m.result, "sessionId")
			if id == "" || seen[id] {
				t.failAt(m, "a session of a hundred has no id of its own")
			}
			seen[id] = true
		}
	}},
	{"robustness.prompts", TierMust, "Fifty prompts in a session, one after the other, are answered.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		for i := range 50 {
			p.purpose(id, PurposeSay, "text", "n"+strconv.Itoa(i)).ends("end_turn")
		}
	}},
	{"robustness.parallel-turns", TierMust, "Ten sessions can have a turn at once.", pagePrompt, func(t *trial) {
		p := t.agent(bare)
		var turns []*turn
		for i := range 10 {
			turns = append(turns, p.purpose(p.newSession(), PurposeSay, "text", "p"+strconv.Itoa(i)))
		}
		for _, u := range turns {
			u.ends("end_turn")
		}
	}},
	{"robustness.cancel-storm", TierMust, "A hundred cancels do not harm a session.", pageCancellation, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeLong)
		for range 100 {
			u.cancel()
		}
		u.answer()
		p.lives()
		u.goesOn()
	}},
	{"robustness.mixed-junk", TierMust, "Junk between the messages of a turn does not harm it.", pageTransports, func(t *trial) {
		p, id := t.session(bare)
		p.send("junk")
		u := p.purpose(id, PurposeSay, "text", "through")
		p.send(`{"jsonrpc":"2.0","id":`)
		p.send("[]")
		u.ends("end_turn")
	}},
	{"robustness.late-responses", TierMust, "Responses that come late, or twice, do not harm a session.", pageJSONRPC, func(t *trial) {
		u, m := t.asking(bare)
		u.p.permit(m, "reject_once", "reject_always")
		u.answer()
		for range 5 {
			u.p.permit(m, "allow_once", "allow_always")
			u.p.replyError(m, -32603, "late")
		}
		u.goesOn()
	}},
}
