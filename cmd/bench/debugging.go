package main

import (
	"context"
	"os"
	"path/filepath"
	"time"
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

// debugging measures dlv in a loop, through the tool: a launch, a step with its snapshot, an expression, and a call
// that sends the adapter nothing, which is the overhead of the others. All rounds share one gjc.
func debugging(ctx context.Context, binary, dir string, rounds int) ([]measure, error) {
	dlv, err := output(ctx, "", "go", "tool", "-modfile=tools/go.mod", "-n", "dlv")
	if err != nil {
		return nil, err
	}
	bin, work := filepath.Join(dir, "dlvbin"), filepath.Join(dir, "loop")
	for _, d := range []string{bin, work} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.Symlink(dlv, filepath.Join(bin, "dlv")); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"go.mod": "module loop\n\ngo 1.26\n", "main.go": loopProgram} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	if _, err := output(ctx, work, "go", "build", "-gcflags=all=-N -l", "-o", "loop", "."); err != nil {
		return nil, err
	}
	c, err := newCaller(ctx, binary, filepath.Join(dir, "debugging"), work, bin)
	if err != nil {
		return nil, err
	}
	defer end(c.agent)
	const several = 20
	var all []measure
	for range rounds {
		if _, err := c.call("!debug set_breakpoint file=main.go line=6", "line 6"); err != nil {
			return nil, err
		}
		for _, s := range []struct {
			step, prompt, want string
			times              int // the mean of several calls, because one is too short for the clock
		}{
			{"debug launch of a binary by dlv, to a breakpoint", "!debug launch program=loop mode=exec", "Location: main.go:6", 1},
			{"debug step by dlv with its snapshot", "!debug step_over", "Step over stopped at main.go", several},
			{"debug expression by dlv", "!debug evaluate expression=sum*2", "Result: ", several},
			{"debug call that asks the adapter nothing", "!debug breakpoints", "line 6", several},
			{"debug terminate", "!debug terminate", "terminated", 1},
		} {
			m := measure{step: s.step}
			for range s.times {
				took, err := c.call(s.prompt, s.want)
				if err != nil {
					return nil, err
				}
				m.took += took / time.Duration(s.times)
			}
			all = append(all, m)
		}
	}
	return all, nil
}
