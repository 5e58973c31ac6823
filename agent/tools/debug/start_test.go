package debug_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/dap/daptest"
)

// The output before the first stop, or before the end, is reported with it.
func TestDebug_LaunchTellsOutput(t *testing.T) {
	p := play(t)
	p.Handle("configurationDone", func(r *daptest.Request) {
		p.Event("output", map[string]any{"category": "stdout", "output": "on my way\nwarning: main.x has no debug info\n"})
		r.Respond(nil)
		p.Stop("breakpoint")
	})
	wants2(t, runAction(t, p.World, "launch", toolstest.Input{"program": "main.x"}), "Output since the last stop:\non my way\n", "build it with -g")
	p.Handle("continue", func(r *daptest.Request) {
		r.Respond(nil)
		p.Event("output", map[string]any{"category": "stdout", "output": "bye\n"})
		p.End(0)
	})
	wants2(t, runAction(t, p.World, "continue", nil), "Output since the last stop:\nbye", "Program terminated with exit code 0.")
}

// Models send numbers instead of strings.
func TestDebug_ValueAsANumber(t *testing.T) {
	p := play(t)
	p.launch(t)
	got := make(chan string, 1)
	p.Handle("setExpression", func(r *daptest.Request) { got <- string(r.Arguments); r.Respond(map[string]any{"value": "5"}) })
	toolstest.Contains(t, runAction(t, p.World, "set_expression", toolstest.Input{"expression": "line", "value": 5}), "line = 5")
	if args := <-got; !strings.Contains(args, `"value":"5"`) {
		t.Errorf("arguments = %s", args)
	}
	toolstest.Contains(t, runAction(t, p.World, "set_breakpoint", toolstest.Input{"file": "main.x", "line": 3, "hit_condition": 2}), "hits 2")
	toolstest.Contains(t, actionFails(t, p.World, "set_expression", toolstest.Input{"expression": "line", "value": []int{5}}), "it must be a string or a number")
}

// An adapter's own events are reported.
func TestDebug_EventsOfTheAdapter(t *testing.T) {
	p := play(t)
	p.launch(t)
	p.Event("myOwn", map[string]any{"a": 1})
	runAction(t, p.World, "threads", nil) // returns after the event has arrived
	toolstest.Contains(t, runAction(t, p.World, "sessions", nil), `Adapter event: "myOwn" "{\"a\":1}"`)
}
