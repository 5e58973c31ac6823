package bench

import (
	"strconv"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers/providertest"
)

const (
	// deltas is the number of deltas of the long response.
	deltas = 5000
	// manySessions is the number of concurrent sessions.
	manySessions = 10
	// benchModel is any model of the catalogue; the scripted server answers for it.
	benchModel = "anthropic/claude-sonnet-5-5"
)

// BenchmarkRound starts one gjc each time and takes it through every step of an editor's day.
func BenchmarkRound(b *testing.B) {
	m := newMetrics(b)
	for b.Loop() {
		round(b, m)
	}
}

func round(b *testing.B, m *metrics) {
	model := scriptedModel()
	defer model.Close()
	first := make(chan time.Time, 1)
	begin := time.Now()
	a := start(b, b.TempDir(), options{
		EditorOptions: acptest.EditorOptions{Updated: onChunk(first)}, model: benchModel,
		// A title would need a request that the rounds do not count.
		env: []string{"GJC_NO_TITLE=1", "ANTHROPIC_API_KEY=sk-ant-bench", "ANTHROPIC_BASE_URL=" + model.AnthropicURL()},
	})
	defer a.end()
	take := func(step string, took time.Duration) {
		m.took(step, took)
		m.memory(step, a.memory())
	}
	started := time.Since(begin)
	take("spawn-to-initialize", started)
	begin = time.Now()
	id := a.open()
	took := time.Since(begin)
	take("session/new", took)
	m.took("spawn-to-session", started+took)
	for _, step := range []string{"prompt-to-first-chunk-first", "prompt-to-first-chunk-warm"} {
		begin = time.Now()
		a.prompt(id, "hello")
		m.took(step, (<-first).Sub(begin))
	}
	for _, step := range []string{"5000-deltas-first", "5000-deltas-warm", "tool-call-in-the-client's-terminal"} {
		take(step, a.prompt(id, "go on"))
	}
	// Measure what each of many sessions adds.
	before := a.memory()
	begin = time.Now()
	for range manySessions {
		a.open()
	}
	m.took("ten-sessions", time.Since(begin))
	after := a.memory()
	m.memory("ten-sessions", memoryUse{max(0, after.pss-before.pss) / manySessions, max(0, after.anonymous-before.anonymous) / manySessions})
	if got := len(model.Requests()); got != 6 {
		b.Fatalf("the model got %d requests, want 6", got)
	}
}

// scriptedModel serves the responses of one round.
func scriptedModel() *providertest.Server {
	long := providertest.Repeat(deltas, func(i int) providertest.Action { return providertest.Text("word" + strconv.Itoa(i) + " ") })
	return providertest.NewServer(
		providertest.Step{providertest.Text("hi")},
		providertest.Step{providertest.Text("first"), providertest.Text("second")},
		long, long,
		providertest.Step{providertest.Call("c1", "bash", `{"command":"true"}`)},
		providertest.Step{providertest.Text("done")},
	)
}
