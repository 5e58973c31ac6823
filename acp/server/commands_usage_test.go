package server_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// priced returns a registry with a model that costs one dollar per token and a model whose prices are unknown.
func priced(steps ...providertest.Step) func(*config) {
	return func(c *config) {
		info := providers.ModelInfo{
			Provider: "test", ID: "dear", ContextWindow: 100_000, Cost: providers.Cost{Input: 1e6, Output: 1e6, CacheRead: 1e5, CacheWrite: 2e6},
		}
		c.server.Models.Models = &models{list: []providers.Model{
			providertest.NewScript(info, steps...),
			providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "odd", ContextWindow: 50_000}, providertest.Step{providertest.Text("hm")}),
		}}
	}
}

// reload closes a session, loads it, and returns its usage update.
func (e *env) reload(id acp.SessionID) *acp.UsageUpdate {
	e.t.Helper()
	if _, err := acp.MethodSessionClose.Call(e.t.Context(), e.Conn, &acp.CloseSessionRequest{SessionID: id}); err != nil {
		e.t.Fatal(err)
	}
	before := len(e.Updates(id))
	if _, err := acp.MethodSessionLoad.Call(e.t.Context(), e.Conn, &acp.LoadSessionRequest{SessionID: id, Cwd: e.dir}); err != nil {
		e.t.Fatal(err)
	}
	var last *acp.UsageUpdate
	e.await(id, func(updates []acp.SessionUpdate, _ []string) bool {
		all := usageUpdates(updates[before:])
		if len(all) > 0 {
			last = all[0]
		}
		return len(all) > 0
	})
	return last
}

// An interrupted answer counts with the usage reported before the interruption, both live and when the session is loaded. An
// interrupted answer without reported usage makes the cost unknown. The fill level of the window does not change.
func TestUsage_CutOff(t *testing.T) {
	used := providers.Usage{Input: 3, Output: 2, CacheRead: 10, CacheWrite: 4}
	cost, gate := 3+2+1+8., providertest.NewGate()
	invalid := providertest.Fail(&providers.Error{Kind: providers.KindInvalid, Provider: "test", Message: "no"})
	e := start(t, priced(
		providertest.Step{providertest.Text("half"), providertest.ReportUsage(used), gate.Hold()},
		providertest.Step{providertest.Text("ok"), providertest.Use(providers.Usage{Input: 10, Output: 5})},
		providertest.Step{providertest.ReportUsage(used), invalid},
		providertest.Step{providertest.Text("half"), invalid},
	))
	id := e.session()
	last := func() *acp.UsageUpdate {
		all := usageUpdates(e.Updates(id))
		return all[len(all)-1]
	}
	check := func(what string, u *acp.UsageUpdate, filled int64, cost float64) {
		t.Helper()
		if u.Used != filled || (u.Cost != nil) != (cost > 0) || u.Cost != nil && u.Cost.Amount != cost {
			t.Errorf("%s: %+v, cost %+v; want %d and %v", what, u, u.Cost, filled, cost)
		}
	}
	go func() {
		<-gate.Reached()
		if err := acp.MethodSessionCancel.Notify(t.Context(), e.Conn, &acp.CancelNotification{SessionID: id}); err != nil {
			t.Error(err)
		}
	}()
	resp, err := e.Prompt(t.Context(), id, "one")
	if err != nil || resp.StopReason != acp.StopReasonCancelled || resp.Usage == nil || resp.Usage.TotalTokens != 19 ||
		resp.Usage.CachedReadTokens == nil || *resp.Usage.CachedReadTokens != 10 {
		t.Errorf("cancelled: %+v, %v", resp, err)
	}
	check("cancelled", last(), 0, cost)
	check("cancelled, loaded", e.reload(id), 0, cost)
	e.say(id, "two", acp.StopReasonEndTurn)
	check("whole", last(), 15, cost+15)
	if _, err := e.Prompt(t.Context(), id, "three"); err == nil {
		t.Error("an answer that failed is none")
	}
	check("failed", last(), 15, 2*cost+15)
	check("failed, loaded", e.reload(id), 15, 2*cost+15)
	const sums = "- Model calls: 3\n- Input: 16 tokens, and 20 read from and 8 written to the cache\n"
	if got, _ := e.after(id, "/usage"); !containsAll(got, sums, "- Output: 9 tokens\n- Cost: $43.00\n", "2 answers were cut off: ") || strings.Contains(got, "unknown") {
		t.Errorf("/usage: %q", got)
	}
	if _, err := e.Prompt(t.Context(), id, "four"); err == nil {
		t.Error("an answer that failed is none")
	}
	check("unknown", last(), 15, 2*cost+15)
	for range 2 {
		if got, _ := e.after(id, "/usage"); !containsAll(got, "- Model calls: 4, 1 of them with unknown usage\n", "- Input: 16 tokens",
			"- Cost: at least $43.00; the usage of 1 call is unknown\n", "2 answers were cut off: ", "The usage of 1 answer is unknown: ", "The cost that editors receive covers only the others.") ||
			strings.Contains(got, "receive no cost") {
			t.Errorf("/usage: %q", got)
		}
		check("unknown, loaded", e.reload(id), 15, 2*cost+15)
	}
}

func usageUpdates(updates []acp.SessionUpdate) []*acp.UsageUpdate {
	var all []*acp.UsageUpdate
	for _, u := range updates {
		if u, ok := u.(*acp.UsageUpdate); ok {
			all = append(all, u)
		}
	}
	return all
}

// A cost has no rounding errors, however many prices it sums up.
func TestUsage_Digits(t *testing.T) {
	step := providertest.Step{providertest.Text("ok"), providertest.Use(providers.Usage{Input: 1234, Output: 567, CacheRead: 89})}
	e := start(t, func(c *config) {
		info := providers.ModelInfo{Provider: "test", ID: "cheap", ContextWindow: 100_000, Cost: providers.Cost{Input: 0.15, Output: 0.6, CacheRead: 0.075}}
		c.server.Models.Models = &models{list: []providers.Model{providertest.NewScript(info, step, step, step, step, step, step, step)}}
	})
	id := e.session()
	for range 7 {
		e.say(id, "go on", acp.StopReasonEndTurn)
	}
	last := ""
	for _, u := range append(usageUpdates(e.Updates(id)), e.reload(id)) {
		if u.Cost == nil {
			continue
		}
		if last = strconv.FormatFloat(u.Cost.Amount, 'f', -1, 64); len(last) > len("0.000000000000") {
			t.Errorf("a cost of %s", last)
		}
	}
	if last != "0.003723825" {
		t.Errorf("the last cost is %s", last)
	}
}

// Every usage update has the cost while it is known, /usage itemizes it, and a loaded session continues with it.
func TestUsage(t *testing.T) {
	usage := providers.Usage{Input: 10, Output: 5, CacheRead: 80, CacheWrite: 10, Thinking: 2}
	step := providertest.Step{providertest.Text("ok"), providertest.Use(usage)}
	e := start(t, priced(step, step))
	id := e.session()
	if got, _ := e.after(id, "/usage"); !strings.Contains(got, "No model has been called") {
		t.Errorf("an empty session: %q", got)
	}
	resp, err := e.Prompt(t.Context(), id, "one")
	if err != nil {
		t.Fatal(err)
	}
	if u := resp.Usage; u == nil || u.TotalTokens != 105 || u.ThoughtTokens == nil || *u.ThoughtTokens != 2 ||
		u.CachedReadTokens == nil || *u.CachedReadTokens != 80 || u.CachedWriteTokens == nil || *u.CachedWriteTokens != 10 {
		t.Errorf("the prompt used %+v", u)
	}
	want := 10 + 5 + 8 + 20.
	all := usageUpdates(e.Updates(id))
	if n := len(all); n == 0 || all[n-1].Used != 105 || all[n-1].Cost == nil || all[n-1].Cost.Amount != want || all[n-1].Cost.Currency != "USD" {
		t.Fatalf("usage updates: %+v", all)
	}
	got, _ := e.after(id, "/usage")
	if !containsAll(got, "Model calls: 1", "80 read from and 10 written", "Cache hits: 80%", "2 of them reasoning", "Cost: $43.00", "test/dear", "The last turn:") ||
		strings.Contains(got, "unknown") {
		t.Errorf("/usage: %q", got)
	}
	if got, _ := e.after(id, "/context"); !strings.Contains(got, "Cost so far: $43.00") {
		t.Errorf("/context: %q", got)
	}
	e.say(id, "/model test/odd", acp.StopReasonEndTurn)
	_, updates := e.after(id, "two")
	if all := usageUpdates(updates); len(all) != 1 || all[0].Cost != nil || all[0].Size != 50_000 {
		t.Errorf("a part is sent as the whole: %+v", all)
	}
	got, _ = e.after(id, "/usage")
	if !containsAll(got, "at least $43.00; the prices of 1 call are unknown", "test/odd:", "The prices of test/odd are unknown", "Until then editors receive no cost") ||
		strings.Contains(got, "of the others") {
		t.Errorf("/usage: %q", got)
	}

	id = e.session()
	e.say(id, "again", acp.StopReasonEndTurn)
	before := len(e.Updates(id))
	for _, live := range []bool{true, false} {
		if !live {
			if _, err := acp.MethodSessionClose.Call(t.Context(), e.Conn, &acp.CloseSessionRequest{SessionID: id}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := acp.MethodSessionLoad.Call(t.Context(), e.Conn, &acp.LoadSessionRequest{SessionID: id, Cwd: e.dir}); err != nil {
			t.Fatal(err)
		}
		// If the client prompts quickly, the updates after the response may follow the answer to the prompt.
		e.await(id, func(updates []acp.SessionUpdate, _ []string) bool {
			return len(usageUpdates(updates[before:])) > 0
		})
		got, _ = e.after(id, "/usage")
		all = usageUpdates(e.Updates(id)[before:])
		if n := len(all); n != 1 || all[0].Used != 105 || all[0].Cost == nil || all[0].Cost.Amount != want {
			t.Errorf("loaded, live %v: %+v", live, slices.Clone(all))
		}
		if !containsAll(got, "Model calls: 1", "Cost: $43.00") {
			t.Errorf("/usage of a loaded session: %q", got)
		}
		before = len(e.Updates(id))
	}
}
