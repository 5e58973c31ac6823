package bench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
)

const loopProgram = `package main

func main() {
	sum := 0
	for i := range 1_000_000_000 {
		sum += i
		sum -= i / 2
	}
	println(sum)
}
`

// BenchmarkDebugging measures dlv in a loop, through the tool: a launch, a step with its snapshot, an expression, and a call
// that sends the adapter nothing, which is the overhead of the others. All rounds share one gjc.
func BenchmarkDebugging(b *testing.B) {
	m := newMetrics(b)
	bin, work := link(b, testenv.NeedsDelve(b), "dlv"), b.TempDir()
	for name, text := range map[string]string{"go.mod": "module loop\n\ngo 1.26\n", "main.go": loopProgram} {
		check(b, os.WriteFile(filepath.Join(work, name), []byte(text), 0o644))
	}
	output(b, work, "go", "build", "-gcflags=all=-N -l", "-o", "loop", ".")
	c := newCaller(b, work, bin)
	const several = 20
	for b.Loop() {
		c.call("!debug set_breakpoint file=main.go line=6", "line 6")
		for _, s := range []struct {
			step, prompt, want string
			times              int // the mean of several calls, because one is too short for the clock
		}{
			{"debug-launch-of-a-binary-by-dlv-to-a-breakpoint", "!debug launch program=loop mode=exec", "Location: main.go:6", 1},
			{"debug-step-by-dlv-with-its-snapshot", "!debug step_over", "Step over stopped at main.go", several},
			{"debug-expression-by-dlv", "!debug evaluate expression=sum*2", "Result: ", several},
			{"debug-call-that-asks-the-adapter-nothing", "!debug breakpoints", "line 6", several},
			{"debug-terminate", "!debug terminate", "terminated", 1},
		} {
			var took time.Duration
			for range s.times {
				took += c.call(s.prompt, s.want) / time.Duration(s.times)
			}
			m.took(s.step, took)
		}
	}
}
