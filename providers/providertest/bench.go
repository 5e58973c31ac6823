package providertest

import (
	"io"
	"net/http"
	"strings"
	"testing"

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
			server := NewServer()
			defer server.Close()
			cfg := providers.Config{
				Info: providers.ModelInfo{Provider: "test", ID: "m1"}, BaseURL: target.URL(server),
				HTTPClient: &http.Client{Transport: canned(bench.step)},
			}
			model, err := target.Open(cfg)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range model.Stream(b.Context(), hello()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
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
