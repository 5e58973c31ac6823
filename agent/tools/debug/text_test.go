package debug_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/agent/tools/debug"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/dap"
)

func TestSnapshotText(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	lines := []dap.SourceLine{{Number: 9, Text: "\tx := 1"}, {Number: 10, Text: "\ty := x"}, {Number: 11, Text: ""}}
	stopped := func(change func(s *dap.Snapshot)) *dap.Snapshot {
		s := &dap.Snapshot{
			ID: "debug-1", Adapter: "dlv", Program: w.Path("cmd/app"), Dir: w.Dir, Request: "launch", State: dap.StateStopped,
			Stop:  &dap.Stop{Reason: "breakpoint", Thread: 1},
			Frame: &dap.Frame{ID: 1, Name: "main.run", Path: w.Path("main.go"), Line: 10, Column: 3, InstructionPointer: "0x10"},
			Lines: lines, Locals: dap.Locals{
				Variables: []dap.Variable{{Name: "x", Value: "1", Type: "int"}, {Name: "p", Value: "main.P {A: 1}", Type: "main.P", Ref: 7}},
			},
		}
		if change != nil {
			change(s)
		}
		return s
	}
	for _, tt := range []struct {
		name string
		snap *dap.Snapshot
		verb string
		full bool
		want string
	}{
		{"launch", stopped(nil), "", true, `Session: debug-1
Adapter: dlv
Status: stopped
CWD: ` + w.Dir + `
Program: cmd/app
Stop reason: breakpoint
Frame: main.run
Location: main.go:10:3
Instruction pointer: 0x10
   9      x := 1
→ 10      y := x
  11
Variables:
- x = 1 (int)
- p = main.P {A: 1} [ref=7]
`},
		{"step with a change", stopped(func(s *dap.Snapshot) {
			s.Stop.Reason, s.Compared = "step", true
			s.Changes = []dap.Change{{Name: "x", Old: "1", Value: "2", Type: "int"}, {Name: "z", Value: "true", Type: "bool", New: true}}
			s.Output = "hello\nworld\n"
		}), "Step over", false, `Step over stopped at main.go:10:3.
Stop reason: step
Frame: main.run
   9      x := 1
→ 10      y := x
  11
Changed since the last stop:
- x: 1 → 2
- z = true (bool) new
Output since the last stop:
hello
world
`},
		{"nothing changed", stopped(func(s *dap.Snapshot) { s.Compared, s.Lines = true, nil }), "Continue", false, `Continue stopped at main.go:10:3.
Stop reason: breakpoint
Frame: main.run
Changed since the last stop: nothing
`},
		{"exception in a library", stopped(func(s *dap.Snapshot) {
			s.Stop = &dap.Stop{Reason: "exception", Description: "Paused on exception", Text: "boom", Thread: 5}
			s.Top = &dap.Frame{Name: "lib.raise", Path: "/usr/lib/lib.go", Line: 3}
			s.Exception = &godap.ExceptionInfoResponseBody{ExceptionId: "ValueError", Description: "bad\nvalue"}
			s.Lines, s.Variables, s.More = nil, s.Variables[:1], 3
		}), "Continue", false, `Continue stopped in lib.raise @ /usr/lib/lib.go:3, called at main.go:10:3.
Stop reason: exception, Paused on exception, boom
Exception: ValueError: bad\nvalue
Frame: main.run (thread 5)
Variables:
- x = 1 (int)
… 3 more variables; use scopes and variables to see them
`},
		{"no source", stopped(func(s *dap.Snapshot) {
			s.Frame.Path, s.Frame.Name, s.Lines, s.Variables = "", "memcpy", nil, nil
		}), "Step in", false, `Step in stopped in memcpy, which has no source on disk.
Stop reason: breakpoint
Frame: memcpy
Instruction pointer: 0x10
`},
		{"ended", &dap.Snapshot{ID: "debug-2", State: dap.StateTerminated, ExitCode: new(3), Output: "bye\n"}, "Continue", false, `Program terminated with exit code 3.
Output since the last stop:
bye
`},
		{"adapter died", &dap.Snapshot{ID: "debug-2", State: dap.StateTerminated, Ended: fmt.Errorf("%w: signal: killed", dap.ErrAdapterDied)}, "Continue", false, "Program terminated: the debug adapter died: signal: killed.\n"},
		{"running", &dap.Snapshot{ID: "debug-1", Adapter: "dlv", State: dap.StateRunning, Program: "process 12", PID: 12}, "Attach", true, "Program is running.\nSession: debug-1\nAdapter: dlv\nStatus: running\nProgram: process 12\nPID: 12\n"},
		{"pending", &dap.Snapshot{ID: "debug-1", State: dap.StateConfiguring, Pending: true}, "", true, "Session: debug-1\nStatus: configuring\nConfiguration: pending configurationDone; set breakpoints, then continue.\n"},
		{"a child stands still", &dap.Snapshot{ID: "debug-1", State: dap.StateRunning, Children: []*dap.Snapshot{
			{ID: "debug-1.1", State: dap.StateRunning, Program: "a.js"},
			{ID: "debug-1.2", State: dap.StateStopped, Stop: &dap.Stop{Reason: "pause"}, Frame: &dap.Frame{Name: "f", Path: w.Path("b.js"), Line: 2}},
		}}, "Continue", false, `Continue stopped at b.js:2.
Session: debug-1.2
Stop reason: pause
Frame: f
Child sessions:
- debug-1.1: running, a.js
- debug-1.2: stopped, at b.js:2
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, debug.SnapshotText(w.Call(t, "debug", toolstest.Input{}), tt.snap, tt.verb, tt.full)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// A snapshot stays small, whatever a program and its adapter send.
func TestSnapshotText_Bounded(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	s := &dap.Snapshot{
		ID: "debug-1", State: dap.StateStopped, Stop: &dap.Stop{Reason: "step", Description: strings.Repeat("d", 1<<20)},
		Frame: &dap.Frame{Name: "f", Path: w.Path("a.go"), Line: 1}, Lines: []dap.SourceLine{{Number: 1, Text: strings.Repeat("x", 1<<20)}},
		Output: strings.Repeat("line of output\n", 1<<14), Dropped: 5000,
		Ended: errors.New("x"),
	}
	for range dap.MaxSnapshotVariables {
		s.Variables = append(s.Variables, dap.Variable{Name: "v", Value: strings.Repeat("é\n", 10<<20/3), Type: strings.Repeat("T", 1<<16)})
	}
	text := debug.SnapshotText(w.Call(t, "debug", toolstest.Input{}), s, "Step over", true)
	if len(text) > 40<<10 {
		t.Errorf("%d bytes", len(text))
	}
	toolstest.Contains(t, text, "before this; use the action output to see what was kept", `é\né\n`, "more character")
}

func TestBreakpointText(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	for _, tt := range []struct {
		b    dap.Breakpoint
		want string
	}{
		{dap.Breakpoint{Kind: dap.SourceBreakpoint, Line: 12, ActualLine: 14, Verified: true}, "line 12 → 14: verified"},
		{dap.Breakpoint{Kind: dap.SourceBreakpoint, Line: 12, Column: 4, ActualLine: 12, Condition: "x > 1", Message: "no code\nhere"}, `line 12:4: pending if x > 1 (no code\nhere)`},
		{dap.Breakpoint{Kind: dap.SourceBreakpoint, Line: 1, Verified: true, HitCondition: ">= 5", LogMessage: "x is {x}"}, `line 1: verified hits >= 5 logs "x is {x}"`},
		{dap.Breakpoint{Kind: dap.FunctionBreakpoint, Function: "main.run", Verified: true, ActualPath: w.Path("main.go"), ActualLine: 3}, "main.run: verified at main.go:3"},
		{dap.Breakpoint{Kind: dap.InstructionBreakpoint, Instruction: "0x10", Offset: -4, Verified: true}, "0x10-4: verified"},
		{dap.Breakpoint{Kind: dap.DataBreakpoint, DataID: "x", AccessType: "write"}, "x: pending on write"},
		{dap.Breakpoint{Kind: dap.ExceptionBreakpoint, Filter: "raised", Condition: "ValueError"}, "raised: on if ValueError"},
	} {
		if got := debug.BreakpointText(w.Call(t, "debug", toolstest.Input{}), &tt.b); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
