package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/gajae-code/gjc/dap/daptest"
	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

// A refused step does not run: no adapter, no program, no request. The question names what it is about.
func TestDebugger_Approval(t *testing.T) {
	t.Parallel()
	mark := markOf(t)
	e, p := startFake(t, &debugEditorOptions{env: []string{mark}, files: map[string]string{"main.x": fakeSource, "other.x": fakeSource}}, nil)
	asked := func(commands ...string) {
		t.Helper()
		for _, c := range commands {
			if slices.Contains(p.Seen(), c) {
				t.Errorf("the adapter was asked for %s, which the user has refused", c)
			}
		}
	}
	e.answers("reject_once")
	e.asks(t, fails(`launch {"program": "main.x", "args": ["a b", "--force"], "env": {"KEY": "value"}}`),
		"Debug main.x", "fake", "main.x 'a b' --force", "KEY=value", "W")
	wantOnlyGjc(t, mark)
	asked("initialize", "launch")
	e.answers("allow_once")
	e.asks(t, does("launch program=main.x", "Status: stopped"), "Debug main.x")

	p.Reply("evaluate", map[string]any{"result": "7", "variablesReference": 0})
	e.silent(t, does("evaluate expression=list[0].name", "Result: 7"))
	e.silent(t, does(`evaluate {"expression": "a + b > 3 and not c"}`, "Result: 7"))
	p.Handle("evaluate", func(r *daptest.Request) {
		t.Errorf("the adapter evaluates %s", r.Arguments)
		r.Respond(map[string]any{"result": "8", "variablesReference": 0})
	})
	e.answers("reject_once")
	for _, tt := range []struct {
		do    string
		parts []string
	}{
		{`evaluate expression=wipe()`, []string{"Evaluate wipe()", "wipe()"}},
		{`evaluate {"expression": "x = 1"}`, []string{"x = 1"}},
		{`set_variable {"variable_ref": 1, "name": "sum", "value": "5"}`, []string{"sum = 5"}},
		{`set_variable {"variable_ref": 1, "name": "sum", "value": "wipe()"}`, []string{"sum = wipe()"}},
		{`set_expression {"expression": "a.b", "value": "6"}`, []string{"a.b = 6"}},
		{`write_memory {"memory_reference": "0x1000", "data": "RVZF"}`, []string{"0x1000", "45 56 45"}},
		{`custom_request {"command": "evil", "arguments": {"how": "much"}}`, []string{"evil", "much"}},
		{`set_breakpoint {"file": "main.x", "line": 3, "condition": "wipe(1)"}`, []string{"wipe(1)"}},
		{`set_breakpoint {"file": "main.x", "line": 3, "log_message": "it is {wipe(2)}"}`, []string{"wipe(2)"}},
		{`set_breakpoint {"file": "main.x", "line": 3, "hit_condition": "wipe(3)"}`, []string{"wipe(3)"}},
		{`set_exception_breakpoints {"filters": ["raised"], "conditions": {"raised": "wipe(4)"}}`, []string{"wipe(4)"}},
		{`completions expression=wipe().`, []string{"wipe()."}},
		{`goto file=main.x line=9`, []string{"main.x:9"}},
	} {
		e.asks(t, fails(tt.do), tt.parts...)
	}
	asked("setVariable", "setExpression", "writeMemory", "evil", "completions", "goto", "gotoTargets")
	e.silent(t, does(`set_breakpoint {"file": "main.x", "line": 3, "condition": "n > 3"}`, "line 3"))
	e.silent(t, does("step_over", "main.x:2"))
	e.silent(t, does("stack_trace", "work"))
	e.silent(t, does("terminate", "terminated"))
	e.stop()
	wantNoneLeft(t, mark)
}

// An "always" applies to the question's subject: another program asks again, and so do an evaluation and a command.
func TestDebugger_ApprovalAlways(t *testing.T) {
	t.Parallel()
	var fakes fakeAdapters
	plays := make(map[string]*daptest.Adapter)
	for i := range 6 {
		name := fmt.Sprintf("fake%d", i)
		plays[name] = fakes.fake(t, name, nil)
	}
	e := startDebugEditor(t, &debugEditorOptions{home: fakes.files(t), files: map[string]string{"main.x": fakeSource, "other.x": fakeSource}})
	for _, a := range plays {
		p := daptest.NewProgram(a, filepath.Join(e.work, "main.x"), daptest.All())
		p.Reply("evaluate", map[string]any{"result": "7", "variablesReference": 0})
		p.Handle("restart", func(r *daptest.Request) { r.Respond(nil); p.Stop("entry") })
	}
	e.answers("allow_always")
	e.asks(t, does("launch program=main.x adapter=fake0", "debug-1"))
	e.answers("reject_once")
	// A program restarts without a question, because it was allowed.
	e.silent(t, does("restart", "Status: stopped"))
	e.silent(t, does("terminate", "terminated"))
	e.asks(t, fails("launch program=other.x adapter=fake1"))
	e.asks(t, fails("launch program=main.x adapter=fake1"))
	e.asks(t, fails(`launch {"program": "main.x", "adapter": "fake0", "env": {"A": "b"}}`))
	e.asks(t, fails(`launch {"program": "main.x", "adapter": "fake0", "arguments": {"preRunCommands": ["rm"]}}`), "preRunCommands", "rm")
	if o := e.prompt(e.id, "!bash touch main.x"); o.only(t).Status != "failed" {
		t.Errorf("the answer to a launch lets a command run: %+v", o)
	}
	e.answers("allow_always")
	e.asks(t, does("launch program=main.x adapter=fake2", "debug-"))
	e.answers("reject_once")
	e.asks(t, fails("evaluate expression=wipe()"))
	e.answers("allow_always")
	e.asks(t, does("evaluate expression=look()", "Result: 7"))
	e.answers("reject_once")
	e.silent(t, does("evaluate expression=look()", "Result: 7"))
	e.asks(t, fails("evaluate expression=look(1)"))
	e.silent(t, does("terminate", "terminated"))
	e.stop()
}

// In plan mode nothing is started or changed, and no question is asked; an earlier debug session can be inspected.
func TestDebugger_PlanMode(t *testing.T) {
	t.Parallel()
	mark := markOf(t)
	e, p := startFake(t, &debugEditorOptions{env: []string{mark}}, nil)
	p.Reply("evaluate", map[string]any{"result": "7", "variablesReference": 0})
	e.mode("plan")
	e.silent(t, fails("launch program=main.x", "plan mode"))
	e.silent(t, fails("attach pid=1", ""))
	wantOnlyGjc(t, mark)
	e.mode("default")
	e.do(t, does("launch program=main.x", "Status: stopped"))
	e.mode("plan")
	e.silent(t, does("stack_trace", "work"))
	e.silent(t, does("scopes", "Locals"))
	e.silent(t, does("evaluate expression=line", "Result"))
	for _, do := range []string{
		"step_over", "continue", "evaluate expression=wipe()", "custom_request command=evil", "restart",
		`set_variable {"variable_ref": 1, "name": "sum", "value": "5"}`, `write_memory {"memory_reference": "0x1", "data": "RVZF"}`,
	} {
		e.silent(t, fails(do, "plan mode"))
	}
	for _, c := range []string{"next", "continue", "evil", "restart", "setVariable", "writeMemory"} {
		if slices.Contains(p.Seen(), c) {
			t.Errorf("the adapter was asked for %s", c)
		}
	}
	e.mode("default")
	e.do(t, does("step_over", "main.x:2"))
	e.do(t, does("terminate", "terminated"))
	e.stop()
	wantNoneLeft(t, mark)
}

// In auto mode nothing asks inside the boundary, and everything that runs something asks without one, also with an answer about the
// launch.
func TestDebugger_AutoMode(t *testing.T) {
	t.Parallel()
	t.Run("inside", func(t *testing.T) {
		if s, err := findSandbox(); err != nil || s.Kind != sandbox.Bubblewrap {
			testenv.Skip(t, "bubblewrap is not there: %v", err)
		}
		e, p := startFake(t, new(debugEditorOptions), nil)
		p.Reply("evaluate", map[string]any{"result": "7", "variablesReference": 0})
		e.mode("auto")
		e.answers("reject_once")
		e.silent(t, does("launch program=main.x", "Status: stopped"))
		e.silent(t, does("evaluate expression=wipe()", "Result: 7"))
		e.silent(t, does("terminate", "terminated"))
		e.stop()
	})
	t.Run("without", func(t *testing.T) {
		e, p := startFake(t, &debugEditorOptions{home: map[string]string{".gjc/agent/config.yml": "bash: {sandbox: off}\n"}}, nil)
		p.Reply("evaluate", map[string]any{"result": "7", "variablesReference": 0})
		e.mode("auto")
		e.answers("reject_once")
		e.asks(t, fails("launch program=main.x"), "main.x")
		e.answers("allow_once")
		e.asks(t, does("launch program=main.x", "Status: stopped"), "main.x")
		e.answers("reject_once")
		e.asks(t, fails("evaluate expression=wipe()"), "wipe()")
		e.silent(t, does("step_over", "main.x:2"))
		e.silent(t, does("terminate", "terminated"))
		e.stop()
	})
}

// The question about attaching to a process shows the process's command line.
func TestDebugger_ApprovalOfAttach(t *testing.T) {
	t.Parallel()
	a := goAdapter()
	e := startDebugEditor(t, &debugEditorOptions{env: a.env(t), files: a.files})
	sleeps := exec.Command(testenv.NeedsTool(t, "sleep"), "1234567")
	if err := sleeps.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sleeps.Process.Kill()
		_ = sleeps.Wait()
	})
	e.answers("reject_once")
	parts := []string{fmt.Sprint(sleeps.Process.Pid)}
	if runtime.GOOS == "linux" { // elsewhere the command line is unknown
		parts = append(parts, "sleep 1234567")
	}
	e.asks(t, fails(fmt.Sprintf("attach pid=%d adapter=dlv", sleeps.Process.Pid)), parts...)
	e.asks(t, fails("attach port=1 adapter=dlv"), "127.0.0.1:1")
	e.stop()
}
