package providertest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
)

// BenchmarkStream measures the cost of a model on gjc's side of the wire: the events come from memory, not from a socket.
func BenchmarkStream(b *testing.B) {
	for _, target := range implementations() {
		b.Run(target.name, func(b *testing.B) { benchStream(b, target) })
	}
}

func benchStream(b *testing.B, target implementation) {
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

// conversation returns a request of n messages: questions, answers with calls, and results in turn, as in a long session.
func conversation(n int) *providers.Request {
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

// BenchmarkRequest measures the encoding of requests with long conversations. The target is 30 ms for 20,000 messages, with no more
// allocations per message in long conversations than in short ones.
func BenchmarkRequest(b *testing.B) {
	for _, target := range implementations() {
		b.Run(target.name, func(b *testing.B) { benchRequest(b, target) })
	}
}

func benchRequest(b *testing.B, target implementation) {
	for _, n := range []int{1000, 20_000} {
		req := conversation(n)
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

func TestImplementations_Allocations(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector allocates too")
	}
	for _, target := range implementations() {
		t.Run(target.name, func(t *testing.T) { testAllocations(t, target) })
	}
}

// testAllocations checks the allocations for one delta of text.
func testAllocations(t *testing.T, target implementation) {
	const n = 1000
	model := target.canned(t, Repeat(n, func(int) Action { return Text("a few more words ") }), nil)
	rest := target.canned(t, Step{Text("x")}, nil)
	all := testing.AllocsPerRun(5, func() { drain(t, model) })
	all -= testing.AllocsPerRun(5, func() { drain(t, rest) })
	if got := all / n; got > target.allocations {
		t.Errorf("%.2f allocations a delta, want at most %.2f", got, target.allocations)
	}
}

func drain(t testing.TB, model providers.Model) {
	for _, err := range model.Stream(t.Context(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
	}
}
