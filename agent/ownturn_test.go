package agent_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// news is a value of a session with one event, until that is reported.
type news struct{ text string }

func (n *news) Waits() bool    { return n.text != "" }
func (n *news) Notify() string { return n.text }
func (n *news) Report() agent.Report {
	r := agent.Report{Title: n.text, Text: n.text}
	n.text = ""
	return r
}

// own begins a turn, if the session allows it, and waits for its end.
func own(w *world) (begun bool) {
	w.t.Helper()
	t, err := agent.WhenIdle(w.session, func() bool { return true })
	if err != nil {
		w.t.Error(err)
	}
	if t == nil {
		return false
	}
	if r := t.Wait(w.t.Context()); r.Err != nil {
		w.t.Errorf("the turn failed: %v", r.Err)
	}
	return true
}

// A turn that gjc begins runs the hooks of any turn and is charged like one.
func TestOwnTurn_Hooks(t *testing.T) {
	p := &hookPrograms{play: func(*hooks.Input) (string, int, error) { return "", 0, nil }}
	run(t, func(o *agent.Options) {
		withHooks(t, p, &hooks.Hook{Name: "all", Events: []hooks.Event{hooks.SessionStart, hooks.Prompt, hooks.TurnStart, hooks.Reply, hooks.TurnEnd}})(o)
		o.Model.Cost = providers.Cost{Input: 1e6}
	}, func(w *world) {
		n := &news{"the build is green"}
		agent.SetValue(w.session.Values(), n)
		if !own(w) {
			t.Fatal("no turn has begun")
		}
		if own(w) {
			t.Error("a turn has begun without an event")
		}
		snap, err := w.session.Snapshot()
		if err != nil || snap.CostUSD != 3 || snap.Title != "" {
			t.Errorf("cost %v, title %q, %v", snap.CostUSD, snap.Title, err)
		}
	}, providertest.Step{providertest.Text("ok"), providertest.Use(providers.Usage{Input: 3})})
	var saw []string
	for _, line := range p.saw {
		event, _, _ := strings.Cut(line, "\n")
		saw = append(saw, event)
	}
	if d := cmp.Diff([]string{"session_start new", "prompt <system-reminder>", "turn_start", "reply", "turn_end end_turn"}, saw); d != "" {
		t.Errorf("hooks saw (-want +got):\n%s", d)
	}
}

// No turn begins while one runs or waits, or after the session was closed.
func TestOwnTurn_NotMeanwhile(t *testing.T) {
	run(t, nil, func(w *world) {
		gate := providertest.NewGate()
		w.script.Add(providertest.Step{gate.Hold(), providertest.Text("ok")}, providertest.Step{providertest.Text("ok")})
		n := &news{"x"}
		agent.SetValue(w.session.Values(), n)
		turn := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Image{}, providers.Text{Text: "go"}}}) // an image leaves the report
		synctest.Wait()
		if own(w) {
			t.Error("a turn has begun during another one")
		}
		gate.Open()
		turn.Wait(w.t.Context())
		if !own(w) {
			t.Error("no turn has begun afterwards")
		}
		if err := w.session.Close(w.t.Context()); err != nil {
			t.Error(err)
		}
		n.text = "y"
		if turn, err := agent.WhenIdle(w.session, func() bool { return true }); turn != nil || err == nil {
			t.Error("a closed session has begun a turn")
		}
	})
}
