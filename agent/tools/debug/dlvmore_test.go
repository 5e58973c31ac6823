package debug_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/testenv"
)

// stoppedAt launches the module and stops at a line of main.go.
func stoppedAt(t testing.TB, w *toolstest.World, line int, args ...string) {
	t.Helper()
	runAction(t, w, "set_breakpoint", toolstest.Input{"file": "main.go", "line": line})
	wants2(t, runAction(t, w, "launch", toolstest.Input{"program": "main.go", "args": args}), "Location: main.go:"+strconv.Itoa(line))
}

func wants2(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Fatalf("no %q in:\n%s", p, text)
		}
	}
}

func TestDebug_DelveBreakpoints(t *testing.T) {
	w := delve(t)
	for _, call := range []struct {
		action string
		in     toolstest.Input
		wants  []string
	}{
		{"launch", toolstest.Input{"program": ".", "args": []string{}}, []string{"Stop reason: entry"}},
		{"set_breakpoint", toolstest.Input{"file": "sum/sum.go", "line": 7, "condition": "i == 1"}, []string{"Breakpoints for sum/sum.go:", "- line 7: verified if i == 1"}},
		{"continue", nil, []string{"Continue stopped at sum/sum.go:7", "i = 1", "Stop reason: breakpoint"}},
		{"remove_breakpoint", toolstest.Input{"file": "sum/sum.go", "line": 7}, []string{"Breakpoints for sum/sum.go:\n(none)"}},
		{"remove_breakpoint", toolstest.Input{"file": "sum/sum.go", "line": 7}, []string{"There was no breakpoint there"}},
		{"set_breakpoint", toolstest.Input{"file": "sum/sum.go", "line": 2}, []string{"- line 2: pending", "could not find"}},
		{"remove_breakpoint", toolstest.Input{"file": "sum/sum.go", "line": 2}, []string{"(none)"}},
		{"set_breakpoint", toolstest.Input{"file": "main.go", "line": 25, "log_message": "total is {total}"}, []string{`- line 25: verified logs "total is {total}"`}},
		{"set_breakpoint", toolstest.Input{"function": "os.Exit"}, []string{"Function breakpoints:", "- os.Exit: verified"}},
		{"continue", nil, []string{"os.Exit", "total is 3", "called at main.go:29"}},
		{"breakpoints", nil, []string{"- line 25: verified", "- os.Exit", "Exception breakpoints:"}},
		{"set_exception_breakpoints", nil, []string{"Exception filters:", "- unrecovered-panic", "[on]"}},
		{"set_exception_breakpoints", toolstest.Input{"filters": []string{}}, []string{"Exception breakpoints:\n(none)"}},
		{"terminate", nil, []string{"Debug session terminated."}},
		{"breakpoints", nil, []string{"No breakpoints."}},
	} {
		text := runAction(t, w, call.action, call.in)
		t.Logf("== %s %v\n%s", call.action, call.in, text)
		toolstest.Contains(t, text, call.wants...)
	}
}

func TestDebug_DelveHitConditionAndTests(t *testing.T) {
	w := delve(t)
	runAction(t, w, "set_breakpoint", toolstest.Input{"file": "sum/sum.go", "line": 7, "hit_condition": "== 2"})
	text := runAction(t, w, "launch", toolstest.Input{"program": "sum", "mode": "test", "args": []string{"-test.run", "TestTotal"}})
	wants2(t, text, "Location: sum/sum.go:7", "i = 1")
	toolstest.Contains(t, runAction(t, w, "continue", nil), "Program terminated with exit code 1", "got 3")
}

func TestDebug_DelveValues(t *testing.T) {
	w := delve(t)
	stoppedAt(t, w, 25)
	scopes := runAction(t, w, "scopes", nil)
	wants2(t, scopes, "- Locals: ref=", "expensive=no")
	ref := refOf(t, scopes)
	toolstest.Contains(t, runAction(t, w, "variables", toolstest.Input{"scope_id": ref}), "- a = main.account {", "[ref=", "- total = 3 (int)")
	toolstest.Contains(t, runAction(t, w, "variables", toolstest.Input{"scope_id": ref, "count": 1, "offset": 1}), "total")
	toolstest.Contains(t, runAction(t, w, "set_variable", toolstest.Input{"scope_id": ref, "name": "total", "value": "6"}), "Set: total = 6")
	toolstest.Contains(t, runAction(t, w, "evaluate", toolstest.Input{"expression": "a.Points[1] * total"}), "Result: 12")
	toolstest.Contains(t, runAction(t, w, "evaluate", toolstest.Input{"expression": "a"}), "Result: main.account {", "Variables ref: ")
	toolstest.Contains(t, actionFails(t, w, "evaluate", toolstest.Input{"expression": "totl"}), "totl", "In scope: a, total.")
	toolstest.Contains(t, runAction(t, w, "evaluate", toolstest.Input{"expression": "len(a.Points)"}), "Result: 3")
	toolstest.Contains(t, runAction(t, w, "disassemble", toolstest.Input{"instruction_count": 4}), "→ 0x", "main.go:25:")
	toolstest.Contains(t, runAction(t, w, "source", nil), "main.go:\npackage main")
	toolstest.Contains(t, runAction(t, w, "custom_request", toolstest.Input{"command": "threads"}), "threads response:", `"threads": [`)
	toolstest.Contains(t, actionFails(t, w, "custom_request", toolstest.Input{"command": "nonsense", "arguments": toolstest.Input{"a": 1}}), "nonsense")
	toolstest.Contains(t, actionFails(t, w, "read_memory", toolstest.Input{"memory_reference": "0x1", "count": 8}), "(mem=…)")
	parts := runAction(t, w, "variables", toolstest.Input{"variable_ref": refOf(t, runAction(t, w, "evaluate", toolstest.Input{"expression": "a"}))})
	_, at, _ := strings.Cut(parts[strings.Index(parts, "Points"):], "mem=")
	at, _, _ = strings.Cut(at, "]")
	toolstest.Contains(t, runAction(t, w, "read_memory", toolstest.Input{"memory_reference": at, "count": 3}), "  01 00 00 ", "|...|")
	toolstest.Contains(t, runAction(t, w, "write_memory", toolstest.Input{"memory_reference": at, "data": "Kg=="}), "Memory write completed.\nBytes written: 1")
	toolstest.Contains(t, runAction(t, w, "evaluate", toolstest.Input{"expression": "a.Points[0]"}), "Result: 42")
	stale := ref
	toolstest.Contains(t, runAction(t, w, "step_over", nil), "Step over stopped at main.go:26")
	toolstest.Contains(t, actionFails(t, w, "variables", toolstest.Input{"variable_ref": stale}), "earlier stop", "run stack_trace and scopes again")
	toolstest.Contains(t, actionFails(t, w, "variables", toolstest.Input{"variable_ref": 99999}), "invalid handle", "scope_id")
	for action, what := range map[string]string{"modules": "module introspection", "loaded_sources": "loaded sources", "step_back": "", "restart_frame": "", "goto_targets": "", "completions": "", "step_in_targets": "", "set_expression": ""} {
		in := toolstest.Input{"expression": "total", "value": "1", "file": "main.go", "line": 25, "name": "total", "memory_reference": "0x1", "data": "AA=="}
		text := actionFails(t, w, action, in)
		t.Logf("%s: %s", action, text)
		toolstest.Contains(t, text, "the debug adapter does not support "+what)
	}
}

// The program continues with the new value.
func TestDebug_DelveSetVariable(t *testing.T) {
	w := delve(t)
	stoppedAt(t, w, 25)
	ref := refOf(t, runAction(t, w, "scopes", nil))
	runAction(t, w, "set_variable", toolstest.Input{"scope_id": ref, "name": "total", "value": "6"})
	toolstest.Contains(t, runAction(t, w, "continue", nil), "Program terminated with exit code 3")
	toolstest.Contains(t, runAction(t, w, "output", nil), "ann 6")
}

// TestDebug_DelveRunsOn checks that a program that keeps running outlives the call's timeout, that it can be paused, and that
// another launch can follow.
func TestDebug_DelveRunsOn(t *testing.T) {
	w := delve(t)
	runAction(t, w, "launch", toolstest.Input{"program": ".", "args": []string{"loop"}, "timeout": 120})
	toolstest.Contains(t, runAction(t, w, "continue", toolstest.Input{"timeout": 5}), "Program is still running after 5s. Use pause to interrupt and inspect state.")
	toolstest.Contains(t, actionFails(t, w, "stack_trace", nil), "the program is running", "pause")
	toolstest.Contains(t, actionFails(t, w, "run_to", toolstest.Input{"file": "main.go", "line": 25}), "the program is running")
	toolstest.Contains(t, runAction(t, w, "set_breakpoint", toolstest.Input{"file": "main.go", "line": 20}), "- line 20: verified")
	toolstest.Contains(t, runAction(t, w, "continue", nil), "Continue stopped at main.go:20")
	toolstest.Contains(t, runAction(t, w, "remove_breakpoint", toolstest.Input{"file": "main.go", "line": 20}), "(none)")
	toolstest.Contains(t, runAction(t, w, "run_to", toolstest.Input{"file": "main.go", "line": 25, "timeout": 5}), "Program is still running after 5s", "The breakpoint for run_to was removed")
	toolstest.Contains(t, runAction(t, w, "pause", nil), "Program paused")
	toolstest.Contains(t, runAction(t, w, "breakpoints", nil), "Exception breakpoints:")
	if text := runAction(t, w, "breakpoints", nil); strings.Contains(text, "line 25") {
		t.Errorf("the breakpoint of run_to is still there:\n%s", text)
	}
	for range dap.MaxSessions - 1 {
		runAction(t, w, "launch", toolstest.Input{"program": "."})
	}
	toolstest.Contains(t, actionFails(t, w, "launch", toolstest.Input{"program": "."}), "debug session debug-1 is still active; terminate it before launching another")
	toolstest.Contains(t, runAction(t, w, "terminate", toolstest.Input{"session": "debug-1"}), "Session: debug-1", "Debug session terminated.")
}

// run_to reports where the program stopped instead, keeps the user's breakpoint unchanged, and runs nothing if the line contains no
// code.
func TestDebug_DelveRunTo(t *testing.T) {
	w := delve(t)
	stoppedAt(t, w, 23)
	runAction(t, w, "set_breakpoint", toolstest.Input{"file": "sum/sum.go", "line": 5})
	runAction(t, w, "set_breakpoint", toolstest.Input{"file": "main.go", "line": 25, "condition": "total == 99"})
	toolstest.Contains(t, runAction(t, w, "run_to", toolstest.Input{"file": "main.go", "line": 25}), "It stopped elsewhere before it reached main.go:25.", "Run to line stopped at sum/sum.go:5")
	toolstest.Contains(t, runAction(t, w, "run_to", toolstest.Input{"file": "main.go", "line": 25}), "Run to line stopped at main.go:25.")
	toolstest.Contains(t, runAction(t, w, "breakpoints", nil), "- line 25: verified if total == 99", "- line 23: verified")
	toolstest.Contains(t, actionFails(t, w, "run_to", toolstest.Input{"file": "sum/sum.go", "line": 2}), "no loaded code at sum/sum.go:2", "The program was not resumed.")
	toolstest.Contains(t, runAction(t, w, "run_to", toolstest.Input{"file": "sum/sum.go", "line": 9}), "The program ended before it reached sum/sum.go:9.")
}

func TestDebug_DelveStopsAtAPanic(t *testing.T) {
	w := delve(t)
	runAction(t, w, "set_breakpoint", toolstest.Input{"file": "main.go", "line": 16})
	runAction(t, w, "launch", toolstest.Input{"program": ".", "args": []string{"panic"}})
	text := runAction(t, w, "continue", nil)
	t.Log(text)
	toolstest.Contains(t, text, "Stop reason: exception", "boom", "main.go:27")
	toolstest.Contains(t, runAction(t, w, "exception_info", nil), "boom")
}

// A cancelled turn leaves no process of the program.
func TestDebug_DelveCancelled(t *testing.T) {
	w := delve(t)
	runAction(t, w, "launch", toolstest.Input{"program": ".", "args": []string{"loop"}})
	ctx, cancel := context.WithCancelCause(t.Context())
	call := w.Call(t, "debug", withAction("continue", nil))
	if _, err := toolstest.Plan(ctx, toolstest.Tool(t, "debug"), call); err != nil {
		t.Fatal(err)
	}
	pid := w.Debugger.Sessions.Sessions()[0].Peek().PID
	go func() { // ends once the program is running
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for w.Debugger.Sessions.Sessions()[0].State() == dap.StateStopped {
			<-tick.C
		}
		cancel(agent.ErrCancelled)
	}()
	res, err := toolstest.Tool(t, "debug").Run(ctx, call)
	if err != nil || !res.IsError || !strings.Contains(res.Text, "cancelled by the user; debug session debug-1 was terminated") {
		t.Fatalf("%+v, %v", res, err)
	}
	if p, err := os.FindProcess(pid); err == nil && pid != 0 {
		if err := p.Signal(syscall.Signal(0)); err == nil {
			t.Errorf("process %d is still there", pid)
		}
	}
}

func TestDebug_DelveBadLaunches(t *testing.T) {
	w := delve(t)
	w.Put(t, "broken/broken.go", "package main\n\nfunc main() { undefined() }\n")
	w.Put(t, "text.txt", "no program\n")
	toolstest.Contains(t, actionFails(t, w, "launch", toolstest.Input{"program": "mian.go"}), "launch program not found", "did you mean main.go?")
	toolstest.Contains(t, actionFails(t, w, "launch", toolstest.Input{"program": "broken"}), "launch failed", "undefined: undefined", "Fix the compiler errors")
	toolstest.Contains(t, actionFails(t, w, "launch", toolstest.Input{"program": ".", "cwd": "nowhere"}), "working directory does not exist")
	toolstest.Contains(t, actionFails(t, w, "launch", toolstest.Input{"program": ".", "adapter": "dlw"}), `Unknown debugger adapter "dlw"`, `Did you mean "dlv"?`)
	toolstest.Contains(t, actionFails(t, w, "launch", toolstest.Input{"program": ".", "mode": "fast"}), `unknown mode "fast"; dlv has debug`)
	toolstest.Contains(t, actionFails(t, w, "launch", toolstest.Input{"program": ".", "core": "core.1"}), "core.1 does not exist")
	toolstest.Contains(t, actionFails(t, w, "attach", toolstest.Input{"pid": 1 << 22}), "there is no process 4194304")
	toolstest.Contains(t, actionFails(t, w, "attach", toolstest.Input{"pid": os.Getpid()}), "gjc itself")
	toolstest.Contains(t, actionFails(t, w, "attach", toolstest.Input{"pid": 1, "port": 2}), "either pid or port")
	toolstest.Contains(t, runAction(t, w, "launch", toolstest.Input{"program": "."}), "It is stopped before its own first line")
	runAction(t, w, "terminate", nil)
	if open := w.Debugger.Sessions.Sessions(); len(open) > 2 {
		t.Errorf("%d sessions", len(open))
	}
	strip := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "go"), "build", "-ldflags=-s -w", "-o", w.Path("stripped"), ".")
	strip.Dir = w.Dir
	if out, err := strip.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text := runAction(t, w, "launch", toolstest.Input{"program": "stripped"})
	toolstest.Contains(t, text, "no debug information", `-gcflags="all=-N -l"`)
}

func TestDebug_DelveAttach(t *testing.T) {
	w := delve(t)
	build := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "go"), "build", "-gcflags=all=-N -l", "-o", w.Path("loop"), ".")
	build.Dir = w.Dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), w.Path("loop"), "loop")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "debug"), w.Call(t, "debug", withAction("attach", toolstest.Input{"pid": cmd.Process.Pid, "adapter": "dlv"})))
	if err != nil {
		if strings.Contains(err.Error(), "ptrace") || errors.Is(err, os.ErrPermission) {
			testenv.Skip(t, "no leave to attach: %v", err)
		}
		t.Fatal(err)
	}
	t.Log(res.Text)
	toolstest.Contains(t, res.Text, "Session: debug-1", "Adapter: dlv")
	toolstest.Contains(t, runAction(t, w, "run_to", toolstest.Input{"file": "main.go", "line": 20}), "Run to line stopped at main.go:20")
	toolstest.Contains(t, runAction(t, w, "evaluate", toolstest.Input{"expression": "n > 0"}), "Result: true")
	toolstest.Contains(t, runAction(t, w, "terminate", nil), "Debug session terminated.")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("the program that was attached to is gone: %v", err)
	}
}

func TestDebug_DelveWatchesAVariable(t *testing.T) {
	w := delve(t)
	runAction(t, w, "set_breakpoint", toolstest.Input{"file": "sum/sum.go", "line": 6})
	runAction(t, w, "launch", toolstest.Input{"program": "."})
	info := runAction(t, w, "data_breakpoint_info", toolstest.Input{"name": "total"})
	wants2(t, info, "Data ID: ", "Access types: ", "write", "Persistent: no")
	_, id, _ := strings.Cut(info, "Data ID: ")
	id, _, _ = strings.Cut(id, "\n")
	toolstest.Contains(t, runAction(t, w, "set_data_breakpoint", toolstest.Input{"data_id": id, "access_type": "write"}), "Data breakpoints:", ": verified on write")
	t.Run("stop", func(t *testing.T) {
		testenv.NeedsWatchpoints(t)
		toolstest.Contains(t, runAction(t, w, "continue", nil), "Continue stopped at sum/sum.go:", "total", "Stop reason: data breakpoint")
	})
	toolstest.Contains(t, runAction(t, w, "remove_data_breakpoint", toolstest.Input{"data_id": id}), "Data breakpoints:\n(none)")
}

// refOf returns the first ref in a text.
func refOf(t testing.TB, text string) int {
	t.Helper()
	m := regexp.MustCompile(`ref(?:=|: )(\d+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no ref in:\n%s", text)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// chooser is an editor that supports only choices.
type chooser struct {
	agent.Elicitor
	take  int
	asked *[]agent.Choice
}

func (chooser) Forms() bool { return false }

func (c chooser) Choose(_ context.Context, choice agent.Choice) (int, agent.ElicitAction, error) {
	*c.asked = append(*c.asked, choice)
	return c.take, agent.ElicitAccept, nil
}

// A configuration of launch.json is launched by name. The user is asked for its inputs, and the question shows the whole
// configuration.
func TestDebug_DelveConfiguration(t *testing.T) {
	w := delve(t)
	w.Put(t, ".vscode/launch.json", `{
	// the editor's
	"configurations": [{
		"name": "Run it", "type": "go", "request": "launch", "mode": "debug", "program": "${workspaceFolder}",
		"args": ["${input:how}"], "env": {"SECRET_LIKE": "value1"}
	}],
	"inputs": [{"id": "how", "type": "pickString", "description": "How to end", "options": ["panic", "exit"]}]
}`)
	runAction(t, w, "set_breakpoint", toolstest.Input{"file": "main.go", "line": 26})
	var asked []agent.Choice
	call := w.Call(t, "debug", withAction("launch", toolstest.Input{"configuration": "Run it"}))
	call.Elicitor = chooser{take: 0, asked: &asked}
	p, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "debug"), call)
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, res.Text, "Adapter: dlv", "Location: main.go:26")
	shown := p.Content[0].(agent.TextContent).Text
	toolstest.Contains(t, shown, "Configuration: Run it, .vscode/launch.json:", `"args": [`, "panic", `"SECRET_LIKE": "…"`)
	if len(asked) != 1 || !strings.Contains(asked[0].Title, "How to end") || len(asked[0].Options) != 2 {
		t.Errorf("asked %+v", asked)
	}
	if len(p.Effects) != 1 || p.Effects[0].Covers != "this exact launch" {
		t.Errorf("effects: %+v", p.Effects)
	}
	toolstest.Contains(t, runAction(t, w, "step_over", nil), "main.go:27")
	toolstest.Contains(t, actionFails(t, w, "launch", toolstest.Input{"configuration": "run ti"}), `No configuration "run ti"`, "Run it")
	toolstest.Contains(t, actionFails(t, w, "launch", toolstest.Input{"configuration": "Run it"}), "how")
}

// An adapter that the workspace defines is used only if the user allows it.
func TestDebug_AsksForTrust(t *testing.T) {
	dlv := testenv.NeedsDelve(t)
	for _, answer := range []agent.Decision{agent.AllowOnce, agent.RejectOnce} {
		w := toolstest.NewWorld(t, buggy)
		w.Put(t, "dap.json", `{"adapters": {"mine": {"kind": "dlv", "command": "`+filepath.ToSlash(dlv)+`", "args": ["dap"], "connectMode": "socket"}}}`)
		withDebugger(t, w, os.Getenv("PATH"))
		var asked []agent.Consent
		call := w.Call(t, "debug", withAction("launch", toolstest.Input{"program": ".", "adapter": "mine"}))
		call.Consent = func(_ context.Context, c agent.Consent) (agent.Decision, error) {
			asked = append(asked, c)
			return answer, nil
		}
		_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "debug"), call)
		if len(asked) != 1 || !strings.Contains(asked[0].Text, "mine") {
			t.Fatalf("asked %+v (%v)", asked, err)
		}
		if answer == agent.AllowOnce {
			if err != nil {
				t.Fatal(err)
			}
			toolstest.Contains(t, res.Text, "Adapter: mine")
		} else if err == nil || !strings.Contains(err.Error(), `"mine"`) && !strings.Contains(err.Error(), "mine") {
			t.Errorf("without trust: %v", err)
		}
	}
}
