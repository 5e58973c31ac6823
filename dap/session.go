package dap

import (
	"context"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Session is one debuggee and its adapter. Its methods are safe for concurrent use; they fail with an error that wraps
// [ErrTerminated] once it has ended. On a session with child sessions they are about the child that stopped last, unless
// the session itself stands still.
type Session struct{}

// NewDebugger returns a debugger without sessions. It starts nothing. The caller must Close it.
func NewDebugger(opts Options) *Debugger { return nil }

// Debugger has the debug sessions of one gjc session. It is safe for concurrent use.
type Debugger struct{}

// Start starts an adapter, or connects to one, and begins a session with the breakpoints that are planned. It returns when
// the adapter has answered initialize; launching, configuring and running go on by themselves, and [Session.Wait] tells how
// they went. Where Start fails nothing is left.
func (d *Debugger) Start(ctx context.Context, s *Start) (*Session, error) { return nil, errNotYet }

// Sessions returns the sessions without their children, the oldest first: those that are open and the last few that have
// ended.
func (d *Debugger) Sessions() []*Session { return nil }

// Find returns the session of that id; for an empty id the open one that was used last, or the last one that has ended.
// Where there is none the error is [ErrNoSession], or names those that there are.
func (d *Debugger) Find(id string) (*Session, error) { return nil, ErrNoSession }

// Plan keeps a breakpoint for the next session to start; Unplan forgets it. Both return those that are planned then.
func (d *Debugger) Plan(b Breakpoint) []Breakpoint { return nil }

// Unplan is told of in [Debugger.Plan]. It compares places alone.
func (d *Debugger) Unplan(b Breakpoint) []Breakpoint { return nil }

// Planned returns the breakpoints for the next session.
func (d *Debugger) Planned() []Breakpoint { return nil }

// Close ends all sessions, with their programs. It may be called twice.
func (d *Debugger) Close(ctx context.Context) error { return nil }

// ID is "debug-1"; that of a child session is "debug-1.1".
func (s *Session) ID() string { return "" }

// State is where the session is in its life.
func (s *Session) State() State { return "" }

// Capabilities are what the adapter said that it can do.
func (s *Session) Capabilities() godap.Capabilities { return godap.Capabilities{} }

// ExceptionFilters are the kinds of exceptions that the adapter can stop at.
func (s *Session) ExceptionFilters() []godap.ExceptionBreakpointsFilter { return nil }

// Observe shows the observer what happens until release is called. Several may look on.
func (s *Session) Observe(o Observer) (release func()) { return func() {} }

// Wait waits until the program stands still or the session has ended. Its error is that of a launch or attach that failed,
// or ctx's cause; the session lives on in the second case. How a session ended otherwise is in its snapshot.
func (s *Session) Wait(ctx context.Context) error { return errNotYet }

// Snapshot tells how things are. It takes the output that came since the last one with it, and compares the variables of
// the top frame with those of the last stop.
func (s *Session) Snapshot(ctx context.Context) (*Snapshot, error) { return nil, errNotYet }

// Peek is a snapshot without requests to the adapter, which takes nothing with it.
func (s *Session) Peek() *Snapshot { return nil }

// Output returns what was printed and is still kept, the last 128 KiB; dropped is how many bytes there were before.
func (s *Session) Output(ctx context.Context) (text string, dropped int64) { return "", 0 }

// Resume is a way to let the program run on.
type Resume struct {
	// Command is continue, next, stepIn, stepOut, stepBack, reverseContinue, goto or restartFrame.
	Command string
	// Thread is the thread's id; zero for the one that stopped.
	Thread int
	// Target is a target's id (stepIn, goto); Frame a frame's handle (restartFrame), zero for the top.
	Target, Frame int
	// Granularity is statement, line or instruction, for steps; empty for the adapter's default.
	Granularity string
	// Single asks for this thread alone to run.
	Single bool
}

// Resume lets the program run on and returns when the adapter has said yes; [Session.Wait] waits for the next stop. Frames
// and variables are stale from here on.
func (s *Session) Resume(ctx context.Context, r Resume) error { return errNotYet }

// Pause asks a running program to stop; Wait waits for that. Zero stands for any thread.
func (s *Session) Pause(ctx context.Context, thread int) error { return errNotYet }

// Restart starts the program anew, by the adapter's own request or by ending it and starting it as before.
func (s *Session) Restart(ctx context.Context) error { return errNotYet }

// Terminate ends the program and the adapter. A program that was attached to is let go, unless kill says otherwise. It
// returns when nothing is left, and may be called twice.
func (s *Session) Terminate(ctx context.Context, kill bool) error { return nil }

// Threads returns the threads.
func (s *Session) Threads(ctx context.Context) ([]Thread, error) { return nil, errNotYet }

// StackTrace returns levels frames of a thread from start on, and how many there are where the adapter tells (else 0).
// Thread zero is the one that stopped; levels zero stands for 20.
func (s *Session) StackTrace(ctx context.Context, thread, start, levels int) (frames []Frame, total int, err error) {
	return nil, 0, errNotYet
}

// Scopes returns the scopes of a frame; zero is the top one.
func (s *Session) Scopes(ctx context.Context, frame int) ([]Scope, error) { return nil, errNotYet }

// Page asks for a part of a variable's children.
type Page struct {
	// Filter is "indexed" or "named"; empty for both.
	Filter string
	// Start and Count are a part; Count zero stands for [DefaultCount].
	Start, Count int
}

// DefaultCount is how many variables are asked for at once.
const DefaultCount = 200

// Variables returns what is in a scope or a variable. More says that there are others behind the page, as far as is known.
func (s *Session) Variables(ctx context.Context, ref int, p Page) (list []Variable, more bool, err error) {
	return nil, false, errNotYet
}

// Evaluate evaluates an expression in a frame; zero is the top one, where the program stands still. Context is the
// protocol's: watch, repl, hover, clipboard, variables.
func (s *Session) Evaluate(ctx context.Context, expression, context string, frame int) (*Variable, error) {
	return nil, errNotYet
}

// SetVariable changes a variable in a scope or a variable, by name.
func (s *Session) SetVariable(ctx context.Context, ref int, name, value string) (*Variable, error) {
	return nil, errNotYet
}

// SetExpression changes what an assignable expression stands for.
func (s *Session) SetExpression(ctx context.Context, expression, value string, frame int) (*Variable, error) {
	return nil, errNotYet
}

// Completions returns what could follow in text at column, from 1, in UTF-16 units.
func (s *Session) Completions(ctx context.Context, text string, column, frame int) ([]godap.CompletionItem, error) {
	return nil, errNotYet
}

// ExceptionInfo tells of the exception that a thread stopped for; zero is the thread that stopped.
func (s *Session) ExceptionInfo(ctx context.Context, thread int) (*godap.ExceptionInfoResponseBody, error) {
	return nil, errNotYet
}

// Source returns the text of a frame's source: from the adapter where it keeps it, else from the disk.
func (s *Session) Source(ctx context.Context, frame int) (text, name string, err error) {
	return "", "", errNotYet
}

// SourceText returns the text of a source that only the adapter has, by its reference.
func (s *Session) SourceText(ctx context.Context, reference int) (string, error) { return "", errNotYet }

// Modules returns modules from start on; count zero is all.
func (s *Session) Modules(ctx context.Context, start, count int) (list []godap.Module, total int, err error) {
	return nil, 0, errNotYet
}

// LoadedSources returns the sources that the program has loaded.
func (s *Session) LoadedSources(ctx context.Context) ([]godap.Source, error) { return nil, errNotYet }

// Memory is a part of the program's memory.
type Memory struct {
	// Address is where it begins, as the adapter writes it.
	Address string
	Data    []byte
	// Unreadable is how many bytes behind it can not be read.
	Unreadable int
}

// ReadMemory reads count bytes, offset bytes behind a reference.
func (s *Session) ReadMemory(ctx context.Context, reference string, offset, count int) (*Memory, error) {
	return nil, errNotYet
}

// WriteMemory writes data and returns how many bytes were written. Partial allows fewer than all.
func (s *Session) WriteMemory(ctx context.Context, reference string, offset int, data []byte, partial bool) (int, error) {
	return 0, errNotYet
}

// Disassemble is which instructions to show.
type Disassemble struct {
	// Reference is where; empty for the current instruction.
	Reference string
	// Offset is in bytes, InstructionOffset in instructions; Count is how many instructions.
	Offset, InstructionOffset, Count int
	// Symbols asks for names.
	Symbols bool
}

// Disassemble returns instructions.
func (s *Session) Disassemble(ctx context.Context, d Disassemble) ([]godap.DisassembledInstruction, error) {
	return nil, errNotYet
}

// GotoTargets returns where [Session.Resume] with goto can go to, for a line of a file.
func (s *Session) GotoTargets(ctx context.Context, path string, line int) ([]godap.GotoTarget, error) {
	return nil, errNotYet
}

// StepInTargets returns which functions [Session.Resume] with stepIn can go into, in a frame; zero is the top one.
func (s *Session) StepInTargets(ctx context.Context, frame int) ([]godap.StepInTarget, error) {
	return nil, errNotYet
}

// SetBreakpoint sets a breakpoint, or gives the one that is at the place other conditions, and returns all of the same file
// or kind as they are then. In a program that has not started yet it becomes known with the others.
func (s *Session) SetBreakpoint(ctx context.Context, b Breakpoint) ([]Breakpoint, error) {
	return nil, errNotYet
}

// RemoveBreakpoint removes the breakpoint at the place of b, and returns the others of the same file or kind.
func (s *Session) RemoveBreakpoint(ctx context.Context, b Breakpoint) ([]Breakpoint, error) {
	return nil, errNotYet
}

// Breakpoints returns all breakpoints.
func (s *Session) Breakpoints() []Breakpoint { return nil }

// DataBreakpointInfo tells whether there can be a data breakpoint for a variable (of a scope or variable ref), or, with ref
// zero, for an expression in a frame. The data id is empty where there can not; the description says why.
func (s *Session) DataBreakpointInfo(ctx context.Context, name string, ref, frame int) (*DataInfo, error) {
	return nil, errNotYet
}

// DataInfo is an adapter's answer to [Session.DataBreakpointInfo].
type DataInfo struct {
	ID, Description string
	AccessTypes     []string
	Persistent      bool
}

// Custom makes any request. Frames and variables in its arguments and its answer are the adapter's own numbers.
func (s *Session) Custom(ctx context.Context, command string, arguments jsonx.Raw) (jsonx.Raw, error) {
	return nil, errNotYet
}
