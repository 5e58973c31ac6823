package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// costOf returns the cost in the last usage_update of some lines; negative for none.
func costOf(t *testing.T, lines [][]byte) float64 {
	t.Helper()
	var u struct {
		Cost *struct {
			Amount   float64
			Currency string
		}
	}
	last := lastOf(lines, "usage_update")
	if err := json.Unmarshal([]byte(last), &u); err != nil {
		t.Fatalf("%v in %q", err, last)
	}
	if u.Cost == nil {
		return -1
	}
	if u.Cost.Currency != "USD" {
		t.Errorf("the currency is %q", u.Cost.Currency)
	}
	return u.Cost.Amount
}

// A session's cost is counted over models and processes, each at its own price, and a sum with an unknown price is not
// reported as the whole.
func TestModels_Cost(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer()
	t.Cleanup(model.Close)
	model.Else(func(providertest.Recorded) providertest.Step {
		return providertest.Step{providertest.Text("ok"), providertest.Use(providers.Usage{Input: 100_000, Output: 10_000})}
	})
	home := manyModels(t, model, "modelRoles: {default: claude/m}\n")
	l := startLife(t, lifeOptions{home: home})
	id := l.begin()
	want := func(l *life, usd float64, parts ...string) {
		t.Helper()
		said := l.turn("/usage") // after a load it follows the load's updates
		if got := costOf(t, l.since(0)); fmt.Sprintf("%.6f", got) != fmt.Sprintf("%.6f", usd) {
			t.Errorf("the cost is %v, want %v", got, usd)
		}
		for _, part := range parts {
			if !strings.Contains(said, part) {
				t.Errorf("/usage lacks %q:\n%s", part, said)
			}
		}
	}
	l.turn("one") // 0.1 + 0.02
	want(l, 0.12, "Cost: $0.1200", "Model: claude/m", "Model calls: 1")
	l.choose("openai2/m")
	l.turn("two") // 1 + 0.2
	want(l, 1.32, "Cost: $1.32", "claude/m:", "openai2/m:", "Cost: $1.20")
	if said := l.turn("/context"); !strings.Contains(said, "110000 of 500000 tokens") || !strings.Contains(said, "$1.32") {
		t.Errorf("/context says\n%s", said)
	}
	l.stop()

	l = startLife(t, lifeOptions{home: home, work: l.work})
	l.load(id)
	l.turn("three")
	want(l, 2.52, "Cost: $2.52", "Model calls: 3")
	l.choose("gemini/gemini-3-x")
	l.turn("four")
	want(l, -1, "at least $2.52", "gemini/gemini-3-x", "are unknown")
	l.stop()

	// A load alone reports the session's cost so far, but no unknown cost.
	l = startLife(t, lifeOptions{home: home, work: l.work})
	resp := must(l.scenario, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: l.work})
	l.id = resp.SessionID
	l.turn("five")
	other := l.id
	l.stop()
	l = startLife(t, lifeOptions{home: home, work: l.work})
	l.load(other)
	want(l, 0.12, "Cost: $0.1200")
	l.stop()
	l = startLife(t, lifeOptions{home: home, work: l.work})
	l.load(id)
	want(l, -1, "at least $2.52")
	l.stop()
}
