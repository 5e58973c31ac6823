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
	// openSession is a session that has not ended.
	openSession sessionNeed = iota
	// anySession is a session that may have ended, or none.
	anySession
	// maybeSession is an open session, or none.
	maybeSession
	noSession
)

// debugAction describes one value of the parameter action.
type debugAction struct {
	name string
	// title names the action in a few words, and about returns its object.
	title string
	about func(c *debugCall) string
	// kind is empty for an action that does more than read.
	kind    agent.ToolKind
	session sessionNeed
	// starts marks launch and attach, resumes the actions that resume a program.
	starts, resumes bool
	// needs are the required parameters, as keys of [given].
	needs []string
	// command is the request of an action that resumes the program, and verb its name for people.
	command, verb string
	// instead is the advice if the adapter does not support the action.
	instead string
	run     func(ctx context.Context, c *debugCall) (*agent.Result, error)
}

// given maps the required parameters, or groups of which one is required, to functions that report whether an input has them. It is
// never modified.
var given = map[string]func(in *debugInput) bool{
	"program (or configuration)": func(in *debugInput) bool {
		return in.Program != "" || in.Configuration != "" || in.Arguments != ""
	},
	"pid or port (or configuration)": func(in *debugInput) bool { return in.PID != 0 || in.Port != 0 || in.Configuration != "" },
	needsPlace:                       func(in *debugInput) bool { return in.Function != "" || needsLineOf(in) },
	needsLine:                        needsLineOf,
	"target, or file and line,":      func(in *debugInput) bool { return in.Target != nil || needsLineOf(in) },
	needsRef:                         func(in *debugInput) bool { return in.VariableRef != 0 || in.ScopeID != 0 },
	"expression":                     func(in *debugInput) bool { return in.Expression != "" },
	"name":                           func(in *debugInput) bool { return in.Name != "" },
	"value":                          func(in *debugInput) bool { return in.Value != "" },
	needsMemory:                      func(in *debugInput) bool { return in.MemoryReference != "" },
	"instruction_reference":          func(in *debugInput) bool { return in.InstructionReference != "" },
	"instruction_count":              func(in *debugInput) bool { return in.InstructionCount != 0 },
	"count":                          func(in *debugInput) bool { return in.Count != 0 },
	"data":                           func(in *debugInput) bool { return in.Data != "" },
	"data_id":                        func(in *debugInput) bool { return in.DataID != "" },
	"command":                        func(in *debugInput) bool { return in.Command != "" },
}

const (
	needsPlace  = "file and line, or function,"
	needsLine   = "file and line"
	needsRef    = "variable_ref or scope_id"
	needsMemory = "memory_reference"
)

func needsLineOf(in *debugInput) bool { return in.File != "" && in.Line > 0 }

// missing returns an error for the first required parameter that is missing.
func (a *debugAction) missing(c *debugCall) error {
	for _, name := range a.needs {
		if !given[name](c.in) {
			return required(name, a.name)
		}
	}
	return nil
}

// The object of an action, for its title.
func aboutPlace(c *debugCall) string {
	if c.in.Function != "" {
		return c.in.Function
	}
	return c.place(c.path, c.in.Line, 0)
}

func aboutExpression(c *debugCall) string { return toolkit.CommandTitle(c.in.Expression) }

func aboutMemory(c *debugCall) string { return c.in.MemoryReference }

func aboutVariable(c *debugCall) string { return c.in.Name }

// The advice for actions that an adapter does not support.
const (
	insteadOfData        = "Set conditional breakpoints where the variable changes instead"
	insteadOfSet         = "Try evaluate with an assignment instead"
	insteadOfBack        = "Restart the program and stop earlier instead"
	insteadOfGoto        = "Use run_to to go forward, or restart"
	insteadOfInstruction = "Set a breakpoint by file and line instead"
	insteadOfMemory      = "Evaluate a pointer expression instead"
	insteadOfSources     = "Use search and find instead"
)

// allDebugActions returns the actions in the order of the description.
func allDebugActions() []debugAction {
	const read = agent.KindRead
	return []debugAction{
		{name: "launch", title: "Debug", about: aboutLaunch, session: noSession, starts: true, needs: []string{"program (or configuration)"}},
		{name: "attach", title: "Attach debugger to", about: aboutAttach, session: noSession, starts: true, needs: []string{"pid or port (or configuration)"}},
		{name: "sessions", title: "Debug sessions", kind: read, session: noSession, run: runDebugSessions},
		{name: "output", title: "Output of the program", kind: read, session: anySession, run: runDebugOutput},
		{name: "terminate", title: "End debug session", session: anySession, run: runTerminate},
		{name: "restart", title: "Restart the program", session: anySession, resumes: true, run: runRestart},

		{name: "set_breakpoint", title: "Breakpoint at", about: aboutPlace, kind: read, session: maybeSession, needs: []string{needsPlace}, run: runSetBreakpoint},
		{name: "remove_breakpoint", title: "Remove breakpoint at", about: aboutPlace, kind: read, session: maybeSession, needs: []string{needsPlace}, run: runRemoveBreakpoint},
		{name: "breakpoints", title: "Breakpoints", kind: read, session: maybeSession, run: runBreakpoints},
		{name: "set_exception_breakpoints", title: "Stop at exceptions", kind: read, session: maybeSession, run: runExceptionBreakpoints},
		{name: "set_instruction_breakpoint", title: "Breakpoint at instruction", about: aboutInstruction, kind: read, needs: []string{"instruction_reference"}, run: runSetBreakpoint, instead: insteadOfInstruction},
		{name: "remove_instruction_breakpoint", title: "Remove breakpoint at instruction", about: aboutInstruction, kind: read, needs: []string{"instruction_reference"}, run: runRemoveBreakpoint, instead: insteadOfInstruction},
		{name: "data_breakpoint_info", title: "Data breakpoint for", about: aboutVariable, kind: read, needs: []string{"name"}, run: runDataInfo, instead: insteadOfData},
		{name: "set_data_breakpoint", title: "Data breakpoint", kind: read, needs: []string{"data_id"}, run: runSetBreakpoint, instead: insteadOfData},
		{name: "remove_data_breakpoint", title: "Remove data breakpoint", kind: read, needs: []string{"data_id"}, run: runRemoveBreakpoint},

		{name: "continue", title: "Continue", resumes: true, run: runContinue, command: "continue", verb: "Continue"},
		{name: "run_to", title: "Run to", about: aboutPlace, resumes: true, needs: []string{needsLine}, run: runRunTo},
		{name: "step_over", title: "Step over", resumes: true, run: runStep, command: "next", verb: "Step over"},
		{name: "step_in", title: "Step in", resumes: true, run: runStep, command: "stepIn", verb: "Step in"},
		{name: "step_out", title: "Step out", resumes: true, run: runStep, command: "stepOut", verb: "Step out"},
		{name: "step_back", title: "Step back", resumes: true, run: runStep, command: "stepBack", verb: "Step back", instead: insteadOfBack},
		{name: "reverse_continue", title: "Run backwards", resumes: true, run: runStep, command: "reverseContinue", verb: "Reverse continue", instead: insteadOfBack},
		{name: "step_in_targets", title: "Functions to step into", kind: read, run: runStepInTargets, instead: "Use run_to with a line in the function, or step_in"},
		{name: "restart_frame", title: "Restart frame", resumes: true, run: runStep, command: "restartFrame", verb: "Restart frame", instead: insteadOfBack},
		{name: "goto_targets", title: "Goto targets", kind: read, needs: []string{needsLine}, run: runGotoTargets, instead: insteadOfGoto},
		{name: "goto", title: "Go to", about: aboutGoto, needs: []string{"target, or file and line,"}, run: runStep, command: "goto", verb: "Goto", instead: insteadOfGoto},
		{name: "pause", title: "Pause the program", run: runPause},

		{name: "inspect", title: "Inspect the program", kind: read, run: runInspect},
		{name: "stack_trace", title: "Stack trace", kind: read, run: runStackTrace},
		{name: "threads", title: "Threads", kind: read, run: runThreads},
		{name: "scopes", title: "Scopes", kind: read, run: runScopes},
		{name: "variables", title: "Variables", kind: read, needs: []string{needsRef}, run: runVariables},
		{name: "evaluate", title: "Evaluate", about: aboutExpression, kind: read, needs: []string{"expression"}, run: runEvaluate},
		{name: "set_variable", title: "Set", about: aboutVariable, needs: []string{needsRef, "name", "value"}, run: runSetVariable, instead: insteadOfSet},
		{name: "set_expression", title: "Set", about: aboutExpression, needs: []string{"expression", "value"}, run: runSetExpression, instead: insteadOfSet},
		{name: "completions", title: "Complete", about: aboutExpression, kind: read, needs: []string{"expression"}, run: runCompletions},
		{name: "exception_info", title: "Exception", kind: read, run: runExceptionInfo},
		{name: "source", title: "Source of the frame", kind: read, run: runSource},

		{name: "disassemble", title: "Disassemble", about: aboutMemory, kind: read, needs: []string{"instruction_count"}, run: runDisassemble},
		{name: "read_memory", title: "Read memory at", about: aboutMemory, kind: read, needs: []string{needsMemory, "count"}, run: runReadMemory, instead: insteadOfMemory},
		{name: "write_memory", title: "Write memory at", about: aboutMemory, needs: []string{needsMemory, "data"}, run: runWriteMemory, instead: insteadOfMemory},
		{name: "modules", title: "Modules", kind: read, run: runModules, instead: insteadOfSources},
		{name: "loaded_sources", title: "Loaded sources", kind: read, run: runLoadedSources, instead: insteadOfSources},
		{name: "custom_request", title: "Debug request", about: func(c *debugCall) string { return c.in.Command }, needs: []string{"command"}, run: runCustomRequest},
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

// title describes the call in a few words.
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
		return "the next connection to port " + strconv.Itoa(c.in.Port)
	case c.in.Port != 0:
		return addressOf(c.in)
	default:
		return "a program"
	}
}
