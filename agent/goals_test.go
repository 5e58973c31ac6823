package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/goal"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A goal that the user sets during a turn that the model refuses is kept, although the turn is removed from the conversation, and the
// model receives it with the next prompt.
func TestGoal_SetInARefusedTurn(t *testing.T) {
	run(t, nil, func(w *world) {
		gate := providertest.NewGate()
		w.speak(
			providertest.Step{providertest.Text("ok")},
			providertest.Step{gate.Hold(), providertest.Text("no"), providertest.Stop(providers.StopRefusal)},
			providertest.Step{providertest.Text("on it")},
		)
		w.prompt("one")
		turn := w.session.Prompt(agent.Prompt{Parts: words("two")})
		<-gate.Reached()
		if err := agent.ChangeGoal(w.session, func(_ *goal.Goal, _ int, now time.Time) (*goal.Goal, error) {
			return goal.New("all tests pass", 0, now)
		})(); err != nil {
			t.Fatal(err)
		}
		gate.Open()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopRefusal {
			t.Fatalf("%+v", r)
		}
		w.prompt("three")
		reqs := w.script.Requests()
		seen := strings.Join(heads(reqs[len(reqs)-1].Messages), "|")
		if strings.Contains(seen, "two") || strings.Count(seen, "The user has set the goal") != 1 {
			t.Errorf("the model sees %q", seen)
		}
		if g := goal.Of(branchOf(t, w.log)); !g.IsActive() || g.Objective != "all tests pass" {
			t.Errorf("the log has %+v", g)
		}
	})
}
