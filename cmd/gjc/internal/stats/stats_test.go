package stats_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gajae-code/gjc/cmd/gjc/internal/stats"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// world is a store whose clock is set.
type world struct {
	*sessions.Store
	t   *testing.T
	now time.Time
}

func newWorld(t *testing.T) *world {
	w := &world{t: t}
	w.Store = sessions.NewStore(t.TempDir(), &sessions.StoreOptions{Clock: func() time.Time { return w.now }})
	return w
}

func (w *world) at(text string) {
	w.t.Helper()
	var err error
	if w.now, err = time.Parse(time.RFC3339, text); err != nil {
		w.t.Fatal(err)
	}
}

// session begins a session with a prompt.
func (w *world) session(cwd string) *sessions.Log {
	w.t.Helper()
	log, err := w.Create(w.t.Context(), sessions.Header{Cwd: cwd})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = log.Close() })
	w.append(log, providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: "hello"}}})
	return log
}

func (w *world) append(log *sessions.Log, m providers.Message) {
	w.t.Helper()
	if _, err := log.AppendMessage(&m); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) answer(log *sessions.Log, model string, input, output int, usd float64) {
	w.t.Helper()
	w.append(log, providers.Message{
		Role: providers.RoleAssistant, Provider: "p", Model: model, Parts: []providers.Part{providers.Text{Text: "hi"}}, StopReason: providers.StopEnd,
		Usage: providers.Usage{Input: input, Output: output, CacheRead: 1}, Price: providers.Price{Total: usd},
	})
}

func (w *world) collect(o stats.Options) *stats.Report {
	w.t.Helper()
	if o.Location == nil {
		o.Location = time.UTC
	}
	r, err := stats.Collect(w.t.Context(), w.Store, &o)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func TestCollect(t *testing.T) {
	w := newWorld(t)
	w.at("2026-11-01T23:30:00Z")
	a := w.session("/w/a")
	w.answer(a, "m", 10, 1, 0.5)
	w.at("2026-11-02T10:00:00Z")
	w.answer(a, "m", 20, 2, 0.25)
	w.answer(a, "n", 30, 3, 0)
	side := sessions.SideUsage{For: "title", Provider: "p", Model: "n", Requests: 2, Usage: providers.Usage{Input: 5}, Price: providers.Price{Total: 1}}
	e, err := side.Entry()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Append(e); err != nil {
		t.Fatal(err)
	}
	b := w.session("/w/b")
	w.answer(b, "m", 100, 10, 0.125)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	fork, err := w.Fork(t.Context(), a.ID(), sessions.ForkOptions{NewID: "fork", Cwd: "/w/b"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fork.Close() })
	w.at("2026-11-02T10:00:01Z")
	w.answer(fork, "m", 1000, 100, 0.0625)
	w.session("/w/silent")

	ignore := cmpopts.IgnoreUnexported(stats.Row{})
	check := func(name string, o stats.Options, want []stats.Row) {
		t.Helper()
		if diff := cmp.Diff(want, w.collect(o).Rows, ignore, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	first := stats.Row{Key: "2026-11-01", Sessions: 1, Requests: 1, Input: 10, Output: 1, CacheRead: 1, CostUSD: 0.5}
	check("by day", stats.Options{By: stats.Day}, []stats.Row{
		first, {Key: "2026-11-02", Sessions: 3, Requests: 6, Input: 1155, Output: 115, CacheRead: 4, CostUSD: 1.4375, Unpriced: 1},
	})
	check("by day elsewhere", stats.Options{By: stats.Day, Location: time.FixedZone("", 3600)}, []stats.Row{
		{Key: "2026-11-02", Sessions: 3, Requests: 7, Input: 1165, Output: 116, CacheRead: 5, CostUSD: 1.9375, Unpriced: 1},
	})
	check("by model", stats.Options{By: stats.Model}, []stats.Row{
		{Key: "p/n", Sessions: 1, Requests: 3, Input: 35, Output: 3, CacheRead: 1, CostUSD: 1, Unpriced: 1},
		{Key: "p/m", Sessions: 3, Requests: 4, Input: 1130, Output: 113, CacheRead: 4, CostUSD: 0.9375},
	})
	check("of a directory", stats.Options{By: stats.Project, Cwd: "/w/a"}, []stats.Row{
		{Key: "/w/a", Sessions: 1, Requests: 5, Input: 65, Output: 6, CacheRead: 3, CostUSD: 1.75, Unpriced: 1},
	})
	since, err := time.Parse(time.RFC3339, "2026-11-02T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	if r := w.collect(stats.Options{By: stats.Day, Since: since}); len(r.Rows) != 1 || r.Total.Requests != 6 || r.Total.Sessions != 3 {
		t.Errorf("since: %+v", r)
	}
	if r := w.collect(stats.Options{By: stats.Day, Since: since.AddDate(1, 0, 0)}); len(r.Rows) != 0 || r.Total.Requests != 0 {
		t.Errorf("in the future: %+v", r)
	}

	// A damaged session is reported, and the others count.
	if err := os.WriteFile(b.Path(), []byte("{\"type\":\"session\",\"version\":3,\"id\":\""+b.ID()+"\",\"cwd\":\"/w/b\"}\nnot JSON\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := w.collect(stats.Options{By: stats.Day}); r.Total.Input != 1065 {
		t.Errorf("with a damaged session: %+v", r)
	}
}
