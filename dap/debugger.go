package dap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/proc"
)

// Options configures a [Debugger].
type Options struct {
	// Children owns the adapters. Required.
	Children *proc.Group
	// Env returns the environment of adapters; provider keys are removed from it (see [proc.Environ]). If nil, it is empty.
	Env func(context.Context) []string
	// RunInTerminal runs a program in a terminal that the user can see, for adapters that ask for it. If nil, these requests
	// are refused.
	RunInTerminal func(ctx context.Context, req *TerminalRequest) (Terminal, error)
	// Sandbox encloses adapters and their programs. Optional.
	Sandbox Sandbox
	// Notice receives messages for the user, such as that an idle session was ended. It must not block.
	Notice func(text string)
	// Idle is the time after which an unused session is ended. If zero, 10 minutes.
	Idle time.Duration
	// RequestTimeout bounds each request to an adapter. If zero, 30 s.
	RequestTimeout time.Duration
	// Log may be the zero value.
	Log zerolog.Logger
}

// TerminalRequest is an adapter's request to run a program in a terminal (runInTerminal).
type TerminalRequest struct {
	Title string
	// Dir is the working directory, absolute; empty for the session's.
	Dir string
	// Args are the program and its arguments; there is at least one.
	Args []string
	// Env is added to the environment, as "NAME=value"; the variables in Unset are removed from it.
	Env, Unset []string
	// Output receives the program's output if [Terminal.Output] does not return it. It must not block.
	Output func([]byte)
}

// Sandbox starts adapters inside a boundary.
type Sandbox interface {
	// Enclose returns where the programs of the call with the permit of ctx run; nil if among the other processes of the machine.
	Enclose(ctx context.Context) (Enclosure, error)
	// Process returns the program and the command line of a process that programs inside know by this ID; ok is false for none.
	Process(ctx context.Context, pid int) (path, command string, ok bool)
	// Listens reports whether a program inside listens on a port of 127.0.0.1.
	Listens(ctx context.Context, port int) bool
}

// Enclosure is a place with processes, a network and temporary files of its own.
type Enclosure interface {
	// Start starts a program there. Its working directory and the files below TempDir are the same there and here.
	Start(ctx context.Context, children *proc.Group, o *proc.Options) (*proc.Process, error)
	// Dial connects to a TCP address there.
	Dial(ctx context.Context, address string) (net.Conn, error)
	// Listen listens on a free port of 127.0.0.1 there.
	Listen(ctx context.Context) (net.Listener, error)
	// TempDir is a directory for Unix sockets and other files.
	TempDir() string
}

// Terminal is a program that runs in a terminal.
type Terminal interface {
	// ID returns the editor's ID of the terminal, to embed in a tool call; empty for a local one.
	ID() string
	// PID returns the process ID; zero if unknown.
	PID() int
	// Wait waits for the end of the program and returns its exit code if known. If ctx ends first, it returns the cause.
	Wait(ctx context.Context) (code int, err error)
	// Output returns the end of what the program has printed so far; empty if [TerminalRequest.Output] receives it.
	Output(ctx context.Context) (string, error)
	// Release kills the program and frees the terminal. It may be called twice.
	Release(ctx context.Context) error
}

// Start describes a debug session to start.
type Start struct {
	// Adapter is from a [Catalog]. Required, unless Address is set.
	Adapter *Spec
	// Request is "launch" or "attach". Required.
	Request string
	// Arguments holds the arguments of the request.
	Arguments map[string]any
	// Dir is the adapter's working directory, absolute. Required.
	Dir string
	// Roots are the directories of the user's own code, absolute. If empty, Dir.
	Roots []string
	// Program is the name of the debugged program, for display.
	Program string
	// Subject and Covers describe what the user has allowed. This package does not use them.
	Subject, Covers string
	// Temporary are files that the adapter creates, absolute. Those that are left when it has ended are removed.
	Temporary []string
	// Address is the address of a running adapter ("127.0.0.1:4711", or "unix:" and the path of a Unix socket). If set, no
	// process is started.
	Address string
	// Inside says that adapter and program run inside the boundary. This package does not use it.
	Inside bool
	// permit is that of the call that started the session. The adapter's own requests and starts have it, too.
	permit permit.Permit
}

// Host returns the host of the address, or the whole address of a socket.
func (st *Start) Host() string {
	if host, _, err := net.SplitHostPort(st.Address); err == nil && !strings.HasPrefix(st.Address, "unix:") {
		return host
	}
	return st.Address
}

// Observer receives the output and the events of a session. Its functions may be nil and must not block.
type Observer struct {
	// Output receives what the program ("stdout", "stderr") and the adapter ("console") print.
	Output func(category, text string)
	// Terminal receives the ID of an editor's terminal that the program runs in.
	Terminal func(id string)
	// Location receives the place where the program stopped.
	Location func(path string, line int)
}

// Limits of a debugger.
const (
	// MaxSessions is the number of sessions that may be open at once, not counting child sessions.
	MaxSessions = 4

	defaultIdle = 10 * time.Minute
	// maxEndedSessions is the number of sessions that have ended and can still be found.
	maxEndedSessions    = 8
	defaultRequest      = 30 * time.Second
	maxClose            = 1500 * time.Millisecond
	closeDisconnect     = 400 * time.Millisecond
	terminateDisconnect = 2 * time.Second
)

// Debugger manages the debug sessions of one gjc session. It is safe for concurrent use.
type Debugger struct {
	opts Options
	// mark is the prefix of the marks of all processes of this debugger.
	mark    string
	handles handleCounter
	work    workers

	mu       sync.Mutex // guards the fields below; a tree.mu may be locked while it is held, but not vice versa
	closed   bool
	starts   int
	sessions []*Session
	current  *Session
	planned  []Breakpoint // for the next session
}

// workers are goroutines that Close waits for.
type workers struct {
	mu     sync.Mutex // guards closed; all grows only while it is held and closed is false
	closed bool
	all    sync.WaitGroup
}

// start runs fn in a goroutine and returns true, unless close was called.
func (w *workers) start(fn func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.all.Go(fn)
	}
	return !w.closed
}

// close makes start return false and returns a channel that is closed when all goroutines have ended.
func (w *workers) close() <-chan struct{} {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	ended := make(chan struct{})
	go func() { // ends with the last one
		defer close(ended)
		w.all.Wait()
	}()
	return ended
}

// NewDebugger returns a debugger without sessions. The caller must call Close.
func NewDebugger(opts Options) *Debugger {
	if opts.Idle <= 0 {
		opts.Idle = defaultIdle
	}
	if opts.RequestTimeout <= 0 {
		opts.RequestTimeout = defaultRequest
	}
	if opts.Notice == nil {
		opts.Notice = func(string) {}
	}
	return &Debugger{opts: opts, mark: proc.NewMark()}
}

// Start starts or connects to an adapter and starts a session with the planned breakpoints. It returns when the adapter is
// initialized; the launch continues in the background, and [Session.Wait] returns its result. If Start fails, it leaves no process.
// If Start or the launch fails, the breakpoints are planned again.
func (d *Debugger) Start(ctx context.Context, st *Start) (*Session, error) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil, ErrClosed
	}
	var open []*Session
	for _, s := range d.sessions {
		if s.State() != StateTerminated {
			open = append(open, s)
		}
	}
	if len(open) >= MaxSessions {
		d.mu.Unlock()
		return nil, fmt.Errorf("debug session %s is still active; terminate it before launching another", open[0].ID())
	}
	d.starts++
	st.permit = permit.From(ctx)
	g := newDebuggee(d, fmt.Sprintf("debug-%d", d.starts), st)
	s := g.session
	g.tree.breakpoints.all, d.planned = d.planned, nil
	d.sessions = append(d.sessions, s)
	d.mu.Unlock()

	if err := g.startFirst(ctx); err != nil {
		d.replan(s)
		d.mu.Lock()
		d.sessions = slices.DeleteFunc(d.sessions, func(o *Session) bool { return o == s })
		d.mu.Unlock()
		return nil, err
	}
	d.mu.Lock()
	d.current = s
	d.pruneLocked()
	d.mu.Unlock()
	return s, nil
}

// pruneLocked removes the oldest sessions that have ended.
func (d *Debugger) pruneLocked() {
	ended := 0
	for _, s := range slices.Backward(d.sessions) {
		if s.State() != StateTerminated {
			continue
		}
		if ended++; ended > maxEndedSessions && s != d.current {
			d.sessions = slices.DeleteFunc(d.sessions, func(o *Session) bool { return o == s })
		}
	}
}

// Sessions returns the open sessions and the last few that have ended, the oldest first, without their children.
func (d *Debugger) Sessions() []*Session {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.sessions)
}

// Find returns the session with an ID. For an empty ID it returns the open session that was used last, or the last one that
// has ended. Without any sessions the error is [ErrNoSession]; for an unknown ID it lists the sessions.
func (d *Debugger) Find(id string) (*Session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.sessions) == 0 {
		return nil, ErrNoSession
	}
	if id == "" {
		if d.current != nil && d.current.State() != StateTerminated {
			return d.current, nil
		}
		for _, s := range slices.Backward(d.sessions) {
			if s.State() != StateTerminated {
				return s, nil
			}
		}
		if d.current != nil {
			return d.current, nil
		}
		return d.sessions[len(d.sessions)-1], nil
	}
	var names []string
	for _, root := range d.sessions {
		for _, g := range root.debuggee.family() {
			if g.id == id {
				d.current = root
				return g.session, nil
			}
			names = append(names, g.id)
		}
	}
	return nil, fmt.Errorf("no debug session %q; the sessions are %s", id, strings.Join(names, ", "))
}

// Plan adds a breakpoint for the next session that starts, or replaces the one at its place. It returns all planned ones.
func (d *Debugger) Plan(b Breakpoint) []Breakpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.planned = putBreakpoint(d.planned, b)
	return slices.Clone(d.planned)
}

// Unplan removes the planned breakpoint at the place of b. It returns all planned ones.
func (d *Debugger) Unplan(b Breakpoint) []Breakpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.planned = slices.DeleteFunc(d.planned, func(o Breakpoint) bool { return o.samePlace(&b) })
	return slices.Clone(d.planned)
}

// replan plans the breakpoints of a session that failed to start for the next one: the caller is likely to fix the program and
// launch it again. Breakpoints that were planned in the meantime take precedence.
func (d *Debugger) replan(s *Session) {
	list, exceptions := make([]Breakpoint, 0), make([]Breakpoint, 0)
	for _, b := range s.Breakpoints() {
		b.clearAnswer()
		switch b.Kind {
		case InstructionBreakpoint, DataBreakpoint: // addresses in a process that has ended
		case ExceptionBreakpoint:
			exceptions = append(exceptions, b)
		default:
			list = append(list, b)
		}
	}
	caps := capabilities{s.debuggee.capabilities()}
	if !slices.Equal(exceptions, caps.defaultFilters()) { // the next adapter has its own default filters
		list = append(list, exceptions...)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range d.planned {
		list = putBreakpoint(list, b)
	}
	d.planned = list
}

// Planned returns the breakpoints for the next session.
func (d *Debugger) Planned() []Breakpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.planned)
}

// Sandbox returns [Options.Sandbox].
func (d *Debugger) Sandbox() Sandbox { return d.opts.Sandbox }

// Close ends all sessions and the programs that they have launched. It takes at most two seconds. It may be called twice.
func (d *Debugger) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	sessions := slices.Clone(d.sessions)
	d.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, maxClose, errors.New("timed out waiting for the debug adapters to end"))
	defer cancel()
	errs := make([]error, len(sessions))
	var all sync.WaitGroup
	for i, s := range sessions {
		all.Go(func() {
			g := s.debuggee
			errs[i] = g.end(ctx, ErrClosed, endOptions{kill: g.start.Request == "launch", disconnect: closeDisconnect})
		})
	}
	all.Wait()
	select {
	case <-d.work.close():
	case <-ctx.Done():
		errs = append(errs, context.Cause(ctx))
	}
	return errors.Join(errs...)
}
