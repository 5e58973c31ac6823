package debug_test

import (
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// The budget of a call of the tool debug is 1 ms per request on top of the adapter's own time: "tool" minus "request". A step makes
// four requests.
func BenchmarkDebug(b *testing.B) {
	p := play(b)
	p.launch(b)
	b.Run("tool", func(b *testing.B) { toolstest.Bench(b, p.World, "debug", toolstest.Input{"action": "threads"}) })
	b.Run("request", func(b *testing.B) {
		s, err := p.Debugger.Sessions.Find("")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := s.Custom(b.Context(), "threads", nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("step", func(b *testing.B) { toolstest.Bench(b, p.World, "debug", toolstest.Input{"action": "step_over"}) })
}
