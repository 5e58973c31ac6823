package agent_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers/providertest"
)

// Concurrent calls are announced in the order in which the model made them, however long each takes to plan. An editor shows them
// in that order, and so does a loaded session.
func TestTurn_AnnouncesCallsInOrder(t *testing.T) {
	run(t, func(o *agent.Options) {
		slow := agent.NewTool(agent.ToolFuncs[input]{
			Name: "slow", Kind: agent.KindOther,
			Plan: func(ctx context.Context, _ *agent.Call, in *input) (*agent.CallPlan, error) {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
				if in.Say == "broken" {
					panic(in.Say)
				}
				return &agent.CallPlan{Title: "slow"}, nil
			},
			Run: func(context.Context, *agent.Call, *input) (*agent.Result, error) {
				return &agent.Result{Text: "ok"}, nil
			},
		})
		o.Tools = append(o.Tools.(agent.Tools), slow)
	}, func(w *world) {
		w.prompt("go")
		var order []string
		for _, ev := range w.events {
			if ev, ok := ev.(agent.ToolStarted); ok {
				order = append(order, ev.CallID)
			}
		}
		if want := []string{"c1", "c2", "c3", "c4", "c5"}; !slices.Equal(order, want) {
			t.Errorf("announced as %q", order)
		}
	},
		providertest.Step{
			providertest.Call("c1", "slow", `{"say":"x"}`), providertest.Call("c2", "echo", `{"say":"x"}`), providertest.Call("c3", "nonesuch", `{}`),
			providertest.Call("c4", "slow", `{"say":"broken"}`), providertest.Call("c5", "echo", `{"say":"x"}`),
		},
		providertest.Step{providertest.Text("b")})
}
