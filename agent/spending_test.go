package agent_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// dear is a price list in which an input token costs one dollar and an output token ten.
var dear = providers.Cost{Input: 1e6, Output: 10e6}

func using(input, output int) providertest.Action {
	return providertest.Use(providers.Usage{Input: input, Output: output})
}

// Answers, summaries, titles and helper agents all count, in the session, in the turn and in the log.
func TestSpending(t *testing.T) {
	helper := agent.NewTool(agent.ToolFuncs[input]{
		Name: "helper", Kind: agent.KindOther,
		Run: func(ctx context.Context, call *agent.Call, _ *input) (*agent.Result, error) {
			done, err := call.Task(ctx, agent.Task{Title: "sub", Prompt: "do it"})
			return &agent.Result{Text: done.Text}, err
		},
	})
	run(
		t, func(o *agent.Options) {
			o.Model.Cost, o.Tools = dear, agent.Tools{helper}
			o.TitleModel = func(m providers.ModelInfo) (providers.ModelInfo, bool) { return m, true }
		}, func(w *world) {
			r := w.prompt("go")
			synctest.Wait() // for the title
			if r.Err != nil || r.Usage.Input != 1+2+4 || r.Usage.Output != 3 {
				t.Errorf("the turn: %+v", r)
			}
			if _, _, err := compact(w); err != nil {
				t.Fatal(err)
			}
			snap, err := w.session.Snapshot()
			if want := float64(1 + 2 + 4 + 8 + 16 + 10*5); err != nil || snap.CostUSD != want {
				t.Errorf("the session cost %v, want %v; %v", snap.CostUSD, want, err)
			}
			got, err := w.session.Spending()
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Models) != 1 || got.Models[0].Requests != 5 || got.Models[0].Ref() != "test/script" {
				t.Errorf("spent %+v", got.Models)
			}
			if len(got.LastTurn) != 1 || got.LastTurn[0].Usage.Input != 16 { // the compaction
				t.Errorf("the last turn %+v", got.LastTurn)
			}
			branch := branchOf(t, w.log)
			for _, e := range branch {
				if m, ok := e.(sessions.MessageEntry); ok && m.Message.Role == providers.RoleAssistant && m.Message.Price.Total == 0 {
					t.Errorf("an answer without a price: %+v", m.Message)
				}
			}
			if d := cmp.Diff(got.Models, sessions.UsesOf(branch)); d != "" {
				t.Errorf("the log (-session +log):\n%s", d)
			}
		},
		providertest.Step{providertest.Call("c", "helper", `{}`), using(1, 1)},
		providertest.Step{providertest.Text("done"), using(2, 1)}, // the helper
		providertest.Step{providertest.Text("ok"), using(4, 1)},
		providertest.Step{providertest.Text("A title"), using(8, 1)},
		providertest.Step{providertest.Text("SUM"), using(16, 1)},
	)
}

// A resumed session counts the stored usage at its stored prices. Usage without a stored price gets the current one; if there is
// none, the cost is unknown.
func TestSpending_Loaded(t *testing.T) {
	paid := sessions.Use{
		Provider: "old", Model: "gone", Requests: 1, Usage: providers.Usage{Input: 5}, Price: providers.Price{Input: 7, Total: 7},
	}
	older := sessions.Use{
		Provider: "test", Model: "script", Requests: 2, Usage: providers.Usage{Input: 3}, Unpriced: 2, UnpricedUsage: providers.Usage{Input: 3},
	}
	unknown := sessions.Use{
		Provider: "old", Model: "odd", Requests: 1, Usage: providers.Usage{Input: 3}, Unpriced: 1, UnpricedUsage: providers.Usage{Input: 3},
	}
	for _, tt := range []struct {
		name     string
		uses     []sessions.Use
		cost     float64
		repriced int
	}{
		{"stored", []sessions.Use{paid}, 7, 0},
		{"at the prices of today", []sessions.Use{paid, older}, 10, 2},
		{"a part is not the whole", []sessions.Use{paid, older, unknown}, 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) { o.Model.Cost, o.Uses = dear, tt.uses }, func(w *world) {
				snap, _ := w.session.Snapshot()
				all, err := w.session.Spending()
				if err != nil || snap.CostUSD != tt.cost || all.Repriced != tt.repriced {
					t.Errorf("cost %v, %d repriced, %v", snap.CostUSD, all.Repriced, err)
				}
			})
		})
	}
}

// The cost of a request depends on the length of its prompt and on the requested service tier.
func TestSpending_LongAndPriority(t *testing.T) {
	run(
		t, func(o *agent.Options) {
			o.Model.Cost = providers.Cost{Input: 1e6, Output: 1e6, Long: providers.LongCost{Above: 10, Input: 3e6, Output: 4e6}}
			o.Model.ServiceTiers, o.Model.TierPrices = []string{"default", "priority"}, map[string]float64{"priority": 2}
		}, func(w *world) {
			for _, want := range []float64{10 + 1, 10 + 1 + 33 + 4, 10 + 1 + 33 + 4 + 2*5} {
				w.prompt("go")
				snap, err := w.session.Snapshot()
				if err != nil || snap.CostUSD != want {
					t.Errorf("the session cost %v, want %v; %v", snap.CostUSD, want, err)
				}
				if want > 40 {
					if err := w.session.Change(agent.ToServiceTier("priority"), nil)(); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
		providertest.Step{providertest.Text("one"), using(10, 1)},
		providertest.Step{providertest.Text("two"), using(11, 1)},
		providertest.Step{providertest.Text("three"), using(4, 1)},
	)
}
