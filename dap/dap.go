// Package dap implements the client side of the Debug Adapter Protocol. It starts debug adapters or connects to them, runs
// debug sessions, and keeps track of breakpoints, threads, frames and variables. It does not depend on agents and editors.
//
// A [Debugger] manages the debug sessions of one gjc session. A [Session] is one debuggee; if its adapter asks for it
// (startDebugging), a session has child sessions. The protocol is specified at
// https://microsoft.github.io/debug-adapter-protocol/specification; its types are those of github.com/google/go-dap.
package dap

import godap "github.com/google/go-dap"

// State is the state of a session.
type State string

// The states.
const (
	// StateLaunching lasts until the adapter is ready for breakpoints.
	StateLaunching State = "launching"
	// StateConfiguring lasts until the adapter has received all breakpoints and lets the program run.
	StateConfiguring State = "configuring"
	StateRunning     State = "running"
	StateStopped     State = "stopped"
	// StateTerminated is the end: program and adapter have ended, but the session can still be read.
	StateTerminated State = "terminated"
)

// Frame is a frame of a stopped thread's stack.
type Frame struct {
	// ID is a handle. It is valid until the program resumes, and is never reused in the same [Debugger].
	ID   int
	Name string
	// Path is the source file, absolute; empty if it is not on the disk. Source is as the adapter sent it; nil for none.
	Path   string
	Source *godap.Source
	// Line and Column count from 1; zero if unknown.
	Line, Column int
	// InstructionPointer is a memory reference; empty if unknown.
	InstructionPointer string
	// Thread is the thread's ID.
	Thread int
	// Subtle says that the frame is of little interest, or only a label.
	Subtle bool
	// CanRestart says that restart_frame may work on it.
	CanRestart bool
	// Own says that the frame is in the user's own code ([Start.Roots]).
	Own bool
}

// Scope is a group of variables of a frame.
type Scope struct {
	Name string
	// Hint is the adapter's presentation hint: "arguments", "locals", "registers", "returnValue"; often empty.
	Hint string
	// Ref is a handle for [Session.Variables]; zero for a scope without variables.
	Ref int
	// Named and Indexed are the numbers of variables; zero if unknown.
	Named, Indexed int
	Expensive      bool
}

// Variable is a variable, or the value of an expression.
type Variable struct {
	Name, Value, Type string
	// Ref is a handle for the variables in it; zero for a plain value.
	Ref int
	// Named and Indexed are the numbers of variables in it; zero if unknown.
	Named, Indexed int
	// EvaluateName is the expression for the variable; empty if there is none.
	EvaluateName string
	// MemoryReference is its place in memory; empty if unknown.
	MemoryReference string
	// Hint is the presentation hint; nil for none.
	Hint *godap.VariablePresentationHint
}

// Thread is a thread of the program.
type Thread struct {
	ID      int
	Name    string
	Stopped bool
}

// Stop is the reason why a program is stopped.
type Stop struct {
	// Reason is one of the protocol's words ("step", "breakpoint", "exception", "pause", "entry", …) or the adapter's own.
	Reason string
	// Description and Text are written by the adapter; often empty.
	Description, Text string
	Thread            int
	// Breakpoints are the IDs of the breakpoints that were hit, as far as the adapter reports them.
	Breakpoints []int
	// Others are the threads that stopped after Thread, each for its own reason.
	Others []int
}

// Breakpoint is a breakpoint, and the adapter's answer to it.
type Breakpoint struct {
	// Kind says which of the fields below define the place.
	Kind BreakpointKind
	// Path and Line are the requested place of a source breakpoint, with Column if it is not zero.
	Path         string
	Line, Column int
	// Function is the name, for a function breakpoint.
	Function string
	// Instruction and Offset are the place of an instruction breakpoint.
	Instruction string
	Offset      int
	// DataID and AccessType ("read", "write", "readWrite"; empty for the adapter's default) are for a data breakpoint.
	DataID, AccessType string
	// Filter is the ID of an exception filter.
	Filter string

	// Condition, HitCondition and LogMessage are interpreted by the adapter. A breakpoint with a log message does not stop.
	Condition, HitCondition, LogMessage string

	// The fields below are the adapter's answer. ID is the adapter's ID; zero for none.
	ID       int
	Verified bool
	// Message says why it is not verified, or what the adapter changed.
	Message string
	// ActualPath and ActualLine are the actual place; empty and zero if unknown.
	ActualPath string
	ActualLine int
}

// BreakpointKind is the kind of a [Breakpoint].
type BreakpointKind string

// The kinds.
const (
	SourceBreakpoint      BreakpointKind = "source"
	FunctionBreakpoint    BreakpointKind = "function"
	InstructionBreakpoint BreakpointKind = "instruction"
	DataBreakpoint        BreakpointKind = "data"
	ExceptionBreakpoint   BreakpointKind = "exception"
)

// SourceLine is a line of a source file. Number counts from 1.
type SourceLine struct {
	Number int
	Text   string
}

// Change is a variable of the active frame that has changed since the last stop in the same function.
type Change struct {
	Name string
	// Old is empty if New is set.
	Old, Value, Type string
	New              bool
}

// Snapshot is the state of a session at one time.
type Snapshot struct {
	ID, Adapter, Program, Dir string
	// Request is "launch" or "attach".
	Request string
	State   State
	// Pending says that the adapter waits for configurationDone: breakpoints can be set before the program runs.
	Pending bool
	// Stop, Frame, Top, Lines, Exception and Locals are set if the program is stopped. Frame is the active frame: the top
	// frame, or the nearest frame of the user's own code if the top one is not. Top is set only in the second case.
	Stop      *Stop
	Frame     *Frame
	Top       *Frame
	Lines     []SourceLine
	Exception *godap.ExceptionInfoResponseBody
	Locals
	// Output is the end of what the program and the adapter have printed since the last snapshot; Dropped is the number of
	// bytes before it that were left out.
	Output  string
	Dropped int64
	// ExitCode is nil if unknown.
	ExitCode *int
	// Ended is the reason why a session ended although its program did not end by itself: the adapter died, or the session was
	// idle.
	Ended error
	// PID is the program's process ID; zero if unknown.
	PID int
	// Children are the child sessions.
	Children []*Snapshot
	// Notes are sentences for the reader, such as what is missing and why.
	Notes []string
}

// Locals are the variables of the active frame in a [Snapshot].
type Locals struct {
	// Variables has at most [MaxSnapshotVariables] elements; More is the number of omitted variables.
	Variables []Variable
	More      int
	// Changes lists the differences from the last stop in the same function. Compared reports whether there was such a stop.
	Changes  []Change
	Compared bool
}

// MaxSnapshotVariables bounds the variables of a [Snapshot].
const MaxSnapshotVariables = 40
