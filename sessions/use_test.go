package sessions_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Prices are stored with the answers and are restored: for answers in abandoned branches, and for usage outside the
// conversation. Data of other programs counts as far as it is complete.
func TestUses(t *testing.T) {
	store := sessions.NewStore(t.TempDir(), nil)
	log, err := store.Create(t.Context(), sessions.Header{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	usage := providers.Usage{Input: 100, Output: 10, CacheRead: 1000, CacheWrite: 50, Thinking: 3}
	price := providers.Cost{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}.Price(usage)
	answer := func(model string, p providers.Price) *providers.Message {
		return &providers.Message{
			Role: providers.RoleAssistant, Parts: []providers.Part{providers.Text{Text: "a"}}, Time: time.UnixMilli(1e12).UTC(),
			Provider: "acme", Model: model, StopReason: providers.StopEnd, Usage: usage, Price: p,
		}
	}
	for _, m := range []*providers.Message{answer("m1", price), answer("m1", price), answer("free", providers.Price{})} {
		if _, err := log.AppendMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	cut := answer("m1", price)
	cut.StopReason = providers.StopAborted
	early := answer("m1", providers.Price{})
	early.StopReason, early.Usage = providers.StopError, providers.Usage{}
	refused := answer("m1", providers.Price{}) // as other programs keep it
	refused.StopReason, refused.Usage, refused.Parts = providers.StopError, providers.Usage{}, nil
	for _, m := range []*providers.Message{cut, early, refused} {
		if _, err := log.AppendMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Rewind(""); err != nil { // abandoned answers count too
		t.Fatal(err)
	}
	side, err := (&sessions.SideUsage{For: "a title", Provider: "acme", Model: "small", Usage: usage, Price: price}).Entry()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(side); err != nil {
		t.Fatal(err)
	}
	dropped, err := (&sessions.SideUsage{For: "a dropped answer", Provider: "acme", Model: "small"}).Entry()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(dropped); err != nil {
		t.Fatal(err)
	}
	broken, err := (&sessions.SideUsage{Provider: "acme", Model: "small", Requests: 2, Cut: 1, Usage: usage, Price: price}).Entry()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(broken); err != nil {
		t.Fatal(err)
	}
	want := []sessions.Use{
		{Provider: "acme", Model: "m1", Requests: 4, Usage: usage.Add(usage).Add(usage), Price: price.Add(price).Add(price), Unreported: 1, Cut: 1},
		{Provider: "acme", Model: "free", Requests: 1, Usage: usage, Unpriced: 1, UnpricedUsage: usage},
		{Provider: "acme", Model: "small", Requests: 4, Usage: usage.Add(usage), Price: price.Add(price), Unreported: 1, Cut: 1},
	}
	if d := cmp.Diff(want, log.Uses()); d != "" {
		t.Errorf("live (-want +got):\n%s", d)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(log.Path())
	if err != nil || !strings.Contains(string(data), `"cost":{"input":0.0003,`) {
		t.Errorf("the file has no price: %s, %v", data, err)
	}
	again, err := store.Open(t.Context(), log.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if d := cmp.Diff(want, again.Uses()); d != "" {
		t.Errorf("loaded (-want +got):\n%s", d)
	}
	entries, err := again.Entries()
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := entries[0].(sessions.MessageEntry); !ok || m.Message.Price != price {
		t.Errorf("the answer has the price %+v, want %+v", m.Message.Price, price)
	}
	if d := cmp.Diff(want, sessions.UsesOf(entries)); d != "" {
		t.Errorf("of the entries (-want +got):\n%s", d)
	}
}

// An invalid price is ignored and does not affect the counts.
func TestUses_OtherPrograms(t *testing.T) {
	for _, tt := range []struct {
		cost string
		want providers.Price
	}{
		{`{"input":1,"output":2,"cacheRead":0,"cacheWrite":0}`, providers.Price{Input: 1, Output: 2, Total: 3}},
		{`{"input":1,"output":2,"total":7}`, providers.Price{Input: 1, Output: 2, Total: 7}},
		{`{"total":-7}`, providers.Price{}},
		{`"much"`, providers.Price{}},
		{`null`, providers.Price{}},
		{`{"total":"7"}`, providers.Price{}},
	} {
		line := `{"type":"message","id":"a1","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"assistant","content":[],` +
			`"provider":"acme","model":"m","usage":{"input":5,"output":6,"cost":` + tt.cost + `},"timestamp":1771237230000}}`
		store := newStore(t)
		place(t, store, "s1", `{"type":"session","version":3,"id":"s1","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/w"}`+"\n"+line+"\n")
		log := open(t, store, "s1")
		uses := log.Uses()
		closeLog(t, log)
		if len(uses) != 1 || uses[0].Price != tt.want || uses[0].Usage.Output != 6 {
			t.Errorf("%s: %+v", tt.cost, uses)
		}
	}
}
