package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/dap/daptest"
)

// /debug lists sessions and adapters, and ends sessions.
func TestDebugger_Command(t *testing.T) {
	t.Parallel()
	mark := markOf(t)
	e, _ := startFake(t, &debugEditorOptions{env: []string{mark}}, nil)
	says := func(command string, parts ...string) {
		t.Helper()
		o := e.prompt(e.id, command)
		for _, part := range parts {
			if !strings.Contains(strings.ReplaceAll(o.words, e.work, "W"), part) {
				t.Errorf("%s: no %q in\n%s", command, part, o.words)
			}
		}
	}
	says("/debug", "No debug session is running.", "- **fake** for x")
	says("/debug stop", "No debug session with that name is running.")
	e.do(t, does("launch program=main.x", "debug-1"))
	says("/debug", "- **debug-1** stopped (entry): launch W/main.x with fake", "at W/main.x:1 in work")
	says("/debug stop debug-7", "No debug session with that name is running.")
	says("/debug nonsense", "Use /debug or /debug stop [session].")
	says("/debug stop debug-1", "debug-1 was ended.")
	wantOnlyGjc(t, mark)
	says("/debug", "**debug-1** terminated")
	e.do(t, fails("stack_trace", "no active debug session"))
	e.stop()
	wantNoneLeft(t, mark)
}

// Without the debugger there is no tool, and /debug explains why.
func TestDebugger_SwitchedOff(t *testing.T) {
	t.Parallel()
	e := startDebugEditor(t, &debugEditorOptions{home: map[string]string{".gjc/agent/config.yml": "debug: {enabled: false}\n"}})
	if o := e.prompt(e.id, "!debug sessions"); len(o.calls) > 0 || !strings.Contains(o.words, "no tool called debug") {
		t.Errorf("the tool is offered: %+v", o)
	}
	for _, command := range []string{"/debug", "/debug stop"} {
		if o := e.prompt(e.id, command); !strings.Contains(o.words, "debug.enabled") {
			t.Errorf("%s: %s", command, o.words)
		}
	}
	e.stop()
}

// Helper agents have no debugger: the debugged program belongs to their parent.
func TestDebugger_Subagents(t *testing.T) {
	t.Parallel()
	e, _ := startFake(t, new(debugEditorOptions), nil)
	e.do(t, does("launch program=main.x", "debug-1"))
	o := e.prompt(e.id, "!task !debug terminate")
	updates := fmt.Sprintf("%+v", o)
	if !strings.Contains(updates, "no tool called debug") {
		t.Errorf("a helper agent debugs: %s", updates)
	}
	e.do(t, does("stack_trace", "main.x:1"))
	e.stop()
}

// Debug sessions have names; those of another gjc session are not visible.
func TestDebugger_SeveralSessions(t *testing.T) {
	t.Parallel()
	mark := markOf(t)
	var fakes fakeAdapters
	var adapters []*daptest.Adapter
	for i := range 5 {
		adapters = append(adapters, fakes.fake(t, fmt.Sprintf("fake%d", i), nil))
	}
	e := startDebugEditor(t, &debugEditorOptions{home: fakes.files(t), files: map[string]string{"a.x": fakeSource, "b.x": fakeSource}, env: []string{mark}})
	for i, a := range adapters {
		daptest.NewProgram(a, filepath.Join(e.work, []string{"a.x", "b.x"}[i%2]), daptest.All())
	}
	e.do(t, does("launch program=a.x adapter=fake0", "Session: debug-1"))
	e.do(t, does("launch program=b.x adapter=fake1", "Session: debug-2"))
	e.do(t, does("step_over", "b.x:2"))
	e.do(t, does("step_over session=debug-1", "a.x:2"))
	e.do(t, does("step_over session=debug-1", "a.x:3"))
	e.do(t, does("stack_trace session=debug-2", "b.x:2"))
	e.do(t, does("stack_trace session=debug-1", "a.x:3"))
	e.do(t, does("sessions", "debug-1", "debug-2"))
	e.do(t, fails("stack_trace session=debug-9", "no debug session \"debug-9\"; the sessions are debug-1, debug-2"))

	mine, other := e.id, e.open()
	e.id = other
	e.do(t, does("sessions", "No debug sessions."))
	e.do(t, fails("stack_trace", "no active debug session"))
	e.do(t, fails("step_over session=debug-1", "no active debug session"))
	e.do(t, does("set_breakpoint file=a.x line=5", "kept for the next launch"))
	e.do(t, does("terminate", "No debug session to terminate."))
	e.do(t, does("launch program=a.x adapter=fake2", "Session: debug-1"))
	e.close(other)
	e.id = mine
	e.do(t, does("breakpoints", ""))
	e.do(t, debugStep{do: "breakpoints session=debug-1", not: []string{"line 5"}})
	e.do(t, does("terminate session=debug-1", "Debug session terminated."))
	e.do(t, does("stack_trace", "b.x:2"))
	e.do(t, does("terminate", "Debug session terminated."))
	e.stop()
	wantNoneLeft(t, mark)
}

// Beyond the limit of debug sessions, the error names one that can be ended.
func TestDebugger_TooManySessions(t *testing.T) {
	t.Parallel()
	var fakes fakeAdapters
	var adapters []*daptest.Adapter
	for i := range 6 {
		adapters = append(adapters, fakes.fake(t, fmt.Sprintf("fake%d", i), nil))
	}
	e := startDebugEditor(t, &debugEditorOptions{home: fakes.files(t), files: map[string]string{"main.x": fakeSource}})
	for _, a := range adapters {
		daptest.NewProgram(a, filepath.Join(e.work, "main.x"), daptest.All())
	}
	for i := range 4 {
		e.do(t, does(fmt.Sprintf("launch program=main.x adapter=fake%d", i), fmt.Sprintf("Session: debug-%d", i+1)))
	}
	before := len(e.asked())
	e.do(t, fails("launch program=main.x adapter=fake4", "debug session debug-1 is still active; terminate it before launching another"))
	if len(e.asked()) != before {
		t.Error("the user is asked about a launch that can not be")
	}
	e.do(t, does("terminate session=debug-1", "terminated"))
	e.do(t, does("launch program=main.x adapter=fake4", "Session: debug-5"))
	if o := e.prompt(e.id, "/debug stop"); strings.Count(o.words, "was ended") != 4 {
		t.Errorf("/debug stop: %s", o.words)
	}
	e.stop()
}
