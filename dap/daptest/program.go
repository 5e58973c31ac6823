package daptest

import (
	"fmt"

	godap "github.com/google/go-dap"
)

// Program is a simulated program under an adapter that supports every request. It stops in main at line 1 and advances one
// line at each step. A test of one request changes it with Handle.
type Program struct {
	*Adapter
	// Path is the source file, absolute.
	Path string
	line int
}

// All returns the capabilities of an adapter that supports every request.
func All() godap.Capabilities {
	return godap.Capabilities{
		SupportsConfigurationDoneRequest: true, SupportsFunctionBreakpoints: true, SupportsConditionalBreakpoints: true,
		SupportsHitConditionalBreakpoints: true, SupportsEvaluateForHovers: true,
		ExceptionBreakpointFilters: []godap.ExceptionBreakpointsFilter{
			{Filter: "uncaught", Label: "Uncaught", Default: true, SupportsCondition: true}, {Filter: "raised", Label: "Raised", SupportsCondition: true},
		},
		SupportsStepBack: true, SupportsSetVariable: true, SupportsRestartFrame: true, SupportsGotoTargetsRequest: true,
		SupportsStepInTargetsRequest: true, SupportsCompletionsRequest: true, SupportsModulesRequest: true, SupportsRestartRequest: true,
		SupportsExceptionOptions: true, SupportsExceptionInfoRequest: true, SupportTerminateDebuggee: true,
		SupportsLoadedSourcesRequest: true, SupportsLogPoints: true, SupportsSetExpression: true, SupportsTerminateRequest: true,
		SupportsDataBreakpoints: true, SupportsReadMemoryRequest: true, SupportsWriteMemoryRequest: true,
		SupportsDisassembleRequest: true, SupportsCancelRequest: true, SupportsSteppingGranularity: true,
		SupportsInstructionBreakpoints: true, SupportsExceptionFilterOptions: true, SupportsSingleThreadExecutionRequests: true,
	}
}

// NewProgram makes an adapter simulate a program whose source is at path, and which stops at its entry.
func NewProgram(a *Adapter, path string, caps godap.Capabilities) *Program {
	p := &Program{Adapter: a, Path: path, line: 1}
	a.Handle("initialize", func(r *Request) { r.Respond(caps); a.Event("initialized", nil) })
	a.Reply("launch", nil)
	a.Reply("attach", nil)
	a.Handle("setBreakpoints", func(r *Request) {
		var args godap.SetBreakpointsArguments
		r.Decode(&args)
		body := godap.SetBreakpointsResponseBody{Breakpoints: []godap.Breakpoint{}}
		for i, b := range args.Breakpoints {
			body.Breakpoints = append(body.Breakpoints, godap.Breakpoint{Id: i + 1, Verified: true, Line: b.Line})
		}
		r.Respond(body)
	})
	for _, command := range []string{"setFunctionBreakpoints", "setInstructionBreakpoints", "setDataBreakpoints"} {
		a.Handle(command, func(r *Request) {
			var args struct {
				Breakpoints []map[string]any `json:"breakpoints"`
			}
			r.Decode(&args)
			body := godap.SetBreakpointsResponseBody{Breakpoints: []godap.Breakpoint{}}
			for i := range args.Breakpoints {
				body.Breakpoints = append(body.Breakpoints, godap.Breakpoint{Id: 100 + i, Verified: true})
			}
			r.Respond(body)
		})
	}
	a.Reply("setExceptionBreakpoints", nil)
	a.Handle("configurationDone", func(r *Request) { r.Respond(nil); p.Stop("entry") })
	a.Reply("threads", godap.ThreadsResponseBody{Threads: []godap.Thread{{Id: 1, Name: "main"}}})
	a.Handle("stackTrace", func(r *Request) { r.Respond(p.stack()) })
	a.Handle("scopes", func(r *Request) {
		r.Respond(godap.ScopesResponseBody{Scopes: []godap.Scope{{Name: "Locals", PresentationHint: "locals", VariablesReference: 1000}}})
	})
	a.Handle("variables", func(r *Request) {
		r.Respond(godap.VariablesResponseBody{Variables: []godap.Variable{
			{Name: "line", Value: fmt.Sprint(p.line), Type: "int"},
			{Name: "same", Value: "1", Type: "int"},
			{Name: "list", Value: "[]", Type: "list", VariablesReference: 1001, IndexedVariables: 3},
		}})
	})
	for _, command := range []string{"next", "stepIn", "stepOut"} {
		a.Handle(command, func(r *Request) { p.line++; r.Respond(nil); p.Stop("step") })
	}
	a.Reply("continue", map[string]any{"allThreadsContinued": true})
	a.Handle("pause", func(r *Request) { r.Respond(nil); p.Stop("pause") })
	a.Handle("terminate", func(r *Request) { r.Respond(nil); p.End(0) })
	a.Handle("disconnect", func(r *Request) { r.Respond(nil); a.Hangup() })
	a.Reply("cancel", nil)
	return p
}

func (p *Program) stack() godap.StackTraceResponseBody {
	src := &godap.Source{Name: "main", Path: p.Path}
	return godap.StackTraceResponseBody{TotalFrames: 2, StackFrames: []godap.StackFrame{
		{Id: 1, Name: "work", Source: src, Line: p.line, Column: 1, InstructionPointerReference: "0x1000"},
		{Id: 2, Name: "main", Source: src, Line: 9, Column: 1},
	}}
}

// Stop sends a stopped event.
func (p *Program) Stop(reason string) {
	p.Event("stopped", godap.StoppedEventBody{Reason: reason, ThreadId: 1, AllThreadsStopped: true})
}

// End sends the events of the end of the program.
func (p *Program) End(code int) {
	p.Event("exited", godap.ExitedEventBody{ExitCode: code})
	p.Event("terminated", nil)
}
