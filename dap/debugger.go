package dap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/internal/proc"
)

// Options says what a [Debugger] works with.
type Options struct {
	// Children owns the adapters. Required.
	Children *proc.Group
	// Env returns the environment of adapters; they get it without provider keys (see [proc.Environ]). If nil, it is empty.
	Env func(context.Context) []string
	// RunInTerminal runs a program where the user can watch it, for adapters that ask for it. If nil, they are refused.
	RunInTerminal func(ctx context.Context, req *TerminalRequest) (Terminal, error)
	// Notice gets what the user should know: a session that nobody used was ended, an adapter died. It must not block.
	Notice func(text string)
	// Idle is after how long an unused session is ended. If zero, 10 minutes.
	Idle time.Duration
	// RequestTimeout bounds a request whose context has no nearer end. If zero, 30 s.
	RequestTimeout time.Duration
	// Version is that of gjc. Log may be the zero value.
	Version string
	Log     zerolog.Logger
}

// TerminalRequest is an adapter's wish to have a program run in a terminal (runInTerminal).
type TerminalRequest struct {
	Title string
	// Dir is the working directory, absolute; empty for the session's.
	Dir string
	// Args are the program and its arguments; there is at least one.
	Args []string
	// Env is to be added to the environment, as "NAME=value"; Unset names what is to be left out of it.
	Env, Unset []string
	// Output gets the program's output where the terminal does not show it itself. It must not block.
	Output func([]byte)
}

// Terminal is a program that runs in a terminal.
type Terminal interface {
	// ID is the editor's id of the terminal, to embed in a tool call; empty for a local one.
	ID() string
	// PID is the process id; zero where it is not known.
	PID() int
	// Wait returns when the program has ended, with its exit code where that is known. When ctx ends first it returns its
	// cause.
	Wait(ctx context.Context) (code int, err error)
	// Output returns what the program has printed so far, cut from the start; empty where Output of the request gets it.
	Output(ctx context.Context) (string, error)
	// Release kills what still runs and frees the terminal. It may be called twice.
	Release(ctx context.Context) error
}

// Start says what to debug.
type Start struct {
	// Adapter is from a [Catalog]. Required, unless Address is set.
	Adapter *Spec
	// Request is "launch" or "attach". Required.
	Request string
	// Arguments are those of the request, whole: nothing is added to them.
	Arguments map[string]any
	// Dir is where the adapter runs, absolute. Required.
	Dir string
	// Roots are the directories of the user's own code, absolute. If none, Dir.
	Roots []string
	// Program is what is debugged, for people.
	Program string
	// Subject and Covers are the caller's words for what was allowed by who was asked. Nothing here reads them.
	Subject, Covers string
	// Temporary are files that the adapter makes, absolute. What it leaves of them is removed when it has ended.
	Temporary []string
	// Address is that of an adapter that is there already ("127.0.0.1:4711", or the path of a Unix socket with "unix:"
	// before it). No process is started then.
	Address string
}

// Observer sees what happens in a session while a call is about it. Its methods must not block.
type Observer struct {
	// Output gets what the program ("stdout", "stderr") and the adapter ("console") print, as it comes.
	Output func(category, text string)
	// Terminal gets the id of an editor's terminal that the program runs in.
	Terminal func(id string)
	// Location gets where the program stopped.
	Location func(path string, line int)
}

// Limits of a debugger.
const (
	// MaxSessions is how many sessions may be open at once, without child sessions.
	MaxSessions = 4
	// DefaultIdle is after how long an unused session is ended.
	DefaultIdle = 10 * time.Minute

	// keptSessions is how many sessions that have ended are remembered.
	keptSessions        = 8
	defaultRequest      = 30 * time.Second
	maxClose            = 1500 * time.Millisecond
	closeDisconnect     = 400 * time.Millisecond
	terminateDisconnect = 2 * time.Second
)

// Debugger has the debug sessions of one gjc session. It is safe for concurrent use.
type Debugger struct {
	opts Options
	// mark begins the marks of all processes of this debugger.
	mark string

	// handles is the last number that a frame or a variable got.
	handles atomic.Int64
	work    workers

	mu       sync.Mutex // guards what follows; the lock of a tree may be taken while it is held, not the other way round
	closed   bool
	starts   int
	sessions []*Session
	current  *Session
	planned  []Breakpoint
}

// workers are goroutines that somebody waits for.
type workers struct {
	mu     sync.Mutex // guards closed, and that all grows only before
	closed bool
	all    sync.WaitGroup
}

// start runs fn, unless close was called.
func (w *workers) start(fn func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.all.Go(fn)
	}
	return !w.closed
}

// close starts nothing any more and returns a channel that is closed when all have ended.
func (w *workers) close() <-chan struct{} {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	ended := make(chan struct{})
	go func() { // ends with them
		defer close(ended)
		w.all.Wait()
	}()
	return ended
}

// NewDebugger returns a debugger without sessions. It starts nothing. The caller must Close it.
func NewDebugger(opts Options) *Debugger {
	if opts.Idle <= 0 {
		opts.Idle = DefaultIdle
	}
	if opts.RequestTimeout <= 0 {
		opts.RequestTimeout = defaultRequest
	}
	if opts.Notice == nil {
		opts.Notice = func(string) {}
	}
	return &Debugger{opts: opts, mark: proc.NewMark()}
}

// Start starts an adapter, or connects to one, and begins a session with the breakpoints that are planned. It returns when
// the adapter has answered initialize; launching, configuring and running go on by themselves, and [Session.Wait] tells how
// they went. Where Start fails nothing is left; where it or the launch fails, the breakpoints are planned again.
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
		return nil, fmt.Errorf("Debug session %s is still active. Terminate it before launching another.", open[0].id)
	}
	d.starts++
	s := newSession(d, fmt.Sprintf("debug-%d", d.starts), st)
	s.tree.breakpoints, d.planned = d.planned, nil
	d.sessions = append(d.sessions, s)
	d.mu.Unlock()

	if err := s.first(ctx); err != nil {
		d.planAgain(s)
		d.mu.Lock()
		d.sessions = slices.DeleteFunc(d.sessions, func(o *Session) bool { return o == s })
		d.mu.Unlock()
		return nil, err
	}
	d.mu.Lock()
	d.current = s
	d.forgetLocked()
	d.mu.Unlock()
	return s, nil
}

// forgetLocked forgets the oldest sessions that have ended.
func (d *Debugger) forgetLocked() {
	ended := 0
	for _, s := range slices.Backward(d.sessions) {
		if s.State() != StateTerminated {
			continue
		}
		if ended++; ended > keptSessions && s != d.current {
			d.sessions = slices.DeleteFunc(d.sessions, func(o *Session) bool { return o == s })
		}
	}
}

// Sessions returns the sessions without their children, the oldest first: those that are open and the last few that have
// ended.
func (d *Debugger) Sessions() []*Session {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.sessions)
}

// Find returns the session of that id; for an empty id the open one that was used last, or the last one that has ended.
// Where there is none the error is [ErrNoSession], or names those that there are.
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
		for _, s := range root.family() {
			if s.id == id {
				d.current = root
				return s, nil
			}
			names = append(names, s.id)
		}
	}
	return nil, fmt.Errorf("there is no debug session %q; there are %s", id, strings.Join(names, ", "))
}

// Plan keeps a breakpoint for the next session to start; Unplan forgets it. Both return those that are planned then.
func (d *Debugger) Plan(b Breakpoint) []Breakpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.planned = put(d.planned, b)
	return slices.Clone(d.planned)
}

// Unplan is told of in [Debugger.Plan]. It compares places alone.
func (d *Debugger) Unplan(b Breakpoint) []Breakpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.planned = slices.DeleteFunc(d.planned, func(o Breakpoint) bool { return o.same(&b) })
	return slices.Clone(d.planned)
}

// planAgain keeps the breakpoints of a session that did not come to run for the next one: they were set for the program,
// and the reader goes on to mend and to launch it again. What was planned since counts more.
func (d *Debugger) planAgain(s *Session) {
	list, exceptions := make([]Breakpoint, 0), make([]Breakpoint, 0)
	for _, b := range s.Breakpoints() {
		b.forget()
		switch b.Kind {
		case InstructionBreakpoint, DataBreakpoint: // places in a process that is gone
		case ExceptionBreakpoint:
			exceptions = append(exceptions, b)
		default:
			list = append(list, b)
		}
	}
	caps := capabilities{Capabilities: s.Capabilities()}
	if !slices.Equal(exceptions, caps.defaultFilters()) { // the adapter's own choice is not the next one's
		list = append(list, exceptions...)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range d.planned {
		list = put(list, b)
	}
	d.planned = list
}

// Planned returns the breakpoints for the next session.
func (d *Debugger) Planned() []Breakpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.planned)
}

// Close ends all sessions, with the programs that were launched, within ctx and never longer than two seconds. It may be called twice.
func (d *Debugger) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	sessions := slices.Clone(d.sessions)
	d.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, maxClose, errors.New("the debug adapters did not end in time"))
	defer cancel()
	errs := make([]error, len(sessions))
	var all sync.WaitGroup
	for i, s := range sessions {
		all.Go(func() {
			errs[i] = s.finish(ctx, ErrClosed, finishing{kill: s.start.Request == "launch", disconnect: closeDisconnect})
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

// nextHandle returns a number that no frame or variable has had.
func (d *Debugger) nextHandle() int { return int(d.handles.Add(1)) }

// issued reports whether a handle was ever given out.
func (d *Debugger) issued(handle int) bool { return handle > 0 && int64(handle) <= d.handles.Load() }
