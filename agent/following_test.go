package agent_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Whatever a conversation consists of, a following returns the events of a replay, once and in order.
func TestFollowing_Random(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		var what []any
		var open []string
		for i := range 1 + r.IntN(20) {
			switch n := r.IntN(8); {
			case n == 0:
				what = append(what, fmt.Sprint("prompt ", i))
			case n == 1:
				what = append(what, spoken(providers.Thinking{Text: "hm"}, providers.Text{Text: fmt.Sprint("answer ", i)}))
			case n == 2:
				id := fmt.Sprint("c", r.IntN(3)) // some are used again
				what = append(what, spoken(providers.Text{Text: "first"}, calls(id, "x", `{}`), providers.Text{Text: "then"}, calls("other"+id, "x", `{}`), providers.Text{Text: "last"}))
				open = append(open, id, "other"+id)
			case n < 6 && len(open) > 0:
				k := r.IntN(len(open))
				what = append(what, gives(open[k], "x", fmt.Sprint("result ", i), ""))
				open = slices.Delete(open, k, k+1)
			case n == 6:
				what = append(what, sessions.Custom{CustomType: "gjc.shown", Data: jsonx.Raw(`"shown"`)})
			default:
				what = append(what, sessions.Compaction{Summary: "so far"})
			}
		}
		branch := entries(what...)
		f := agent.NewFollowing(nil)
		var got []agent.Event
		for _, e := range branch {
			got = append(got, f.Add(e)...)
		}
		if d := cmp.Diff(eventsOf(branch, nil), append(got, f.End()...)); d != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, d)
		}
		if again := f.End(); len(again) > 0 {
			t.Errorf("seed %d: a second end has %+v", seed, again)
		}
	}
}

// Each event comes with the entry that it needs, and not with a later one.
func TestFollowing_AtOnce(t *testing.T) {
	f := agent.NewFollowing(nil)
	for i, tt := range []struct {
		entry any
		want  []string
	}{
		{"hi", []string{"user: hi"}},
		{spoken(providers.Text{Text: "see"}, calls("c1", "x", `{}`), calls("c2", "x", `{}`), providers.Text{Text: "well"}), []string{"agent: see"}},
		{gives("c2", "x", "two", ""), nil},
		{gives("c1", "x", "one", ""), []string{"start c1 x", "end c1: one", "start c2 x", "end c2: two", "agent: well"}},
		{"more", []string{"user: more"}},
		{spoken(calls("c3", "x", `{}`)), nil},
	} {
		w := new(world)
		for _, ev := range f.Add(entries(tt.entry)[0]) {
			w.emit(ev)
		}
		if d := cmp.Diff(tt.want, w.story()); d != "" {
			t.Errorf("entry %d (-want +got):\n%s", i, d)
		}
	}
	w := new(world)
	for _, ev := range f.End() {
		w.emit(ev)
	}
	if d := cmp.Diff([]string{"start c3 x", "fail c3: The call was interrupted.", "notice The turn was interrupted."}, w.story()); d != "" {
		t.Errorf("the end (-want +got):\n%s", d)
	}
}
