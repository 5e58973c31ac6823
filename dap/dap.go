// Package dap is the client side of the Debug Adapter Protocol: it starts debug adapters or connects to them, drives debug
// sessions, and keeps what they say of breakpoints, threads, frames and variables. It knows nothing of agents and editors.
//
// A [Debugger] has the debug sessions of one gjc session. A [Session] is one debuggee; where an adapter asks for it
// (startDebugging), a session has child sessions. The specification is that of
// https://microsoft.github.io/debug-adapter-protocol/specification; its types are those of github.com/google/go-dap.
package dap

import godap "github.com/google/go-dap"

// State is where a session is in its life.
type State string

// The states.
const (
	// StateLaunching lasts until the adapter is ready for breakpoints.
	StateLaunching State = "launching"
	// StateConfiguring lasts until the adapter knows all breakpoints and lets the program run.
	StateConfiguring State = "configuring"
	StateRunning     State = "running"
	StateStopped     State = "stopped"
	// StateTerminated is the end: program and adapter are gone, what is known of them can still be read.
	StateTerminated State = "terminated"
)

// Frame is a frame of a stopped thread's stack.
type Frame struct {
	// ID is a handle of ours; it is good until the program runs on. It is never used twice in a [Debugger].
	ID   int
	Name string
	// Path is the source file, absolute; empty where there is none on disk. Source is as the adapter said; nil for none.
	Path   string
	Source *godap.Source
	// Line and Column count from 1; zero where unknown.
	Line, Column int
	// InstructionPointer is a memory reference; empty where the adapter does not tell.
	InstructionPointer string
	// Thread is the thread's id.
	Thread int
	// Subtle says that the frame is of little interest, or only a label.
	Subtle bool
	// CanRestart says that restart_frame may work on it.
	CanRestart bool
	// Own says that it is in the user's own code ([Start.Roots]).
	Own bool
}

// Scope is a group of variables of a frame.
type Scope struct {
	Name string
	// Hint is the adapter's presentation hint: "arguments", "locals", "registers", "returnValue"; often empty.
	Hint string
	// Ref is a handle of ours for [Session.Variables]; zero for a scope without variables.
	Ref int
	// Named and Indexed are how many variables there are, where the adapter tells.
	Named, Indexed int
	Expensive      bool
}

// Variable is a variable, or the value of an expression.
type Variable struct {
	Name, Value, Type string
	// Ref is a handle of ours for the variables in it; zero for a plain value.
	Ref int
	// Named and Indexed are how many there are in it, where the adapter tells.
	Named, Indexed int
	// EvaluateName is the expression for the variable; empty where the adapter tells none.
	EvaluateName string
	// MemoryReference is where it lies; empty where the adapter does not tell.
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

// Stop is why a program stands still.
type Stop struct {
	// Reason is one of the protocol's words ("step", "breakpoint", "exception", "pause", "entry", …) or the adapter's own.
	Reason string
	// Description and Text are the adapter's words; often empty.
	Description, Text string
	Thread            int
	// Breakpoints are the ids of the breakpoints that were hit, as far as the adapter tells.
	Breakpoints []int
	// Others are further threads that stopped by themselves.
	Others []int
}

// Breakpoint is a breakpoint as it is wanted, and what the adapter has made of it.
type Breakpoint struct {
	// Kind says which of the fields below name the place.
	Kind BreakpointKind
	// Path and Line are the wanted place of a source breakpoint, Column too where it is not zero.
	Path         string
	Line, Column int
	// Function is the name, for a function breakpoint.
	Function string
	// Instruction and Offset are the place of an instruction breakpoint.
	Instruction string
	Offset      int
	// DataID and AccessType ("read", "write", "readWrite"; empty for the adapter's choice) are those of a data breakpoint.
	DataID, AccessType string
	// Filter is the id of an exception filter.
	Filter string

	// Condition, HitCondition and LogMessage are the adapter's to read. A log message makes a logpoint: it does not stop.
	Condition, HitCondition, LogMessage string

	// What follows is the adapter's answer. ID is its id; zero where it gave none.
	ID       int
	Verified bool
	// Message says why it is not verified, or what was changed.
	Message string
	// ActualPath and ActualLine are where it came to lie; empty and zero where the adapter does not tell.
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

// SourceLine is a line of a source file, numbered from 1.
type SourceLine struct {
	Number int
	Text   string
}

// Change is a variable of the top frame that is not as it was at the last stop in the same function.
type Change struct {
	Name string
	// Old is empty for a variable that is New.
	Old, Value, Type string
	New              bool
}

// Snapshot is what there is to tell of a session at one time.
type Snapshot struct {
	ID, Adapter, Program, Dir string
	// Request is "launch" or "attach".
	Request string
	State   State
	// Pending says that the adapter waits for configurationDone: breakpoints can be set, then the program is let go.
	Pending bool
	// Stop, Frame and what follows are set where the program stands still. Frame is the nearest one in the user's own code;
	// Top is the one above all, and set only where that is another.
	Stop      *Stop
	Frame     *Frame
	Top       *Frame
	Lines     []SourceLine
	Exception *godap.ExceptionInfoResponseBody
	// Variables are those of the frame, at most [MaxSnapshotVariables]; Changes are against the last stop in this
	// function, and nil where there was none. Compared says that there was one.
	Variables []Variable
	Changes   []Change
	Compared  bool
	// More is how many variables were left out.
	More int
	// Output is what the program and the adapter have printed since the last snapshot that told it, its end; Dropped is how
	// many bytes before it were left out.
	Output  string
	Dropped int64
	// ExitCode is nil where it is not known.
	ExitCode *int
	// Ended says why a session has ended where that was not its program's own end: the adapter died, nobody used it.
	Ended error
	// PID is the program's process id; zero where it is not known.
	PID int
	// Children are the child sessions.
	Children []*Snapshot
	// Notes are what else the reader should know.
	Notes []string
}

// MaxSnapshotVariables bounds the variables of a [Snapshot].
const MaxSnapshotVariables = 40
