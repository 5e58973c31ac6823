package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers/providertest"
)

const (
	// manyHelpers is the number of helpers that work at the same time.
	manyHelpers = 20
	// mostHelperMemory is the budget of all of them, in MB.
	mostHelperMemory = 40
)

// BenchmarkHelpers measures the memory that helpers add: while all of them wait for their model, compared with the same moment of the
// session's own request. Each helper has its own request over the network, conversation and tools.
func BenchmarkHelpers(b *testing.B) {
	m := newMetrics(b)
	for b.Loop() {
		helpers(b, m)
	}
}

func helpers(b *testing.B, m *metrics) {
	type task struct {
		ID          string `json:"id"`
		Description string `json:"description"`
		Assignment  string `json:"assignment"`
	}
	var tasks []task
	for i := range manyHelpers {
		tasks = append(tasks, task{fmt.Sprintf("t%d", i), fmt.Sprintf("part %d", i), "Do your part."})
	}
	input, err := jsonx.Marshal(map[string]any{
		"tasks": tasks, "spawnPlan": map[string]string{"whyParallel": "a measurement", "whyNotLocal": "a measurement", "independence": "each is alone"},
	})
	check(b, err)
	own := providertest.NewGate()
	steps := []providertest.Step{{providertest.Text("hi")}, {own.Hold(), providertest.Call("c1", "task", string(input))}}
	var gates []*providertest.Gate
	for range manyHelpers {
		gate := providertest.NewGate()
		gates = append(gates, gate)
		steps = append(steps, providertest.Step{providertest.Text("I begin."), gate.Hold(), providertest.Text("The report.")})
	}
	model := providertest.NewServer(append(steps, providertest.Step{providertest.Text("done")})...)
	defer model.Close()
	dir := b.TempDir()
	check(b, os.MkdirAll(filepath.Join(dir, "agent"), 0o755))
	check(b, os.WriteFile(filepath.Join(dir, "agent", "config.yml"), fmt.Appendf(nil, "task:\n  maxConcurrency: %d\n", manyHelpers), 0o600))
	a := start(b, dir, options{
		model: benchModel, env: []string{"GJC_NO_TITLE=1", "ANTHROPIC_API_KEY=sk-ant-bench", "ANTHROPIC_BASE_URL=" + model.AnthropicURL()},
	})
	defer a.end()
	id := a.open()
	a.prompt(id, "hello")
	done := make(chan error, 1)
	go func() {
		_, err := a.Prompt(b.Context(), id, "share the work")
		done <- err
	}()
	wait := func(g *providertest.Gate) {
		select {
		case <-g.Reached():
		case err := <-done:
			a.check(fmt.Errorf("the turn is over before all helpers work: %w", err))
		}
	}
	wait(own)
	before := a.memory()
	own.Open()
	for _, g := range gates {
		wait(g)
	}
	after := a.memory()
	all := memoryUse{max(0, after.pss-before.pss), max(0, after.anonymous-before.anonymous)}
	if all.pss > mostHelperMemory {
		b.Errorf("%d helpers take %.1f MB, at most %d", manyHelpers, all.pss, mostHelperMemory)
	}
	m.memory("twenty-helpers", all)
	m.memory("each-helper", memoryUse{all.pss / manyHelpers, all.anonymous / manyHelpers})
	for _, g := range gates {
		g.Open()
	}
	a.check(<-done)
	if got := len(model.Requests()); got != manyHelpers+3 {
		b.Fatalf("the model got %d requests, want %d", got, manyHelpers+3)
	}
}
