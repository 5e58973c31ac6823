package agent_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// shownItem is a part of a conversation as a client shows it.
type shownItem struct {
	Events []agent.Event // the event, or the start of a call
	End    *agent.ToolEnded
}

// shown folds events into what a client shows.
func shown(events []agent.Event) (items []*shownItem) {
	of := func(id string, open bool) *shownItem {
		var last *shownItem
		for _, it := range items {
			if s, ok := it.Events[0].(agent.ToolStarted); ok && s.CallID == id {
				if last = it; open && it.End == nil {
					break
				}
			}
		}
		return last
	}
	for _, ev := range events {
		switch ev := ev.(type) {
		case agent.ToolEnded:
			of(ev.CallID, true).End = &ev
		case agent.ToolProgress:
			it := of(ev.CallID, true)
			s, _ := it.Events[0].(agent.ToolStarted)
			s.Title, s.Kind, s.Content, s.Locations = ev.Title, ev.Kind, ev.Content, ev.Locations
			it.Events[0] = s
		default:
			items = append(items, &shownItem{Events: []agent.Event{ev}})
		}
	}
	return items
}

// inTurn reports whether no prompt follows the last answer, so that results can.
func inTurn(branch []sessions.Entry) bool {
	for _, e := range slices.Backward(branch) {
		if m, ok := e.(sessions.MessageEntry); ok && m.Message.Role != providers.RoleTool {
			return m.Message.Role == providers.RoleAssistant
		}
	}
	return false
}

// Whatever a conversation consists of, a following has shown after each entry what a replay shows then, except that a call is open as long as
// its result can follow.
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
		for i, e := range branch {
			got = append(got, f.Add(e)...)
			want := shown(eventsOf(branch[:i+1], &agent.ReplayOptions{Running: true}))
			now := shown(got)
			if inTurn(branch[:i+1]) {
				for k, it := range now {
					if k < len(want) && it.End == nil && want[k].End != nil && strings.Contains(fmt.Sprint(want[k].End.Content), "interrupted") {
						want[k].End = nil
					}
				}
			}
			if d := cmp.Diff(want, now); d != "" {
				t.Fatalf("seed %d, entry %d of\n%+v (-want +got):\n%s", seed, i, what[:i+1], d)
			}
		}
		if d := cmp.Diff(shown(eventsOf(branch, nil)), shown(append(got, f.End()...))); d != "" {
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
	const cut = "The call was interrupted."
	for i, tt := range []struct {
		entry any
		want  []string
	}{
		{"hi", []string{"user: hi"}},
		{spoken(providers.Text{Text: "see"}, calls("c1", "x", `{}`), calls("c2", "x", `{}`), providers.Text{Text: "well"}), []string{"agent: see", "start c1 x", "start c2 x", "agent: well"}},
		{gives("c2", "x", "two", ""), []string{"end c2: two"}},
		{gives("c1", "x", "one", ""), []string{"end c1: one"}},
		{"more", []string{"user: more"}},
		{spoken(calls("c3", "x", `{}`)), []string{"start c3 x"}},
		{"the turn was cut", []string{"fail c3: " + cut, "user: the turn was cut"}},
		{spoken(calls("c4", "x", `{}`)), []string{"start c4 x"}},
		{spoken(calls("c5", "x", `{}`)), []string{"fail c4: " + cut, "start c5 x"}},
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
	if d := cmp.Diff([]string{"fail c5: " + cut, "notice The turn was interrupted."}, w.story()); d != "" {
		t.Errorf("the end (-want +got):\n%s", d)
	}
}
