package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// Old output is hidden from the model before anything is summarized, except for the content of files. The log and the transcript
// keep it.
func TestPrune(t *testing.T) {
	for _, tt := range []struct {
		name string
		// tool has results of the given sizes, oldest first.
		tool   string
		sizes  []int
		pruned []bool // which results are pruned; nil for none
	}{
		{"old output goes", "bash", []int{15_000, 15_000, 1, 20_000, 20_000}, []bool{true, true, false, false, false}},
		{"what crosses the bound stays", "bash", []int{30_000, 35_000, 10_000}, []bool{true, false, false}},
		{"too little is not worth it", "bash", []int{19_000, 40_000, 1}, nil},
		{"what was read stays", "read", []int{30_000, 30_000, 40_000}, nil},
		{"a skill stays", "skill", []int{30_000, 30_000, 40_000}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) {
				window(o, 400_000)
				set(o).Compaction.ThresholdTokens = 50_000
				remember(t, o, user("go", 10))
				for i, n := range tt.sizes {
					c := toolCall(fmt.Sprint("c", i), tt.tool, `{}`)
					remember(t, o, agentSays("a", 1, c), result(c, n))
				}
				remember(t, o, agentSays("done", 1))
			}, func(w *world) {
				w.script.Else(func(req *providers.Request) providertest.Step {
					if summaryRequested(req) {
						return providertest.Step{providertest.Text("SUM")}
					}
					return providertest.Step{providertest.Text("ok"), full(1000)}
				})
				w.prompt("next")
				reqs := w.script.Requests()
				if tt.pruned == nil {
					if !summaryRequested(reqs[0]) {
						t.Error("nothing was compacted")
					}
					return
				}
				if len(stored(t, w.log)) > 0 && !slices.Contains(tt.pruned, true) {
					t.Error("compacted although pruning was enough")
				}
				var got []bool
				for _, m := range reqs[len(reqs)-1].Messages {
					if m.Role == providers.RoleTool {
						got = append(got, strings.HasPrefix(m.Text(), "[Output truncated - "))
					}
				}
				if !slices.Equal(got, tt.pruned) {
					t.Errorf("pruned %v, want %v", got, tt.pruned)
				}
				var entries []sessions.Custom
				for _, e := range branchOf(t, w.log) {
					if c, ok := e.(sessions.Custom); ok {
						entries = append(entries, c)
					}
				}
				if len(entries) != 1 || entries[0].CustomType != sessions.CustomPruned {
					t.Errorf("stored %+v", entries)
				}
				transcript, _ := w.session.Transcript()
				for i := range transcript {
					if strings.Contains(transcript[i].Text(), "truncated") {
						t.Error("people are shown less")
					}
				}
			})
		})
	}
}

// The saving from pruning counts immediately, so that no unnecessary summary follows.
func TestPrune_IsEnough(t *testing.T) {
	run(t, func(o *agent.Options) {
		window(o, 400_000)
		set(o).Compaction.ThresholdTokens = 100_000
		remember(t, o, user("go", 10))
		for i := range 5 {
			c := toolCall(fmt.Sprint("c", i), "bash", `{}`)
			remember(t, o, agentSays("a", 1, c), result(c, 20_000))
		}
		answer := agentSays("done", 1)
		answer.Usage = providers.Usage{Input: 120_000}
		remember(t, o, answer)
	}, func(w *world) {
		w.prompt("next")
		if n := len(w.script.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
		use, err := w.session.ContextUse(w.t.Context())
		if err != nil || use.Used != 60_005 {
			t.Errorf("%+v, %v", use, err)
		}
	}, providertest.Step{providertest.Text("ok"), full(60_000)})
}
