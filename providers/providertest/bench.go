package providertest

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
)

// Bench measures the cost of a model on gjc's side of the wire: the events come from memory, not from a socket.
func Bench(b *testing.B, target Target) {
	for _, bench := range []struct {
		name string
		step Step
	}{
		{"FirstEvent", Step{Text("hello")}},
		{"5000Deltas", Repeat(5000, func(int) Action { return Text("a few more words ") })},
	} {
		b.Run(bench.name, func(b *testing.B) {
			model := target.canned(b, bench.step, nil)
			b.ReportAllocs()
			for b.Loop() {
				drain(b, model)
			}
		})
	}
}

// Conversation returns a request of n messages: questions, answers with calls, and results in turn, as in a long session.
func Conversation(n int) *providers.Request {
	const words = "The function reads the file, looks for the pattern and returns what it has found, line by line.\n"
	req := &providers.Request{System: strings.Repeat(words, 20)}
	for _, name := range []string{"read", "write", "edit", "bash", "search", "find"} {
		req.Tools = append(req.Tools, Tool(name))
	}
	for i := range n {
		switch i % 4 {
		case 0:
			req.Messages = append(req.Messages, User(words))
		case 3:
			req.Messages = append(req.Messages, providers.Message{
				Role: providers.RoleAssistant, Provider: "test", Model: "m1", Parts: []providers.Part{providers.Text{Text: words}},
			})
		case 1:
			call := providers.ToolCall{ID: "call_" + strconv.Itoa(i), Name: "read", Input: jsonx.Raw(`{"path":"internal/agent/session.go","offset":120,"limit":80}`)}
			req.Messages = append(req.Messages, providers.Message{
				Role: providers.RoleAssistant, Provider: "test", Model: "m1", Parts: []providers.Part{providers.Text{Text: "I look."}, call},
			})
		case 2:
			call := req.Messages[i-1].ToolCalls()[0]
			req.Messages = append(req.Messages, ResultOf(call, strings.Repeat(words, 5)))
		}
	}
	return req
}

// BenchRequest measures the encoding of requests with long conversations. The target is 30 ms for 20,000 messages, with as many
// allocations per message in long ones as in short ones.
func BenchRequest(b *testing.B, target Target) {
	for _, n := range []int{1000, 20_000} {
		req := Conversation(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			model := target.canned(b, Step{Text("x")}, nil)
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range model.Stream(b.Context(), req) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/message")
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
	model := target.canned(t, Repeat(n, func(int) Action { return Text("a few more words ") }), nil)
	rest := target.canned(t, Step{Text("x")}, nil)
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

// canned returns a model that answers every request with step, from memory, in the pieces that split returns.
func (target Target) canned(t testing.TB, step Step, split func(string) io.Reader) providers.Model {
	if split == nil {
		split = func(body string) io.Reader { return strings.NewReader(body) }
	}
	body := target.Format.body(step)
	model, err := target.Open(providers.Config{
		Info: providers.ModelInfo{Provider: "test", ID: "m1"}, BaseURL: "http://model.test" + target.Format.base, APIKey: testKey,
		HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {cmp.Or(target.Format.contentType, "text/event-stream")}},
				Body: io.NopCloser(split(body)), Request: r,
			}, nil
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// Canned returns a model that answers every request with step, from memory. No action of step may need a connection.
func (target Target) Canned(t testing.TB, step Step) providers.Model {
	return target.canned(t, step, nil)
}

// Answer returns the events of a recorded response, without the reports of usage so far.
func (target Target) Answer(t testing.TB, req *providers.Request, body string) (m providers.Message, events []providers.Event, err error) {
	t.Helper()
	model := target.canned(t, nil, func(string) io.Reader { return strings.NewReader(body) })
	for ev, err := range model.Stream(t.Context(), req) {
		if err != nil {
			return m, events, err
		}
		if done, ok := ev.(providers.Done); ok {
			m = done.Message
		} else if !isUsage(ev) {
			events = append(events, ev)
		}
	}
	return m, events, nil
}

// Piped returns a model whose responses the test writes: each request takes the next reader of bodies, which returns what
// [Format.Body] returns.
func (target Target) Piped(t testing.TB, bodies <-chan io.Reader) providers.Model {
	t.Helper()
	model, err := target.Open(providers.Config{
		Info: providers.ModelInfo{Provider: "test", ID: "m1"}, BaseURL: "http://model.test" + target.Format.base, APIKey: testKey,
		HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {cmp.Or(target.Format.contentType, "text/event-stream")}},
				Body: io.NopCloser(<-bodies), Request: r,
			}, nil
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// Body returns the body of the response that a server would send for a step.
func (f Format) Body(step Step) string { return f.body(step) }

// body returns a whole answer. No action may need a connection.
func (f Format) body(step Step) string {
	p := player{w: httptest.NewRecorder(), ctx: context.Background(), format: f, ew: f.writer(), usage: providers.Usage{Input: 10, Output: 5}}
	p.play(step)
	return p.w.(*httptest.ResponseRecorder).Body.String()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (fn roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }
