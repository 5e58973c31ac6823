package debug_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/debug"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/daptest"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
)

// fixedAdapters is a catalog of adapters.
type fixedAdapters []*dap.Spec

func (f fixedAdapters) Find(_ context.Context, w dap.Wanted) (*dap.Spec, error) {
	for _, s := range f {
		if w.Adapter == "" || w.Adapter == s.Name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("No debugger adapter available. Installed adapters: none.")
}

func (f fixedAdapters) List(context.Context) (*dap.Listing, error) {
	return &dap.Listing{Adapters: f}, nil
}

// played is a world with a debugger whose adapter the test controls.
type played struct {
	*toolstest.World
	*daptest.Program
}

// play returns a played world. The program is main.x.
func play(t testing.TB, languages ...string) *played {
	t.Helper()
	testenv.NoLeaks(t)
	var text strings.Builder
	for n := range 20 {
		fmt.Fprintf(&text, "line %d\n", n+1)
	}
	w := toolstest.NewWorld(t, map[string]string{"main.x": text.String(), "other.x": "a\nb\n"})
	a, spec := daptest.Process(t)
	spec.Languages = languages
	spec.Forms = dap.Forms{
		Launch: map[string]any{"program": "${program}", "args": "${args}", "env": "${env}"}, StopOnEntry: []string{"stopOnEntry"},
		Remote: map[string]any{"host": "${host}", "port": "${port}"}, Process: map[string]any{"pid": "${pid}"},
	}
	p := &played{World: w, Program: daptest.NewProgram(a, w.Path("main.x"), daptest.All())}
	group := proc.NewGroup(nil)
	w.Debugger = &debug.Debugger{
		Adapters: fixedAdapters{spec},
		Sessions: dap.NewDebugger(dap.Options{Children: group, Env: func(context.Context) []string { return os.Environ() }}),
	}
	sessions := w.Debugger.Sessions
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := sessions.Close(ctx); err != nil {
			t.Errorf("closing the debugger: %v", err)
		}
		group.Close(ctx)
	})
	return p
}

// launch begins a session, which then is stopped at its entry.
func (p *played) launch(t testing.TB) {
	t.Helper()
	wants2(t, runAction(t, p.World, "launch", toolstest.Input{"program": "main.x"}), "Session: debug-1", "Adapter: fake", "Stop reason: entry", "Location: main.x:1:1")
}

// effects returns the effects of a call as text.
func effects(t *testing.T, w *toolstest.World, action string, in toolstest.Input) []string {
	t.Helper()
	var list []string
	for _, e := range toolstest.MustPlan(t, w, "debug", withAction(action, in)).Effects {
		switch e.Action {
		case approval.ActionDebug:
			text := "debug: " + e.Covers
			if strings.HasPrefix(e.Path, "/bin/") {
				text += " of " + e.Path
			}
			list = append(list, text)
		case approval.ActionResume:
			list = append(list, "resume")
		case approval.ActionRead:
			list = append(list, "read "+e.Path)
		default:
			list = append(list, fmt.Sprint("other ", e.Action))
		}
	}
	return list
}

// The effects of each action. An action that is missing here fails the test.
func TestDebug_Effects(t *testing.T) {
	p := play(t)
	p.launch(t)
	const exact = "debug: this exact step"
	const program = "main.x"
	cases := []struct {
		action string
		in     toolstest.Input
		want   []string
	}{
		{"launch", toolstest.Input{"program": "main.x"}, []string{"debug: launches of main.x with fake"}},
		{"launch", toolstest.Input{"program": "main.x", "args": []string{"-v"}}, []string{"debug: launches of main.x with fake"}},
		{"launch", toolstest.Input{"program": "main.x", "env": toolstest.Input{"LD_PRELOAD": "/tmp/x.so"}}, []string{"debug: this exact launch"}},
		{"launch", toolstest.Input{"program": "main.x", "arguments": toolstest.Input{"initCommands": []string{"shell ls"}}}, []string{"debug: this exact launch"}},
		{"launch", toolstest.Input{"program": "main.x", "cwd": "/"}, []string{"debug: launches of main.x with fake", "read /"}},
		{"launch", toolstest.Input{"program": "/bin/sh", "args": []string{"-c", "ls"}}, []string{"debug: this exact launch of /bin/sh"}},
		{"launch", toolstest.Input{"program": "main.x", "arguments": toolstest.Input{"program": "/bin/sh", "cwd": "/"}}, []string{"debug: this exact launch of /bin/sh", "read /"}},
		{"attach", toolstest.Input{"port": 1}, []string{"debug: this exact attach"}},
		{"sessions", nil, nil},
		{"output", nil, nil},
		{"terminate", nil, nil},
		{"restart", nil, []string{"debug: launches of main.x with fake"}}, // the file may contain another program now
		{"set_breakpoint", toolstest.Input{"file": "main.x", "line": 3, "condition": "x > 3", "hit_condition": ">= 2", "log_message": "x is {x}"}, nil},
		{"set_breakpoint", toolstest.Input{"file": "main.x", "line": 3, "condition": "f(x)"}, []string{exact}},
		{"set_breakpoint", toolstest.Input{"file": "main.x", "line": 3, "hit_condition": "f()"}, []string{exact}},
		{"set_breakpoint", toolstest.Input{"file": "main.x", "line": 3, "log_message": "{f(x)}"}, []string{exact}},
		{"set_breakpoint", toolstest.Input{"function": "main.run"}, nil},
		{"set_breakpoint", toolstest.Input{"function": "f if system(\"ls\")"}, []string{exact}},
		{"remove_breakpoint", toolstest.Input{"file": "main.x", "line": 3}, nil},
		{"breakpoints", nil, nil},
		{"set_exception_breakpoints", toolstest.Input{"filters": []string{"raised"}, "conditions": toolstest.Input{"raised": "ValueError, KeyError"}}, nil},
		{"set_exception_breakpoints", toolstest.Input{"filters": []string{"raised"}, "conditions": toolstest.Input{"raised": "f()"}}, []string{exact}},
		{"set_exception_breakpoints", toolstest.Input{"filters": []string{"raised"}, "conditions": toolstest.Input{"raised": "shell ls"}}, []string{exact}},
		{"set_instruction_breakpoint", toolstest.Input{"instruction_reference": "0x1000"}, nil},
		{"set_instruction_breakpoint", toolstest.Input{"instruction_reference": "f()"}, []string{exact}},
		{"remove_instruction_breakpoint", toolstest.Input{"instruction_reference": "0x1000"}, nil},
		{"data_breakpoint_info", toolstest.Input{"name": "x.y"}, nil},
		{"data_breakpoint_info", toolstest.Input{"name": "f()"}, []string{exact}},
		{"set_data_breakpoint", toolstest.Input{"data_id": "1"}, nil},
		{"remove_data_breakpoint", toolstest.Input{"data_id": "1"}, nil},
		{"continue", nil, []string{"resume"}},
		{"run_to", toolstest.Input{"file": "main.x", "line": 3}, []string{"resume"}},
		{"step_over", nil, []string{"resume"}},
		{"step_in", nil, []string{"resume"}},
		{"step_out", nil, []string{"resume"}},
		{"step_back", nil, []string{"resume"}},
		{"reverse_continue", nil, []string{"resume"}},
		{"restart_frame", nil, []string{"resume"}},
		{"step_in_targets", nil, nil},
		{"goto_targets", toolstest.Input{"file": "main.x", "line": 3}, nil},
		{"goto", toolstest.Input{"file": "main.x", "line": 3}, []string{"debug: jumps in " + program}},
		{"pause", nil, nil},
		{"inspect", nil, nil},
		{"stack_trace", nil, nil},
		{"threads", nil, nil},
		{"scopes", nil, nil},
		{"variables", toolstest.Input{"scope_id": 1}, nil},
		{"evaluate", toolstest.Input{"expression": "x.y[3] + 1"}, nil},
		{"evaluate", toolstest.Input{"expression": "x", "context": "hover"}, nil},
		{"evaluate", toolstest.Input{"expression": "x", "context": "repl"}, []string{exact}},
		{"evaluate", toolstest.Input{"expression": "x", "context": "anything"}, []string{exact}},
		{"evaluate", toolstest.Input{"expression": "f(x)"}, []string{exact}},
		{"evaluate", toolstest.Input{"expression": "x = 1"}, []string{exact}},
		{"evaluate", toolstest.Input{"expression": "!ls"}, []string{exact}},
		{"evaluate", toolstest.Input{"expression": "shell ls"}, []string{exact}},
		{"set_variable", toolstest.Input{"scope_id": 1, "name": "x", "value": "2"}, []string{"debug: changes to variables of " + program}},
		{"set_variable", toolstest.Input{"scope_id": 1, "name": "x", "value": "f()"}, []string{exact}},
		{"set_expression", toolstest.Input{"expression": "x.y", "value": "2"}, []string{"debug: changes to variables of " + program}},
		{"set_expression", toolstest.Input{"expression": "f().y", "value": "2"}, []string{exact}},
		{"completions", toolstest.Input{"expression": "x.y."}, nil},
		{"completions", toolstest.Input{"expression": "f()."}, []string{exact}},
		{"exception_info", nil, nil},
		{"source", nil, nil},
		{"disassemble", toolstest.Input{"instruction_count": 1}, nil},
		{"disassemble", toolstest.Input{"instruction_count": 1, "memory_reference": "f()"}, []string{exact}},
		{"read_memory", toolstest.Input{"memory_reference": "0x1000", "count": 1}, nil},
		{"read_memory", toolstest.Input{"memory_reference": "f()", "count": 1}, []string{exact}},
		{"write_memory", toolstest.Input{"memory_reference": "0x1000", "data": "AA=="}, []string{exact}},
		{"modules", nil, nil},
		{"loaded_sources", nil, nil},
		{"custom_request", toolstest.Input{"command": "threads"}, []string{exact}},
	}
	tested := make(map[string]bool)
	for _, tt := range cases {
		tested[tt.action] = true
		if got := effects(t, p.World, tt.action, tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("%s %v: %q, want %q", tt.action, tt.in, got, tt.want)
		}
	}
	for _, action := range debug.DebugActions() {
		if !tested[action] {
			t.Errorf("%s: what does it ask for?", action)
		}
	}
}

// A permanent answer permits nothing else: no other program, no other arguments where they matter, no other expression.
func TestDebug_SubjectsDiffer(t *testing.T) {
	p := play(t)
	p.launch(t)
	p.Put(t, "sub/main.x", "x\n")
	seen := make(map[string]string)
	for _, call := range []struct {
		action string
		in     toolstest.Input
	}{
		{"launch", toolstest.Input{"program": "main.x"}},
		{"launch", toolstest.Input{"program": "other.x"}},
		{"launch", toolstest.Input{"program": "sub/main.x"}},
		{"launch", toolstest.Input{"program": "main.x", "mode": "test"}},
		{"launch", toolstest.Input{"program": "main.x", "env": toolstest.Input{"A": "1"}}},
		{"launch", toolstest.Input{"program": "main.x", "env": toolstest.Input{"A": "2"}}},
		{"launch", toolstest.Input{"program": "main.x", "arguments": toolstest.Input{"a": 1}}},
		{"launch", toolstest.Input{"program": "main.x", "arguments": toolstest.Input{"a": 2}}},
		{"launch", toolstest.Input{"program": "/bin/sh", "args": []string{"-c", "ls"}}},
		{"launch", toolstest.Input{"program": "/bin/sh", "args": []string{"-c", "pwd"}}},
		{"attach", toolstest.Input{"port": 1}},
		{"attach", toolstest.Input{"port": 1, "host": "localhost"}},
		{"attach", toolstest.Input{"port": 2}},
		{"evaluate", toolstest.Input{"expression": "f(1)"}},
		{"evaluate", toolstest.Input{"expression": "f(2)"}},
		{"evaluate", toolstest.Input{"expression": "f(1)", "context": "watch"}},
		{"set_expression", toolstest.Input{"expression": "f().y", "value": "2"}},
		{"set_variable", toolstest.Input{"scope_id": 1, "name": "x", "value": "2"}},
		{"set_variable", toolstest.Input{"scope_id": 1, "name": "x", "value": "f()"}},
		{"write_memory", toolstest.Input{"memory_reference": "0x1000", "data": "AA=="}},
		{"write_memory", toolstest.Input{"memory_reference": "0x1000", "data": "AQ=="}},
		{"custom_request", toolstest.Input{"command": "evaluate", "arguments": toolstest.Input{"expression": "f(1)"}}},
		{"custom_request", toolstest.Input{"command": "evaluate", "arguments": toolstest.Input{"expression": "f(2)"}}},
		{"custom_request", toolstest.Input{"command": "threads"}},
		{"goto", toolstest.Input{"file": "main.x", "line": 3}},
		{"set_breakpoint", toolstest.Input{"file": "main.x", "line": 3, "condition": "f(1)"}},
		{"set_breakpoint", toolstest.Input{"file": "main.x", "line": 3, "condition": "f(2)"}},
	} {
		all := toolstest.MustPlan(t, p.World, "debug", withAction(call.action, call.in)).Effects
		name := fmt.Sprint(call.action, call.in)
		if len(all) == 0 || all[0].Subject == "" {
			t.Fatalf("%s asks for nothing that can be remembered", name)
		}
		if other, twice := seen[all[0].Subject]; twice {
			t.Errorf("%s and %s are one subject: %s", name, other, all[0].Subject)
		}
		seen[all[0].Subject] = name
	}
	one := toolstest.MustPlan(t, p.World, "debug", withAction("launch", toolstest.Input{"program": "main.x", "args": []string{"a"}})).Effects[0].Subject
	two := toolstest.MustPlan(t, p.World, "debug", withAction("launch", toolstest.Input{"program": "./main.x"})).Effects[0].Subject
	if one != two {
		t.Errorf("the arguments of a program of the workspace are part of the subject: %s, %s", one, two)
	}
}

// In a language in which a name by itself can be a call, evaluating a name requires permission.
func TestDebug_BareCalls(t *testing.T) {
	p := play(t, "ruby")
	p.launch(t)
	for in, want := range map[string]int{"reboot": 1, "@x": 0} {
		if got := effects(t, p.World, "evaluate", toolstest.Input{"expression": in}); len(got) != want {
			t.Errorf("%s: %q", in, got)
		}
	}
}

// The user sees what would run.
func TestDebug_QuestionShowsWhatRuns(t *testing.T) {
	p := play(t)
	content := func(in toolstest.Input) string {
		c := toolstest.MustPlan(t, p.World, "debug", withAction("launch", in)).Content
		if len(c) != 1 {
			t.Fatalf("%+v", c)
		}
		return c[0].(agent.TextContent).Text
	}
	toolstest.Contains(t, content(toolstest.Input{"program": "main.x", "args": []string{"-v", "a b"}, "env": toolstest.Input{"A": "1"}}),
		"Launch main.x -v 'a b'", "Adapter: fake (", "Directory: "+p.Dir, "Environment: A=1")
	text := content(toolstest.Input{"program": "main.x", "env": toolstest.Input{"KEY": "value1"}, "arguments": toolstest.Input{"initCommands": []string{"shell rm -rf /"}}})
	toolstest.Contains(t, text, "Arguments of the adapter:", "shell rm -rf /", `"KEY": "…"`)
}

func TestDebug_Parameters(t *testing.T) {
	p := play(t)
	call := func(action string, in toolstest.Input) string {
		_, err := toolstest.Plan(t.Context(), toolstest.Tool(t, "debug"), p.Call(t, "debug", withAction(action, in)))
		if err == nil {
			return "no error"
		}
		return err.Error()
	}
	for _, tt := range []struct {
		action string
		in     toolstest.Input
		want   string
	}{
		{"fly", nil, `unknown action "fly"; the actions are launch, attach`},
		{"launch", nil, "program (or configuration) is required for launch"},
		{"launch", toolstest.Input{"program": "mian.x"}, "launch program not found: mian.x does not exist; did you mean main.x?"},
		{"launch", toolstest.Input{"program": "."}, "launch program resolves to a directory: " + p.Dir + ". Give the source file or the binary to run"},
		{"launch", toolstest.Input{"program": "main.x", "arguments": "[1]"}, "arguments must be a JSON object"},
		{"launch", toolstest.Input{"program": "main.x", "arguments": `{"a": 1}`}, "no error"},
		{"launch", toolstest.Input{"program": "main.x", "env": toolstest.Input{"A=B": "1"}}, "not a valid environment variable"},
		{"launch", toolstest.Input{"program": "a\x00b"}, "NUL byte"},
		{"launch", toolstest.Input{"program": "main.x", "adapter": "none"}, "No debugger adapter available. Installed adapters: none."},
		{"launch", toolstest.Input{"configuration": "x"}, "this session reads no launch.json"},
		{"attach", nil, "pid or port (or configuration) is required for attach"},
		{"attach", toolstest.Input{"listen": true, "pid": 1}, "port is required for attach with listen"},
		{"set_breakpoint", toolstest.Input{"file": "main.x"}, "file and line, or function, is required for set_breakpoint"},
		{"remove_breakpoint", nil, "is required for remove_breakpoint"},
		{"run_to", toolstest.Input{"file": "main.x"}, "file and line is required for run_to"},
		{"goto", nil, "target, or file and line, is required for goto"},
		{"set_instruction_breakpoint", nil, "instruction_reference is required for set_instruction_breakpoint"},
		{"data_breakpoint_info", nil, "name is required for data_breakpoint_info"},
		{"set_data_breakpoint", nil, "data_id is required for set_data_breakpoint"},
		{"evaluate", nil, "expression is required for evaluate"},
		{"variables", nil, "variable_ref or scope_id is required for variables"},
		{"set_variable", toolstest.Input{"name": "x"}, "variable_ref or scope_id is required for set_variable"},
		{"set_expression", toolstest.Input{"expression": "x"}, "value is required for set_expression"},
		{"disassemble", nil, "instruction_count is required for disassemble"},
		{"read_memory", toolstest.Input{"memory_reference": "0x1"}, "count is required for read_memory"},
		{"write_memory", toolstest.Input{"memory_reference": "0x1"}, "data is required for write_memory"},
		{"custom_request", nil, "command is required for custom_request"},
		{"stack_trace", toolstest.Input{"levels": -1}, "must not be negative"},
		{"stack_trace", nil, "no active debug session; launch or attach first"},
		{"stack_trace", toolstest.Input{"session": "debug-7"}, "no active debug session; launch or attach first"},
	} {
		if got := call(tt.action, tt.in); !strings.Contains(got, tt.want) {
			t.Errorf("%s %v: %s", tt.action, tt.in, got)
		}
	}
	p.Debugger = nil
	toolstest.Contains(t, call("threads", nil), "this session has no debugger")
}

func TestDebug_WithoutASession(t *testing.T) {
	p := play(t)
	toolstest.Contains(t, runAction(t, p.World, "sessions", nil), "No debug sessions.")
	toolstest.Contains(t, runAction(t, p.World, "terminate", nil), "No debug session to terminate.")
	toolstest.Contains(t, actionFails(t, p.World, "output", nil), "no active debug session;")
	toolstest.Contains(t, runAction(t, p.World, "breakpoints", nil), "No breakpoints.")
	toolstest.Contains(t, runAction(t, p.World, "set_breakpoint", toolstest.Input{"file": "main.x", "line": 3, "condition": "x > 1"}), "- line 3: kept for the next launch if x > 1")
	toolstest.Contains(t, runAction(t, p.World, "set_breakpoint", toolstest.Input{"function": "f"}), "Function breakpoints:\n- f: kept for the next launch")
	toolstest.Contains(t, runAction(t, p.World, "set_exception_breakpoints", toolstest.Input{"filters": []string{"raised"}}), "- raised: kept for the next launch")
	toolstest.Contains(t, runAction(t, p.World, "set_exception_breakpoints", toolstest.Input{"filters": []string{"uncaught"}}), "Exception breakpoints:\n- uncaught: kept")
	toolstest.Contains(t, runAction(t, p.World, "set_exception_breakpoints", nil), "The adapter lists its exceptions once a program is launched")
	toolstest.Contains(t, runAction(t, p.World, "sessions", nil), "No debug sessions.", "Kept for the next launch:")
	toolstest.Contains(t, actionFails(t, p.World, "set_breakpoint", toolstest.Input{"file": "mian.x", "line": 3}), "did you mean main.x?")
	toolstest.Contains(t, runAction(t, p.World, "remove_breakpoint", toolstest.Input{"function": "f"}), "Function breakpoints:\n(none)")
	p.launch(t)
	toolstest.Contains(t, runAction(t, p.World, "breakpoints", nil), "- line 3: verified if x > 1", "- uncaught: verified")
}

// Each action has its text.
func TestDebug_Actions(t *testing.T) {
	p := play(t)
	p.Reply("evaluate", godap.EvaluateResponseBody{Result: "42", Type: "int", VariablesReference: 1001, MemoryReference: "0x20"})
	p.Handle("continue", func(r *daptest.Request) {
		r.Respond(map[string]any{"allThreadsContinued": true})
		p.Event("output", godap.OutputEventBody{Category: "stdout", Output: "hello\n"})
		p.Stop("breakpoint")
	})
	p.Handle("goto", func(r *daptest.Request) { r.Respond(nil); p.Stop("goto") })
	for _, command := range []string{"stepBack", "reverseContinue", "restartFrame"} {
		p.Handle(command, func(r *daptest.Request) { r.Respond(nil); p.Stop("step") })
	}
	p.Handle("restart", func(r *daptest.Request) { r.Respond(nil); p.Stop("entry") })
	p.Reply("gotoTargets", godap.GotoTargetsResponseBody{Targets: []godap.GotoTarget{{Id: 4, Label: "line 3", Line: 3}}})
	p.Reply("stepInTargets", godap.StepInTargetsResponseBody{Targets: []godap.StepInTarget{{Id: 0, Label: "f(x)"}, {Id: 8, Label: "g(x)"}}})
	p.Reply("setVariable", godap.SetVariableResponseBody{Value: "2", Type: "int"})
	p.Reply("setExpression", godap.SetExpressionResponseBody{Value: "3"})
	p.Reply("completions", godap.CompletionsResponseBody{Targets: []godap.CompletionItem{{Label: "count", Type: "property"}, {Label: "close", Text: "close()"}}})
	p.Reply("exceptionInfo", godap.ExceptionInfoResponseBody{ExceptionId: "ValueError", Description: "bad", BreakMode: "always", Details: &godap.ExceptionDetails{StackTrace: "at f\nat g\n", TypeName: "E"}})
	p.Reply("modules", godap.ModulesResponseBody{Modules: []godap.Module{{Id: 1, Name: "libc", Path: "/lib/libc.so", SymbolStatus: "none", AddressRange: "0x1-0x2"}}, TotalModules: 3})
	p.Reply("loadedSources", godap.LoadedSourcesResponseBody{Sources: []godap.Source{{Name: "main.x", Path: p.Program.Path}, {Name: "eval", SourceReference: 5}}})
	p.Reply("source", godap.SourceResponseBody{Content: "made\tup\n"})
	p.Reply("readMemory", godap.ReadMemoryResponseBody{Address: "0x1000", Data: "aGVsbG8sIHdvcmxkISEhMTIz", UnreadableBytes: 4})
	p.Reply("writeMemory", godap.WriteMemoryResponseBody{BytesWritten: 2})
	p.Reply("dataBreakpointInfo", godap.DataBreakpointInfoResponseBody{DataId: "d1", Description: "x", AccessTypes: []godap.DataBreakpointAccessType{"read", "write"}, CanPersist: true})
	p.Reply("disassemble", godap.DisassembleResponseBody{Instructions: []godap.DisassembledInstruction{
		{Address: "0x0fff", InstructionBytes: "90", Instruction: "nop"}, {Address: "0x1000", InstructionBytes: "48 89 e5", Instruction: "mov rbp, rsp", Symbol: "main"},
	}})
	p.Reply("frobnicate", map[string]any{"b": []int{1}, "a": "x"})
	p.launch(t)
	for _, tt := range []struct {
		action string
		in     toolstest.Input
		want   []string
	}{
		{"sessions", nil, []string{"Session: debug-1\nAdapter: fake\nStatus: stopped\nCWD: "}},
		{"step_over", nil, []string{"Step over stopped at main.x:2:1.", "Stop reason: step", "→ 2  line 2", "Changed since the last stop:\n- line: 1 → 2"}},
		{"step_in", toolstest.Input{"target": 8}, []string{"Step in stopped at main.x:3:1."}},
		{"step_out", nil, []string{"Step out stopped at main.x:4:1."}},
		{"step_back", nil, []string{"Step back stopped at main.x:4:1."}},
		{"reverse_continue", nil, []string{"Reverse continue stopped at"}},
		{"restart_frame", nil, []string{"Restart frame stopped at"}},
		{"goto_targets", toolstest.Input{"file": "main.x", "line": 3}, []string{"Goto targets", "- 4: line 3 @ line 3"}},
		{"goto", toolstest.Input{"file": "main.x", "line": 3}, []string{"Goto stopped at", "Stop reason: goto"}},
		{"step_in_targets", nil, []string{"- 0: f(x)\n- 8: g(x)"}},
		{"continue", nil, []string{"Continue stopped at main.x:4:1.", "Output since the last stop:\nhello"}},
		{"output", nil, []string{"hello"}},
		{"inspect", toolstest.Input{"depth": 2}, []string{"Session: debug-1, stopped (breakpoint)", "#0 work @ main.x:4:1 [frame_id=", "  Locals:\n  - line = 4 (int)\n  - same = 1 (int)\n  - list = [] (list) [ref=", "#1 main @ main.x:9:1"}},
		{"stack_trace", nil, []string{"Stack trace:\n- #", " work @ main.x:4:1\n- #", " main @ main.x:9:1"}},
		{"threads", nil, []string{"- 1: main"}},
		{"scopes", nil, []string{"- Locals: ref=", ", expensive=no, hint=locals"}},
		{"evaluate", toolstest.Input{"expression": "x"}, []string{"Result: 42\nType: int\nVariables ref: ", "Memory reference: 0x20"}},
		{"set_expression", toolstest.Input{"expression": "x", "value": "3"}, []string{"Set: x = 3"}},
		{"completions", toolstest.Input{"expression": "x.c"}, []string{"- count (property)\n- close → close()"}},
		{"exception_info", nil, []string{"Exception: ValueError\nDescription: bad\nBreak mode: always\nType: E\nStack trace:\nat f\nat g"}},
		{"source", toolstest.Input{"source_reference": 5}, []string{"made\tup"}},
		{"modules", nil, []string{"ID  Name  Path          Symbols  Range\n1   libc  /lib/libc.so  none     0x1-0x2\n… 2 more modules; use start_module 1 to list them"}},
		{"loaded_sources", nil, []string{"- main.x\n- eval [source_reference="}},
		{"read_memory", toolstest.Input{"memory_reference": "0x1000", "count": 30}, []string{"0x000000001000  68 65 6c 6c 6f 2c 20 77  6f 72 6c 64 21 21 21 31  |hello, world!!!1|\n0x000000001010  32 33 ", "|23|\n(4 bytes after this cannot be read)"}},
		{"write_memory", toolstest.Input{"memory_reference": "0x1000", "data": "AAE="}, []string{"Memory write completed.\nBytes written: 2"}},
		{"disassemble", toolstest.Input{"instruction_count": 2}, []string{"  0x0fff  90        nop\n→ 0x1000  48 89 e5  mov rbp, rsp  <main>"}},
		{"data_breakpoint_info", toolstest.Input{"name": "x"}, []string{"Data ID: d1\nDescription: x\nAccess types: read, write\nPersistent: yes"}},
		{"set_data_breakpoint", toolstest.Input{"data_id": "d1", "access_type": "write"}, []string{"Data breakpoints:\n- d1: verified on write"}},
		{"remove_data_breakpoint", toolstest.Input{"data_id": "d1"}, []string{"Data breakpoints:\n(none)"}},
		{"set_instruction_breakpoint", toolstest.Input{"instruction_reference": "0x1000", "offset": 4}, []string{"Instruction breakpoints:\n- 0x1000+4: verified"}},
		{"remove_instruction_breakpoint", toolstest.Input{"instruction_reference": "0x1000", "offset": 4}, []string{"Instruction breakpoints:\n(none)"}},
		{"set_exception_breakpoints", nil, []string{"- uncaught: Uncaught [on] (takes a condition)\n- raised: Raised (takes a condition)"}},
		{"set_exception_breakpoints", toolstest.Input{"filters": []string{"raised"}, "conditions": toolstest.Input{"raised": "x > 1"}}, []string{"- raised: ", " if x > 1"}},
		{"custom_request", toolstest.Input{"command": "frobnicate", "arguments": `{"x": 1}`}, []string{"frobnicate response:\n{\n", `"a": "x"`}},
		{"restart", nil, []string{"Restart stopped at main.x:4:1.", "Session: debug-1"}},
		{"terminate", nil, []string{"Session: debug-1", "Debug session terminated."}},
	} {
		text := runAction(t, p.World, tt.action, tt.in)
		toolstest.Contains(t, text, tt.want...)
	}
	p.Gone()
}

// The location of every stop is reported while the call runs and with its result; the program's output as it arrives.
func TestDebug_ReportedWhileItRuns(t *testing.T) {
	p := play(t)
	p.Handle("continue", func(r *daptest.Request) {
		r.Respond(map[string]any{"allThreadsContinued": true})
		p.Event("output", godap.OutputEventBody{Category: "stdout", Output: "hello\n"})
		p.Stop("breakpoint")
	})
	p.launch(t)
	res := actionResult(t, p.World, "continue", nil)
	want := agent.Location{Path: p.Program.Path, Line: 1}
	if len(res.Locations) != 1 || res.Locations[0] != want {
		t.Errorf("the result is at %v", res.Locations)
	}
	said, followed := "", 0
	for _, progress := range p.Progress() {
		said += progress.Text
		if slices.Contains(progress.Locations, want) {
			followed++
		}
	}
	if !strings.Contains(said, "hello") || followed == 0 {
		t.Errorf("told %q, %d locations", said, followed)
	}
}

// A slow adapter fails the call, but not the session.
func TestDebug_SlowAdapter(t *testing.T) {
	p := play(t)
	p.Handle("threads", func(*daptest.Request) {})
	p.launch(t)
	toolstest.Contains(t, actionFails(t, p.World, "threads", toolstest.Input{"timeout": 5}), "debug threads timed out after 5s.", "Session debug-1 still exists and is stopped")
	toolstest.Contains(t, runAction(t, p.World, "step_over", nil), "Step over stopped at main.x:2:1.")
}

// A run_to that the adapter does not execute leaves no breakpoint.
func TestDebug_RunToRefused(t *testing.T) {
	p := play(t)
	p.Handle("continue", func(r *daptest.Request) { r.Refuse("not now") })
	p.launch(t)
	toolstest.Contains(t, actionFails(t, p.World, "run_to", toolstest.Input{"file": "main.x", "line": 7}), "not now")
	if text := runAction(t, p.World, "breakpoints", nil); strings.Contains(text, "line 7") {
		t.Error(text)
	}
}

// The end of the adapter is reported with the next sensible step.
func TestDebug_AdapterDies(t *testing.T) {
	p := play(t)
	p.Handle("threads", func(*daptest.Request) { p.Hangup() })
	p.launch(t)
	text := actionFails(t, p.World, "threads", nil)
	toolstest.Contains(t, text, "the debug adapter died", "launch it again")
	s, err := p.Debugger.Sessions.Find("")
	if err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); s.State() != dap.StateTerminated; { // until nothing is left of the adapter
		if time.Since(begin) > time.Minute {
			t.Fatal("the session does not end")
		}
	}
	toolstest.Contains(t, actionFails(t, p.World, "step_over", nil), "no active debug session; launch or attach first; the last one, debug-1, has ended: Program terminated: the debug adapter died")
}

// The result of inspect stays small for frames of any size, and expands values that do not show their content.
func TestDebug_InspectIsBounded(t *testing.T) {
	p := play(t)
	p.Handle("stackTrace", func(r *daptest.Request) {
		var args godap.StackTraceArguments
		r.Decode(&args)
		var body godap.StackTraceResponseBody
		for n := range min(max(args.Levels, 1), 50) {
			body.StackFrames = append(body.StackFrames, godap.StackFrame{Id: n + 1, Name: fmt.Sprintf("f%d", n), Source: &godap.Source{Path: p.Program.Path}, Line: 1 + n, Column: 1})
		}
		body.TotalFrames = 50
		r.Respond(body)
	})
	p.Handle("scopes", func(r *daptest.Request) {
		r.Respond(godap.ScopesResponseBody{Scopes: []godap.Scope{
			{Name: "Locals", VariablesReference: 10}, {Name: "Globals", VariablesReference: 11}, {Name: "Heap", VariablesReference: 12, Expensive: true},
		}})
	})
	var mu sync.Mutex
	asked := make(map[int]int)
	p.Handle("variables", func(r *daptest.Request) {
		var args godap.VariablesArguments
		r.Decode(&args)
		mu.Lock()
		asked[args.VariablesReference]++
		mu.Unlock()
		if args.VariablesReference == 20 {
			r.Respond(godap.VariablesResponseBody{Variables: []godap.Variable{{Name: "inner", Value: "7"}}})
			return
		}
		body := godap.VariablesResponseBody{Variables: []godap.Variable{{Name: "object", Value: "<Object at 0x1>", VariablesReference: 20}, {Name: "shown", Value: "T {A: 1}", VariablesReference: 21}}}
		for n := range 300 {
			body.Variables = append(body.Variables, godap.Variable{Name: fmt.Sprint("v", n), Value: strings.Repeat("x", 10000)})
		}
		r.Respond(body)
	})
	p.launch(t)
	text := runAction(t, p.World, "inspect", toolstest.Input{"depth": 10})
	if len(text) > 13<<10 {
		t.Errorf("%d bytes", len(text))
	}
	toolstest.Contains(t, text, "#0 f0 @ main.x:1", "- object = <Object at 0x1> [ref=", "      inner = 7", "- shown = T {A: 1}", "Globals: not shown [ref=", "left out: use scopes with their frame_id")
	mu.Lock()
	defer mu.Unlock()
	if asked[11] > 0 || asked[12] > 0 || asked[21] > 0 {
		t.Errorf("asked for %v", asked)
	}
}
