package debug

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/text"
)

// sessionNeed is the kind of debug session that an action needs.
type sessionNeed int

const (
	// openSession is one that has not ended.
	openSession sessionNeed = iota
	// anySession is one that may have ended, or none.
	anySession
	// maybeSession is an open one, or none.
	maybeSession
	noSession
)

// debugAction describes one value of the parameter action.
type debugAction struct {
	name string
	// title names the action in a few words, and about returns what it is about.
	title string
	about func(c *debugCall) string
	// kind is empty for an action that does more than read.
	kind    agent.ToolKind
	session sessionNeed
	// starts marks launch and attach, resumes the actions that let a program run on.
	starts, resumes bool
	// needs are the required parameters.
	needs []parameter
	run   func(ctx context.Context, c *debugCall) (*agent.Result, error)
}

// parameter is a required parameter, or several of which one is required.
type parameter struct {
	name  string
	given func(in *debugInput) bool
}

// missing returns an error for the first required parameter that is missing.
func (a *debugAction) missing(c *debugCall) error {
	for _, p := range a.needs {
		if !p.given(c.in) {
			return required(p.name, a.name)
		}
	}
	return nil
}

// The parameters that actions require.
func needsProgram() parameter {
	return parameter{"program (or configuration)", func(in *debugInput) bool {
		return in.Program != "" || in.Configuration != "" || in.Arguments != ""
	}}
}

func needsProcess() parameter {
	return parameter{"pid or port (or configuration)", func(in *debugInput) bool {
		return in.PID != 0 || in.Port != 0 || in.Configuration != ""
	}}
}

func needsPlace() parameter {
	return parameter{"file and line, or function,", func(in *debugInput) bool { return in.Function != "" || in.File != "" && in.Line > 0 }}
}

func needsLine() parameter {
	return parameter{"file and line", func(in *debugInput) bool { return in.File != "" && in.Line > 0 }}
}

func needsTarget() parameter {
	return parameter{"target, or file and line,", func(in *debugInput) bool { return in.Target != nil || in.File != "" && in.Line > 0 }}
}

func needsRef() parameter {
	return parameter{"variable_ref or scope_id", func(in *debugInput) bool { return in.VariableRef != 0 || in.ScopeID != 0 }}
}

func needs(name string, get func(in *debugInput) string) parameter {
	return parameter{name, func(in *debugInput) bool { return get(in) != "" }}
}

func needsCount(name string, get func(in *debugInput) int) parameter {
	return parameter{name, func(in *debugInput) bool { return get(in) != 0 }}
}

func needsExpression() parameter {
	return needs("expression", func(in *debugInput) string { return in.Expression })
}
func needsName() parameter { return needs("name", func(in *debugInput) string { return in.Name }) }
func needsMemory() parameter {
	return needs("memory_reference", func(in *debugInput) string { return in.MemoryReference })
}

func needsInstruction() parameter {
	return needs("instruction_reference", func(in *debugInput) string { return in.InstructionReference })
}

func needsDataID() parameter {
	return needs("data_id", func(in *debugInput) string { return in.DataID })
}

// A value may be empty, but it must be given.
func needsValue() parameter {
	return needs("value", func(in *debugInput) string { return string(in.Value) })
}

// What an action is about, for its title.
func aboutPlace(c *debugCall) string {
	if c.in.Function != "" {
		return c.in.Function
	}
	return c.place(c.path, c.in.Line, 0)
}

func aboutExpression(c *debugCall) string { return toolkit.CommandTitle(c.in.Expression) }

func aboutMemory(c *debugCall) string { return c.in.MemoryReference }

func aboutVariable(c *debugCall) string { return c.in.Name }

// allDebugActions returns the actions in the order of the description.
func allDebugActions() []debugAction {
	const read = agent.KindRead
	return []debugAction{
		{name: "launch", title: "Debug", about: aboutLaunch, session: noSession, starts: true, needs: []parameter{needsProgram()}},
		{name: "attach", title: "Attach debugger to", about: aboutAttach, session: noSession, starts: true, needs: []parameter{needsProcess()}},
		{name: "sessions", title: "Debug sessions", kind: read, session: noSession, run: runDebugSessions},
		{name: "output", title: "Output of the program", kind: read, session: anySession, run: runDebugOutput},
		{name: "terminate", title: "End debug session", session: anySession, run: runTerminate},
		{name: "restart", title: "Restart the program", session: anySession, resumes: true, run: runRestart},

		{name: "set_breakpoint", title: "Breakpoint at", about: aboutPlace, kind: read, session: maybeSession, needs: []parameter{needsPlace()}, run: runSetBreakpoint},
		{name: "remove_breakpoint", title: "Remove breakpoint at", about: aboutPlace, kind: read, session: maybeSession, needs: []parameter{needsPlace()}, run: runRemoveBreakpoint},
		{name: "breakpoints", title: "Breakpoints", kind: read, session: maybeSession, run: runBreakpoints},
		{name: "set_exception_breakpoints", title: "Stop at exceptions", kind: read, session: maybeSession, run: runExceptionBreakpoints},
		{name: "set_instruction_breakpoint", title: "Breakpoint at instruction", about: aboutInstruction, kind: read, needs: []parameter{needsInstruction()}, run: runSetBreakpoint},
		{name: "remove_instruction_breakpoint", title: "Remove breakpoint at instruction", about: aboutInstruction, kind: read, needs: []parameter{needsInstruction()}, run: runRemoveBreakpoint},
		{name: "data_breakpoint_info", title: "Data breakpoint for", about: aboutVariable, kind: read, needs: []parameter{needsName()}, run: runDataInfo},
		{name: "set_data_breakpoint", title: "Data breakpoint", kind: read, needs: []parameter{needsDataID()}, run: runSetBreakpoint},
		{name: "remove_data_breakpoint", title: "Remove data breakpoint", kind: read, needs: []parameter{needsDataID()}, run: runRemoveBreakpoint},

		{name: "continue", title: "Continue", resumes: true, run: runContinue},
		{name: "run_to", title: "Run to", about: aboutPlace, resumes: true, needs: []parameter{needsLine()}, run: runRunTo},
		{name: "step_over", title: "Step over", resumes: true, run: runStep},
		{name: "step_in", title: "Step in", resumes: true, run: runStep},
		{name: "step_out", title: "Step out", resumes: true, run: runStep},
		{name: "step_back", title: "Step back", resumes: true, run: runStep},
		{name: "reverse_continue", title: "Run backwards", resumes: true, run: runStep},
		{name: "step_in_targets", title: "Functions to step into", kind: read, run: runStepInTargets},
		{name: "restart_frame", title: "Restart frame", resumes: true, run: runStep},
		{name: "goto_targets", title: "Places to go to", kind: read, needs: []parameter{needsLine()}, run: runGotoTargets},
		{name: "goto", title: "Go to", about: aboutGoto, needs: []parameter{needsTarget()}, run: runStep},
		{name: "pause", title: "Pause the program", run: runPause},

		{name: "inspect", title: "Inspect the program", kind: read, run: runInspect},
		{name: "stack_trace", title: "Stack trace", kind: read, run: runStackTrace},
		{name: "threads", title: "Threads", kind: read, run: runThreads},
		{name: "scopes", title: "Scopes", kind: read, run: runScopes},
		{name: "variables", title: "Variables", kind: read, needs: []parameter{needsRef()}, run: runVariables},
		{name: "evaluate", title: "Evaluate", about: aboutExpression, kind: read, needs: []parameter{needsExpression()}, run: runEvaluate},
		{name: "set_variable", title: "Set", about: aboutVariable, needs: []parameter{needsRef(), needsName(), needsValue()}, run: runSetVariable},
		{name: "set_expression", title: "Set", about: aboutExpression, needs: []parameter{needsExpression(), needsValue()}, run: runSetExpression},
		{name: "completions", title: "Complete", about: aboutExpression, kind: read, needs: []parameter{needsExpression()}, run: runCompletions},
		{name: "exception_info", title: "Exception", kind: read, run: runExceptionInfo},
		{name: "source", title: "Source of the frame", kind: read, run: runSource},

		{name: "disassemble", title: "Disassemble", about: aboutMemory, kind: read, needs: []parameter{needsCount("instruction_count", func(in *debugInput) int { return in.InstructionCount })}, run: runDisassemble},
		{name: "read_memory", title: "Read memory at", about: aboutMemory, kind: read, needs: []parameter{needsMemory(), needsCount("count", func(in *debugInput) int { return in.Count })}, run: runReadMemory},
		{name: "write_memory", title: "Write memory at", about: aboutMemory, needs: []parameter{needsMemory(), needs("data", func(in *debugInput) string { return in.Data })}, run: runWriteMemory},
		{name: "modules", title: "Modules", kind: read, run: runModules},
		{name: "loaded_sources", title: "Loaded sources", kind: read, run: runLoadedSources},
		{name: "custom_request", title: "Debug request", about: func(c *debugCall) string { return c.in.Command }, needs: []parameter{needs("command", func(in *debugInput) string { return in.Command })}, run: runCustomRequest},
	}
}

func debugActions() []string {
	var names []string
	for _, a := range allDebugActions() {
		names = append(names, a.name)
	}
	return names
}

func newDebugAction(name string) (debugAction, bool) {
	all := allDebugActions()
	i := slices.IndexFunc(all, func(a debugAction) bool { return a.name == name })
	if i < 0 {
		return debugAction{}, false
	}
	return all[i], true
}

// title returns the call in a few words.
func (c *debugCall) title() string {
	if c.action.about == nil {
		return c.action.title
	}
	title := c.action.title
	if about := c.action.about(c); about != "" {
		title += " " + about
	}
	if c.in.Action == "set_variable" || c.in.Action == "set_expression" {
		title += " = " + toolkit.CommandTitle(string(c.in.Value))
	}
	return text.VisibleLine(title)
}

func aboutInstruction(c *debugCall) string {
	if c.in.Offset == 0 {
		return c.in.InstructionReference
	}
	return c.in.InstructionReference + " + " + strconv.Itoa(c.in.Offset)
}

func aboutGoto(c *debugCall) string {
	if c.path != "" {
		return aboutPlace(c)
	}
	return "target " + strconv.Itoa(*c.in.Target)
}

func aboutLaunch(c *debugCall) string {
	switch {
	case c.in.Configuration != "":
		return c.in.Configuration
	case c.in.Program == "":
		return "a program"
	}
	path, test := nodeID(c.call.Workspace.Resolve(c.in.Program))
	var title strings.Builder
	title.WriteString(toolkit.Display(&c.call.Workspace, path) + test)
	for _, arg := range c.in.Args {
		title.WriteString(" " + arg)
	}
	return toolkit.CommandTitle(title.String())
}

func aboutAttach(c *debugCall) string {
	switch {
	case c.in.Configuration != "":
		return c.in.Configuration
	case c.in.PID != 0:
		return "process " + strconv.Itoa(c.in.PID)
	case c.in.Listen:
		return "what connects to port " + strconv.Itoa(c.in.Port)
	case c.in.Port != 0:
		return address(c.in)
	default:
		return "a program"
	}
}
