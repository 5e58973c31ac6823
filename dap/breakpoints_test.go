package dap_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/daptest"
)

// recordRequests answers requests for breakpoints and returns a function that returns them.
func recordRequests(p *daptest.Program, commands ...string) func() []string {
	var mu sync.Mutex
	var got []string
	for _, command := range commands {
		p.Handle(command, func(r *daptest.Request) {
			var args struct {
				Breakpoints []map[string]any `json:"breakpoints"`
			}
			r.Decode(&args)
			mu.Lock()
			got = append(got, command+" "+string(r.Arguments))
			mu.Unlock()
			list := make([]godap.Breakpoint, len(args.Breakpoints))
			for i := range list {
				list[i] = godap.Breakpoint{Id: 10 + i, Verified: true}
			}
			r.Respond(map[string]any{"breakpoints": list})
		})
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
}

func TestBreakpoints_EachKind(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	got := recordRequests(p, "setBreakpoints", "setFunctionBreakpoints", "setInstructionBreakpoints", "setDataBreakpoints", "setExceptionBreakpoints")
	for _, b := range []dap.Breakpoint{
		{Kind: dap.SourceBreakpoint, Path: "/w/a.x", Line: 3, Condition: "i > 2", HitCondition: "5", LogMessage: "i is {i}"},
		{Kind: dap.SourceBreakpoint, Path: "/w/a.x", Line: 7, Column: 4},
		{Kind: dap.SourceBreakpoint, Path: "/w/b.x", Line: 1},
		{Kind: dap.FunctionBreakpoint, Function: "main.f", Condition: "x"},
		{Kind: dap.InstructionBreakpoint, Instruction: "0x10", Offset: 4, HitCondition: "2"},
		{Kind: dap.DataBreakpoint, DataID: "d1", AccessType: "write", Condition: "y"},
		{Kind: dap.ExceptionBreakpoint, Filter: "raised", Condition: "z"},
	} {
		if _, err := s.SetBreakpoint(within(t), b); err != nil {
			t.Fatalf("%+v: %v", b, err)
		}
	}
	want := []string{
		`setBreakpoints {"source":{"name":"a.x","path":"/w/a.x"},"breakpoints":[{"line":3,"condition":"i > 2","hitCondition":"5","logMessage":"i is {i}"}],"lines":[3]}`,
		`setBreakpoints {"source":{"name":"a.x","path":"/w/a.x"},"breakpoints":[{"line":3,"condition":"i > 2","hitCondition":"5","logMessage":"i is {i}"},{"line":7,"column":4}],"lines":[3,7]}`,
		`setBreakpoints {"source":{"name":"b.x","path":"/w/b.x"},"breakpoints":[{"line":1}],"lines":[1]}`,
		`setFunctionBreakpoints {"breakpoints":[{"name":"main.f","condition":"x"}]}`,
		`setInstructionBreakpoints {"breakpoints":[{"instructionReference":"0x10","offset":4,"hitCondition":"2"}]}`,
		`setDataBreakpoints {"breakpoints":[{"dataId":"d1","accessType":"write","condition":"y"}]}`,
		`setExceptionBreakpoints {"filters":["uncaught"],"filterOptions":[{"filterId":"raised","condition":"z"}]}`,
	}
	if diff := cmp.Diff(want, got()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	list, err := s.RemoveBreakpoint(within(t), dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: "/w/a.x", Line: 3})
	if err != nil || len(list) != 1 || list[0].Line != 7 || !list[0].Verified {
		t.Errorf("remaining = %+v, %v", list, err)
	}
	list, err = s.RemoveBreakpoint(within(t), dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: "/w/a.x", Line: 7})
	if err != nil || len(list) != 0 {
		t.Errorf("remaining = %+v, %v", list, err)
	}
	all := got()
	if last := all[len(all)-1]; !strings.Contains(last, `"breakpoints":[],"lines":[]`) {
		t.Errorf("the last breakpoint was not removed: %s", last)
	}
	if list, err := s.RemoveBreakpoint(within(t), dap.Breakpoint{Kind: dap.FunctionBreakpoint, Function: "none"}); err != nil || len(list) != 1 {
		t.Errorf("remaining = %+v, %v", list, err)
	}
	if list, err := s.SetExceptionBreakpoints(within(t), nil); err != nil || len(list) != 0 {
		t.Errorf("remaining = %+v, %v", list, err)
	}
	all = got()
	if last := all[len(all)-1]; last != `setExceptionBreakpoints {"filters":[]}` {
		t.Errorf("last = %s", last)
	}
}

func TestBreakpoints_Refused(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	if _, err := s.SetBreakpoint(within(t), dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: "/w/a.x", Line: 3}); err != nil {
		t.Fatal(err)
	}
	p.Handle("setBreakpoints", func(r *daptest.Request) { r.Refuse("bad condition") })
	_, err := s.SetBreakpoint(within(t), dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: "/w/a.x", Line: 4, Condition: "&&"})
	if re, ok := errors.AsType[*dap.RequestError](err); !ok || re.Text != "bad condition" {
		t.Errorf("err = %v", err)
	}
	list := s.Breakpoints()
	list = slices.DeleteFunc(list, func(b dap.Breakpoint) bool { return b.Kind != dap.SourceBreakpoint })
	if len(list) != 1 || list[0].Line != 3 {
		t.Errorf("breakpoints = %+v", list)
	}
}

func TestBreakpoints_Events(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	p.Handle("setBreakpoints", func(r *daptest.Request) {
		r.Respond(map[string]any{"breakpoints": []any{map[string]any{"id": 1, "verified": false, "message": "not loaded"}}})
	})
	list, err := s.SetBreakpoint(within(t), dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: "/w/a.x", Line: 3})
	if err != nil || list[0].Verified || list[0].Message != "not loaded" {
		t.Errorf("breakpoints = %+v, %v", list, err)
	}
	p.Event("breakpoint", map[string]any{"reason": "changed", "breakpoint": map[string]any{"id": 1, "verified": true, "line": 5}})
	if _, err := s.Threads(within(t)); err != nil {
		t.Fatal(err)
	}
	if b := s.Breakpoints()[1]; !b.Verified || b.ActualLine != 5 || b.Line != 3 || b.Message != "" {
		t.Errorf("breakpoint = %+v", b)
	}
	p.Event("breakpoint", map[string]any{"reason": "removed", "breakpoint": map[string]any{"id": 1}})
	if _, err := s.Threads(within(t)); err != nil {
		t.Fatal(err)
	}
	if b := s.Breakpoints()[1]; b.Verified || b.Message == "" {
		t.Errorf("breakpoint = %+v", b)
	}
}

// TestCapabilities_Missing checks that an unsupported request is not sent, and that the error names the feature.
func TestCapabilities_Missing(t *testing.T) {
	_, s, p := begin(t, dap.Options{}, func(p *daptest.Program) {
		p.Handle("initialize", func(r *daptest.Request) { r.Respond(nil); p.Event("initialized", nil) })
		// Without configurationDone the program runs once the breakpoints are set.
		p.Handle("launch", func(r *daptest.Request) { r.Respond(nil); p.Stop("entry") })
	})
	ctx := within(t)
	resumed := func(r dap.Resume) func() error { return func() error { return s.Resume(ctx, r) } }
	set := func(b dap.Breakpoint) func() error {
		return func() error { _, err := s.SetBreakpoint(ctx, b); return err }
	}
	source := dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: "/w/a.x", Line: 1}
	with := func(change func(*dap.Breakpoint)) dap.Breakpoint { b := source; change(&b); return b }
	tests := []struct {
		what string
		call func() error
	}{
		{"function breakpoints", set(dap.Breakpoint{Kind: dap.FunctionBreakpoint, Function: "f"})},
		{"instruction breakpoints", set(dap.Breakpoint{Kind: dap.InstructionBreakpoint, Instruction: "0x1"})},
		{"data breakpoints", set(dap.Breakpoint{Kind: dap.DataBreakpoint, DataID: "d"})},
		{"exception breakpoints", set(dap.Breakpoint{Kind: dap.ExceptionBreakpoint, Filter: "all"})},
		{"conditional breakpoints", set(with(func(b *dap.Breakpoint) { b.Condition = "x" }))},
		{"hit conditions", set(with(func(b *dap.Breakpoint) { b.HitCondition = "2" }))},
		{"log messages", set(with(func(b *dap.Breakpoint) { b.LogMessage = "x" }))},
		{"running backwards", resumed(dap.Resume{Command: "stepBack"})},
		{"running backwards", resumed(dap.Resume{Command: "reverseContinue"})},
		{"restarting a frame", resumed(dap.Resume{Command: "restartFrame"})},
		{"goto", resumed(dap.Resume{Command: "goto", Target: 1})},
		{"step-in targets", resumed(dap.Resume{Command: "stepIn", Target: 1})},
		{"stepping by instruction", resumed(dap.Resume{Command: "next", Granularity: "instruction"})},
		{"running a single thread", resumed(dap.Resume{Command: "next", Single: true})},
		{"goto", func() error { _, err := s.GotoTargets(ctx, "/w/a.x", 1); return err }},
		{"step-in targets", func() error { _, err := s.StepInTargets(ctx, 0); return err }},
		{"setting variables", func() error { _, err := s.SetVariable(ctx, 1, "x", "1"); return err }},
		{"setting expressions", func() error { _, err := s.SetExpression(ctx, "x", "1", 0); return err }},
		{"completions", func() error { _, err := s.Completions(ctx, "x", 1, 0); return err }},
		{"exception info", func() error { _, err := s.ExceptionInfo(ctx, 0); return err }},
		{"module introspection", func() error { _, _, err := s.Modules(ctx, 0, 0); return err }},
		{"loaded sources", func() error { _, err := s.LoadedSources(ctx); return err }},
		{"memory reads", func() error { _, err := s.ReadMemory(ctx, "0x1", 0, 4); return err }},
		{"memory writes", func() error { _, err := s.WriteMemory(ctx, "0x1", 0, []byte{1}, false); return err }},
		{"disassembly", func() error { _, err := s.Disassemble(ctx, dap.Disassemble{Count: 1}); return err }},
		{"data breakpoints", func() error { _, err := s.DataBreakpointInfo(ctx, "x", 0, 0); return err }},
	}
	before := p.Seen()
	for _, tt := range tests {
		err := tt.call()
		if !errors.Is(err, dap.ErrUnsupported) || err.Error() != "the debug adapter does not support "+tt.what {
			t.Errorf("%s: %v", tt.what, err)
		}
	}
	if after := p.Seen(); len(after) != len(before) {
		t.Errorf("requests = %v", after[len(before):])
	}
	if slices.Contains(before, "configurationDone") || slices.Contains(before, "setExceptionBreakpoints") {
		t.Errorf("requests = %v", before)
	}
	// A capabilities event can add a feature.
	p.Event("capabilities", map[string]any{"capabilities": map[string]any{"supportsModulesRequest": true}})
	p.Reply("modules", map[string]any{"modules": []any{map[string]any{"id": 1, "name": "libx"}}, "totalModules": 3})
	if _, err := s.Threads(ctx); err != nil {
		t.Fatal(err)
	}
	if list, total, err := s.Modules(ctx, 0, 1); err != nil || total != 3 || len(list) != 1 || list[0].Name != "libx" {
		t.Errorf("modules = %v, %d, %v", list, total, err)
	}
}

// TestRequests covers the arguments and the answers of requests without a test of their own.
func TestRequests(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	ctx := within(t)
	var args string
	answer := func(command string, body any) {
		p.Handle(command, func(r *daptest.Request) { args = string(r.Arguments); r.Respond(body) })
	}
	scopes, err := s.Scopes(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		command string
		body    any
		call    func() (any, error)
		args    string
		want    any
	}{
		{
			"setVariable",
			map[string]any{"value": "6", "type": "int"},
			func() (any, error) { return s.SetVariable(ctx, scopes[0].Ref, "x", "6") },
			`{"variablesReference":1000,"name":"x","value":"6"}`, &dap.Variable{Name: "x", Value: "6", Type: "int"},
		},
		{
			"setExpression",
			map[string]any{"value": "7"},
			func() (any, error) { return s.SetExpression(ctx, "a.b", "7", 0) },
			`{"expression":"a.b","value":"7","frameId":1}`, &dap.Variable{Name: "a.b", Value: "7"},
		},
		{
			"evaluate",
			map[string]any{"result": "5", "type": "int", "memoryReference": "0x5"},
			func() (any, error) { return s.Evaluate(ctx, "2+3", "repl", 0) },
			`{"expression":"2+3","frameId":1,"context":"repl"}`, &dap.Variable{Name: "2+3", Value: "5", Type: "int", MemoryReference: "0x5"},
		},
		{
			"completions",
			map[string]any{"targets": []any{map[string]any{"label": "len"}}},
			func() (any, error) { return s.Completions(ctx, "le", 3, 0) },
			`{"frameId":1,"text":"le","column":3}`,
			[]godap.CompletionItem{{Label: "len"}},
		},
		{
			"exceptionInfo",
			map[string]any{"exceptionId": "E", "breakMode": "always"},
			func() (any, error) { return s.ExceptionInfo(ctx, 0) },
			`{"threadId":1}`, &godap.ExceptionInfoResponseBody{ExceptionId: "E", BreakMode: "always"},
		},
		{
			"loadedSources",
			map[string]any{"sources": []any{map[string]any{"name": "a"}}},
			func() (any, error) { return s.LoadedSources(ctx) },
			"",
			[]godap.Source{{Name: "a"}},
		},
		{
			"gotoTargets",
			map[string]any{"targets": []any{map[string]any{"id": 3, "label": "here", "line": 5}}},
			func() (any, error) { return s.GotoTargets(ctx, "/w/a.x", 5) },
			`{"source":{"name":"a.x","path":"/w/a.x"},"line":5}`,
			[]godap.GotoTarget{{Id: 3, Label: "here", Line: 5}},
		},
		{
			"stepInTargets",
			map[string]any{"targets": []any{map[string]any{"id": 4, "label": "f()"}}},
			func() (any, error) { return s.StepInTargets(ctx, 0) },
			`{"frameId":1}`,
			[]godap.StepInTarget{{Id: 4, Label: "f()"}},
		},
		{
			"readMemory",
			map[string]any{"address": "0x10", "data": "AQID", "unreadableBytes": 5},
			func() (any, error) { return s.ReadMemory(ctx, "0xa", 6, 8) },
			`{"memoryReference":"0xa","offset":6,"count":8}`, &dap.Memory{Address: "0x10", Data: []byte{1, 2, 3}, Unreadable: 5},
		},
		{
			"writeMemory",
			map[string]any{"bytesWritten": 1},
			func() (any, error) { return s.WriteMemory(ctx, "0xa", 0, []byte{1, 2}, true) },
			`{"memoryReference":"0xa","allowPartial":true,"data":"AQI="}`, 1,
		},
		{
			"writeMemory", nil,
			func() (any, error) { return s.WriteMemory(ctx, "0xa", 1, []byte{1, 2}, false) },
			`{"memoryReference":"0xa","offset":1,"data":"AQI="}`, 2,
		},
		{
			"disassemble",
			map[string]any{"instructions": []any{map[string]any{"address": "0x1000", "instruction": "nop"}}},
			func() (any, error) {
				return s.Disassemble(ctx, dap.Disassemble{Count: 3, InstructionOffset: -1, Symbols: true})
			},
			`{"memoryReference":"0x1000","instructionOffset":-1,"instructionCount":3,"resolveSymbols":true}`,
			[]godap.DisassembledInstruction{{Address: "0x1000", Instruction: "nop"}},
		},
		{
			"dataBreakpointInfo",
			map[string]any{"dataId": "d", "description": "x", "accessTypes": []string{"write"}, "canPersist": true},
			func() (any, error) { return s.DataBreakpointInfo(ctx, "x", scopes[0].Ref, 0) },
			`{"variablesReference":1000,"name":"x"}`, &dap.DataInfo{ID: "d", Description: "x", AccessTypes: []string{"write"}, Persistent: true},
		},
		{
			"dataBreakpointInfo",
			map[string]any{"dataId": nil, "description": "no room"},
			func() (any, error) { return s.DataBreakpointInfo(ctx, "x", 0, 0) },
			`{"name":"x","frameId":1}`, &dap.DataInfo{Description: "no room"},
		},
		{
			"source",
			map[string]any{"content": "text"},
			func() (any, error) { return s.SourceText(ctx, 12) },
			`{"source":{"sourceReference":12},"sourceReference":12}`, "text",
		},
	}
	for _, tt := range tests {
		answer(tt.command, tt.body)
		got, err := tt.call()
		if err != nil {
			t.Errorf("%s: %v", tt.command, err)
			continue
		}
		if args != tt.args {
			t.Errorf("%s: arguments %s, want %s", tt.command, args, tt.args)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.command, diff)
		}
	}
}

// TestSource_FromAdapter covers a source that only the adapter has.
func TestSource_FromAdapter(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	p.Handle("stackTrace", func(r *daptest.Request) {
		r.Respond(godap.StackTraceResponseBody{StackFrames: []godap.StackFrame{
			{Id: 1, Name: "gen", Line: 2, Source: &godap.Source{Name: "generated", SourceReference: 33, Path: "/gen/x"}},
		}})
	})
	p.Reply("source", map[string]any{"content": "one\ntwo\nthree\n"})
	snap := snapshot(t, s)
	if len(snap.Lines) != 3 || snap.Lines[1].Text != "two" || snap.Frame.Path != "" {
		t.Errorf("lines = %v, frame %+v", snap.Lines, snap.Frame)
	}
	text, name, err := s.Source(within(t), 0)
	if err != nil || name != "generated" || !strings.HasPrefix(text, "one\n") {
		t.Errorf("source = %q, %q, %v", text, name, err)
	}
}

// TestRemoveBreakpoint_Unsupported checks that gjc does not send a request for breakpoints of an unsupported kind: some
// adapters never answer it.
func TestRemoveBreakpoint_Unsupported(t *testing.T) {
	d := newDebugger(t, dap.Options{})
	d.Plan(dap.Breakpoint{Kind: dap.FunctionBreakpoint, Function: "f"})
	a, address := daptest.Listen(t)
	p := daptest.NewProgram(a, source(t), godap.Capabilities{SupportsConfigurationDoneRequest: true})
	s, err := d.Start(within(t), &dap.Start{Request: "launch", Address: address, Dir: filepath.Dir(p.Path)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if list := s.Breakpoints(); len(list) != 1 || list[0].Verified || list[0].Message == "" {
		t.Errorf("breakpoints = %+v", list)
	}
	for _, b := range []dap.Breakpoint{
		{Kind: dap.FunctionBreakpoint, Function: "f"}, {Kind: dap.InstructionBreakpoint, Instruction: "0x1"}, {Kind: dap.DataBreakpoint, DataID: "x"},
	} {
		if list, err := s.RemoveBreakpoint(within(t), b); err != nil || len(list) != 0 {
			t.Errorf("%s: %+v, %v", b.Kind, list, err)
		}
	}
	for _, command := range p.Seen() {
		if strings.HasPrefix(command, "set") {
			t.Errorf("the adapter received %s", command)
		}
	}
	if list := s.Breakpoints(); len(list) != 0 {
		t.Errorf("breakpoints are left: %+v", list)
	}
}
