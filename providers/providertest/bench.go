package providertest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
)

// Bench measures what a model costs on our side of the wire: the events come from memory, through no socket.
func Bench(b *testing.B, target Target) {
	for _, bench := range []struct {
		name string
		step Step
	}{
		{"FirstEvent", Step{Text("hello")}},
		{"5000Deltas", Repeat(5000, func(int) Action { return Text("a few more words ") })},
	} {
		b.Run(bench.name, func(b *testing.B) {
			model := target.canned(b, bench.step)
			b.ReportAllocs()
			for b.Loop() {
				drain(b, model)
			}
		})
	}
}

// AllocBudget fails the test if the model makes more than most allocations for one delta of text.
func AllocBudget(t *testing.T, target Target, most float64) {
	t.Helper()
	if testenv.Race {
		t.Skip("the race detector allocates too")
	}
	const n = 1000
	model := target.canned(t, Repeat(n, func(int) Action { return Text("a few more words ") }))
	rest := target.canned(t, Step{Text("x")})
	all := testing.AllocsPerRun(5, func() { drain(t, model) })
	all -= testing.AllocsPerRun(5, func() { drain(t, rest) })
	if got := all / n; got > most {
		t.Errorf("%.2f allocations a delta, want at most %.2f", got, most)
	}
}

func drain(t testing.TB, model providers.Model) {
	for _, err := range model.Stream(t.Context(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// canned returns a model whose every answer is step, from memory.
func (target Target) canned(t testing.TB, step Step) providers.Model {
	server := NewServer()
	defer server.Close() // only its URL is used
	model, err := target.Open(providers.Config{
		Info: providers.ModelInfo{Provider: "test", ID: "m1"}, BaseURL: target.URL(server),
		HTTPClient: &http.Client{Transport: canned(step)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// canned answers every request with the same step.
func canned(step Step) http.RoundTripper {
	bodies := map[string]string{}
	for path, ew := range map[string]eventWriter{"/v1/messages": &anthropicWriter{}, "/v1/chat/completions": &openAIWriter{}} {
		out := ew.begin(nil)
		for _, a := range step {
			out = ew.text(out, a.(textAction).text)
		}
		bodies[path] = string(ew.end(out, providers.StopEnd, providers.Usage{Output: 1}))
	}
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: io.NopCloser(strings.NewReader(bodies[r.URL.Path])), Request: r,
		}, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (fn roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }
