package main

import (
	"context"
	"os"
	"path/filepath"
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

// debugging measures dlv in a loop, through the tool: a launch, a step with its snapshot, an expression, and a call that asks
// the adapter nothing, which is what the others have on top of dlv's own time. There is one gjc for all rounds.
func debugging(ctx context.Context, binary, dir string, rounds int) ([][]measure, error) {
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
	call := c.call
	const steps = 20
	// several is the mean of some calls: one alone measures the clock.
	several := func(prompt, want string) (measure, error) {
		var sum measure
		for range steps {
			m, err := call(prompt, want)
			if err != nil {
				return sum, err
			}
			sum.took += m.took / steps
		}
		return sum, nil
	}
	var all [][]measure
	for range rounds {
		if _, err := call("!debug set_breakpoint file=main.go line=6", "line 6"); err != nil {
			return nil, err
		}
		launch, err := call("!debug launch program=loop mode=exec", "Location: main.go:6")
		if err != nil {
			return nil, err
		}
		step, err := several("!debug step_over", "Step over stopped at main.go")
		if err != nil {
			return nil, err
		}
		value, err := several("!debug evaluate expression=sum*2", "Result: ")
		if err != nil {
			return nil, err
		}
		nothing, err := several("!debug breakpoints", "line 6")
		if err != nil {
			return nil, err
		}
		done, err := call("!debug terminate", "terminated")
		if err != nil {
			return nil, err
		}
		all = append(all, []measure{launch, step, value, nothing, done})
	}
	return all, nil
}
