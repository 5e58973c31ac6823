package debug_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/debug"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/dap"
	dapconfig "github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
)

// withDebugger adds a debugger to a world. It ends with the test. Programs are looked up in path.
func withDebugger(t testing.TB, w *toolstest.World, path string) {
	t.Helper()
	testenv.NoLeaks(t)
	env := append(os.Environ(), "PATH="+path, "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTELEMETRY=off")
	group := proc.NewGroup(nil)
	environ := func(context.Context) []string { return env }
	w.Debugger = &debug.Debugger{
		Adapters: dapconfig.New(dapconfig.Options{Roots: []string{w.Dir}, Env: environ, Children: group}),
		Sessions: dap.NewDebugger(dap.Options{Children: group, Env: environ}),
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.Debugger.Sessions.Close(ctx); err != nil {
			t.Errorf("closing the debugger: %v", err)
		}
		group.Close(ctx)
	})
}

// buggy is a module whose function Total omits the last number.
var buggy = map[string]string{
	"go.mod": "module example.com/m\n\ngo 1.24\n",
	"main.go": `package main

import (
	"fmt"
	"os"
	"time"

	"example.com/m/sum"
)

type account struct {
	Name   string
	Points []int
}

func main() {
	fmt.Println("begin")
	if len(os.Args) > 1 && os.Args[1] == "loop" {
		for n := 0; ; n++ {
			time.Sleep(time.Millisecond)
		}
	}
	a := account{Name: "ann", Points: []int{1, 2, 3}}
	total := sum.Total(a.Points)
	fmt.Println(a.Name, total)
	if len(os.Args) > 1 && os.Args[1] == "panic" {
		panic("boom")
	}
	os.Exit(3)
}
`,
	"sum/sum.go": `package sum

// Total adds numbers.
func Total(list []int) int {
	total := 0
	for i := 0; i < len(list)-1; i++ {
		total += list[i]
	}
	return total
}
`,
	"sum/sum_test.go": `package sum

import "testing"

func TestTotal(t *testing.T) {
	if got := Total([]int{1, 2, 3}); got != 6 {
		t.Errorf("got %d", got)
	}
}
`,
}

func delve(t testing.TB) *toolstest.World {
	t.Helper()
	dlv := testenv.NeedsDelve(t)
	w := toolstest.NewWorld(t, buggy)
	withDebugger(t, w, filepath.Dir(dlv)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return w
}

// debug makes a call that must not fail, and returns its text.
func runAction(t testing.TB, w *toolstest.World, action string, in toolstest.Input) string {
	t.Helper()
	return actionResult(t, w, action, in).Text
}

func actionResult(t testing.TB, w *toolstest.World, action string, in toolstest.Input) *agent.Result {
	t.Helper()
	return toolstest.Run(t, w, "debug", withAction(action, in))
}

func actionFails(t testing.TB, w *toolstest.World, action string, in toolstest.Input) string {
	t.Helper()
	return toolstest.Fails(t, w, "debug", withAction(action, in)).Error()
}

func withAction(action string, in toolstest.Input) toolstest.Input {
	all := toolstest.Input{"action": action}
	maps.Copy(all, in)
	if all["timeout"] == nil {
		all["timeout"] = 120 // allows for a cold cache and a busy machine
	}
	return all
}

// The model can find the bug with this tool alone.
func TestDebug_DelveFindsTheBug(t *testing.T) {
	w := delve(t)
	show := func(action string, in toolstest.Input) string {
		t.Helper()
		text := runAction(t, w, action, in)
		t.Logf("== %s %v\n%s", action, in, text)
		return text
	}
	toolstest.Contains(t, show("set_breakpoint", toolstest.Input{"file": "main.go", "line": 24}), "Breakpoints for main.go:", "- line 24: kept for the next launch")
	res := actionResult(t, w, "launch", toolstest.Input{"program": "."})
	t.Log(res.Text)
	toolstest.Contains(t, res.Text, "Session: debug-1", "Adapter: dlv", "Status: stopped", "Stop reason: breakpoint", "Frame: main.main", "Location: main.go:24", "→ 24", "a = ")
	if len(res.Locations) == 0 || res.Locations[0] != (agent.Location{Path: w.Path("main.go"), Line: 24}) {
		t.Errorf("locations: %+v", res.Locations)
	}
	toolstest.Contains(t, show("step_in", nil), "Step in stopped at sum/sum.go:4", "Frame: sum.Total")
	toolstest.Contains(t, show("run_to", toolstest.Input{"file": "sum/sum.go", "line": 9}), "Run to line stopped at sum/sum.go:9", "total", "3")
	if text := show("breakpoints", nil); strings.Contains(text, "line 9") {
		t.Error("the breakpoint of run_to is still there")
	}
	toolstest.Contains(t, show("inspect", toolstest.Input{"depth": 2}), "#0 ", "sum.Total", "total = 3", "#1 ", "main.main", "Name")
	toolstest.Contains(t, show("stack_trace", toolstest.Input{"levels": 2}), "Stack trace:", "sum.Total @ sum/sum.go:9", "main.main @ main.go:24", "more frame")
	toolstest.Contains(t, show("evaluate", toolstest.Input{"expression": "total + list[2]"}), "Result: 6", "Type: int")
	toolstest.Contains(t, show("step_out", nil), "Step out stopped at main.go:24")
	toolstest.Contains(t, show("step_over", nil), "Step over stopped at main.go:25", "Changed since the last stop:", "total")
	toolstest.Contains(t, show("threads", nil), "- 1: ")
	toolstest.Contains(t, show("continue", nil), "Program terminated with exit code 3", "ann 3")
	toolstest.Contains(t, show("sessions", nil), "Session: debug-1", "Status: terminated")
	toolstest.Contains(t, show("output", nil), "begin", "ann 3")
	toolstest.Contains(t, actionFails(t, w, "stack_trace", nil), "no active debug session; launch or attach first", "exit code 3")
	toolstest.Contains(t, show("restart", nil), "Location: main.go:24")
	toolstest.Contains(t, show("terminate", nil), "Debug session terminated.")
	toolstest.Contains(t, show("terminate", nil), "No debug session to terminate.")
}
