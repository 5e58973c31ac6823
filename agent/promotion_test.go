package agent_test

import (
	"slices"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// listing is a fleet that lists its models.
type listing struct{ *fleet }

func (l listing) Models() []providers.ModelInfo {
	var all []providers.ModelInfo
	for _, s := range l.more {
		all = append(all, s.Info())
	}
	return all
}

func larger(provider, id string, window int) *providertest.Script {
	s := providertest.NewScript(providers.ModelInfo{Provider: provider, ID: id, ContextWindow: window})
	s.Else(func(*providers.Request) providertest.Step {
		return providertest.Step{providertest.Text("from " + id), full(90_000)}
	})
	return s
}

// A conversation that outgrows its model continues with a larger one, if that is allowed and one exists. Otherwise it is compacted.
func TestPromotion(t *testing.T) {
	overflowing := providertest.Step{providertest.Fail(overflow())}
	over := providertest.Step{providertest.Call("c", "echo", `{}`), full(90_000)}
	incomplete := providertest.Step{providertest.Text("half"), providertest.Stop(providers.StopLength), full(99_000)}
	for _, tt := range []struct {
		name   string
		off    bool
		target string
		lists  bool
		first  providertest.Step
		want   string // empty for a compaction
	}{
		{"off", true, "test/big", true, overflowing, ""},
		{"named", false, "test/big", false, overflowing, "test/big"},
		{"named by its id", false, "big", false, overflowing, "test/big"},
		{"of another provider", false, "other/huge", false, overflowing, "other/huge"},
		{"named one is no larger", false, "test/small", false, overflowing, ""},
		{"named one is not there", false, "test/none", false, overflowing, ""},
		{"named one is not there, another is", false, "test/none", true, overflowing, "test/big"},
		{"the smallest larger of the provider", false, "", true, overflowing, "test/big"},
		{"none is known", false, "", false, overflowing, ""},
		{"over the threshold", false, "", true, over, "test/big"},
		{"incomplete", false, "", true, incomplete, "test/big"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) {
				window(o, 100_000)
				o.Model.ContextPromotionTarget = tt.target
				set(o).ContextPromotion = !tt.off
				set(o).Compaction.KeepRecentTokens = 17_000
				f := &fleet{o.Models, []*providertest.Script{
					larger("test", "small", 50_000), larger("test", "huge", 900_000), larger("test", "big", 400_000), larger("other", "huge", 900_000), larger("other", "cheap", 200_000),
				}}
				if o.Models = f; tt.lists {
					o.Models = listing{f}
				}
				long(t, o, 60_000)
			}, func(w *world) {
				w.script.Else(func(req *providers.Request) providertest.Step {
					return providertest.Step{providertest.Text("fine"), full(10_000)}
				})
				w.script.Add(tt.first)
				if r := w.prompt("go"); r.Err != nil || r.Stop != agent.StopEndTurn {
					t.Fatalf("%+v", r)
				}
				snap, err := w.session.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				var changes []sessions.ModelChange
				notified := 0
				for _, e := range branchOf(t, w.log) {
					if c, ok := e.(sessions.ModelChange); ok {
						changes = append(changes, c)
					}
				}
				for _, ev := range w.events {
					if _, ok := ev.(agent.ConfigChanged); ok {
						notified++
					}
				}
				if tt.want == "" {
					if snap.Model.Ref() != "test/script" || len(changes) > 0 || notified > 0 || len(stored(t, w.log)) != 1 {
						t.Errorf("the model is %s, %+v, %q", snap.Model.Ref(), changes, ended(w))
					}
					return
				}
				if snap.Model.Ref() != tt.want || notified != 1 || len(ended(w)) > 0 {
					t.Errorf("the model is %s; notified %d times, %q", snap.Model.Ref(), notified, ended(w))
				}
				if len(changes) != 1 || changes[0].Model != tt.want || changes[0].PreviousModel != "test/script" || changes[0].Reason != "context-promotion" {
					t.Errorf("stored %+v", changes)
				}
				if got := notices(w); !slices.Equal(got, []string{"The conversation has outgrown test/script; continuing with " + tt.want + "."}) {
					t.Errorf("noticed %q", got)
				}
			})
		})
	}
}

// If none of the larger models can hold the conversation either, it is compacted.
func TestPromotion_AllOverflow(t *testing.T) {
	var scripts []*providertest.Script
	for i, id := range []string{"b", "c", "d", "e"} {
		scripts = append(scripts, providertest.NewScript(providers.ModelInfo{Provider: "test", ID: id, ContextWindow: (i + 2) * 100_000}))
		scripts[i].Add(providertest.Step{providertest.Fail(overflow())})
	}
	run(t, func(o *agent.Options) {
		window(o, 100_000)
		set(o).ContextPromotion = true
		set(o).Compaction.KeepRecentTokens = 17_000
		o.Models = listing{&fleet{o.Models, scripts}}
		long(t, o, 60_000)
	}, func(w *world) {
		w.script.Add(providertest.Step{providertest.Fail(overflow())})
		scripts[3].Else(func(*providers.Request) providertest.Step {
			return providertest.Step{providertest.Text("fine"), full(10_000)}
		})
		if r := w.prompt("go"); r.Err != nil || r.Stop != agent.StopEndTurn {
			t.Errorf("%+v", r)
		}
		if n := len(stored(t, w.log)); n != 1 {
			t.Errorf("%d compactions", n)
		}
	})
}
