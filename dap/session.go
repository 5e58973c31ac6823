package dap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Session is one debuggee and its adapter. Its methods are safe for concurrent use; they fail with an error that wraps
// [ErrTerminated] once it has ended. On a session with child sessions they are about the child that stopped last, unless
// the session itself stands still.
//
// Its goroutines, all of which have ended when [Debugger.Close] returns, belong to its life (see there).
type Session struct {
	debugger *Debugger
	id       string
	start    *Start
	parent   *Session // nil for the root
	tree     *tree

	// What follows is guarded by tree.mu.
	life *life // the present or the last one
	// beginning is the next life, where one is to come.
	beginning *beginning
	state     State
	children  []*Session
	born      int // how many children there have been
	caps      capabilities
	stop      *Stop // nil where the program does not stand still
	// stopSeq is the number of the stop in the tree.
	stopSeq  int
	handles  handles
	threads  map[int]bool // those that are known; true for one that stands still
	exitCode *int
	ended    error // see Snapshot.Ended
	failure  error // why the launch or attach failed
	pid      int
	shot     *shot // what was asked for the present stop
	events   []Event
	// again is what the program wants to be started anew with; nil where it does not.
	again jsonx.Raw
	// relaunches counts the lives that have ended.
	relaunches int
	// restarting says that the end of the life is not that of the session.
	restarting bool
}

// tree is what a session and its child sessions have in common.
type tree struct {
	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, at each change that somebody may wait for
	root    *Session
	focus   *Session // the one that stopped last or was let go last; nil for none
	stops   int      // how many stops there have been
	// waitFrom is the number of stops that there had been when the program was let go last.
	waitFrom  int
	output    output
	observers []*observer

	breakpoints []Breakpoint
	// chosen says that the exception breakpoints are those among breakpoints, and not the adapter's own choice.
	chosen bool
	// setting is held by who sends breakpoints: lists of one file must come in order.
	setting chan struct{}

	seen seen

	using int
	idle  *time.Timer
}

type observer struct{ Observer }

// Event is an event that gjc knows no use for.
type Event struct {
	Name string
	// Body is cut off after 4 KiB, and then no JSON any more.
	Body string
}

const (
	maxEvents    = 32
	maxEventBody = 4 << 10
)

func newSession(d *Debugger, id string, st *Start) *Session {
	s := &Session{debugger: d, id: id, start: st, state: StateLaunching, threads: make(map[int]bool)}
	s.tree = &tree{changed: make(chan struct{}), root: s, setting: make(chan struct{}, 1)}
	return s
}

// newChildLocked returns a child session that has not begun. tree.mu is held.
func (s *Session) newChildLocked(st *Start) *Session {
	s.born++
	c := &Session{
		debugger: s.debugger, id: fmt.Sprintf("%s.%d", s.id, s.born), start: st, parent: s, tree: s.tree, state: StateLaunching,
		threads: make(map[int]bool),
	}
	s.children = append(s.children, c)
	return c
}

// announceLocked wakes those who wait for a change. tree.mu is held.
func (t *tree) announceLocked() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// family returns the session and all below it.
func (s *Session) family() []*Session {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.familyLocked()
}

func (s *Session) familyLocked() []*Session {
	all := []*Session{s}
	for _, c := range s.children {
		all = append(all, c.familyLocked()...)
	}
	return all
}

// targetLocked returns the session that a call on s is about. tree.mu is held.
func (s *Session) targetLocked() *Session {
	if s.state == StateStopped || len(s.children) == 0 {
		return s
	}
	family := s.familyLocked()
	if f := s.tree.focus; f != nil && f.state != StateTerminated && slices.Contains(family, f) {
		return f
	}
	for _, c := range slices.Backward(family) {
		if c.state == StateStopped {
			return c
		}
	}
	for _, c := range slices.Backward(family) {
		if c.state != StateTerminated {
			return c
		}
	}
	return s
}

// ID is "debug-1"; that of a child session is "debug-1.1".
func (s *Session) ID() string { return s.id }

// Started is what the session was started with, or the one that it is a child of. It must not be changed.
func (s *Session) Started() *Start { return s.tree.root.start }

// State is where the session is in its life; that of a session with children is theirs while they live.
func (s *Session) State() State {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.stateLocked()
}

func (s *Session) stateLocked() State {
	if s.state == StateTerminated {
		return s.state
	}
	return s.targetLocked().state
}

// Capabilities are what the adapter said that it can do.
func (s *Session) Capabilities() godap.Capabilities {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.targetLocked().caps.Capabilities
}

// ExceptionFilters are the kinds of exceptions that the adapter can stop at.
func (s *Session) ExceptionFilters() []godap.ExceptionBreakpointsFilter {
	return s.Capabilities().ExceptionBreakpointFilters
}

// Events returns the last events of the adapter that gjc knows no use for.
func (s *Session) Events() []Event {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return slices.Clone(s.targetLocked().events)
}

// Observe shows the observer what happens until release is called. Several may look on. It is told at once of the terminals
// that there are.
func (s *Session) Observe(o Observer) (release func()) {
	t, entry := s.tree, &observer{o}
	t.mu.Lock()
	t.observers = append(slices.Clone(t.observers), entry)
	var terminals []Terminal
	for _, f := range t.root.familyLocked() {
		if f.life != nil {
			terminals = append(terminals, f.life.terminals...)
		}
	}
	t.mu.Unlock()
	for _, term := range terminals {
		if o.Terminal != nil && term.ID() != "" {
			o.Terminal(term.ID())
		}
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.observers = slices.DeleteFunc(slices.Clone(t.observers), func(o *observer) bool { return o == entry })
	}
}

// use keeps the session from being ended for want of use until release is called.
func (s *Session) use() (release func()) {
	t := s.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	t.using++
	if t.idle != nil {
		t.idle.Stop()
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.using--; t.using == 0 {
			t.restLocked()
		}
	}
}

// restLocked begins to count the time without use. tree.mu is held.
func (t *tree) restLocked() {
	if t.root.state == StateTerminated || t.using > 0 {
		return
	}
	idle := t.root.debugger.opts.Idle
	if t.idle == nil {
		t.idle = time.AfterFunc(idle, t.expire)
		return
	}
	t.idle.Reset(idle)
}

// expire ends a session that nobody has used for long.
func (t *tree) expire() {
	d := t.root.debugger
	t.mu.Lock()
	used := t.using > 0 || t.root.state == StateTerminated
	t.mu.Unlock()
	if used {
		return
	}
	d.work.start(func() {
		why := fmt.Errorf("nobody used it for %s", d.opts.Idle)
		ctx, cancel := context.WithTimeout(context.Background(), 2*terminateDisconnect)
		defer cancel()
		if err := t.root.finish(ctx, why, finishing{kill: t.root.start.Request == "launch", disconnect: terminateDisconnect}); err != nil {
			d.opts.Log.Error().Str("session", t.root.id).Err(err).Msg("dap: a session can not be ended")
		}
		d.opts.Notice(fmt.Sprintf("The debug session %s (%s) was ended: %s.", t.root.id, t.root.start.Program, why))
	})
}

// Wait waits until the program stands still or the session has ended. Its error is that of a launch or attach that failed,
// or ctx's cause; the session lives on in the second case. How a session ended otherwise is in its snapshot.
func (s *Session) Wait(ctx context.Context) error {
	defer s.use()()
	t := s.tree
	for {
		t.mu.Lock()
		over := t.root.state == StateTerminated || s.state == StateTerminated
		failure := s.failure
		still := t.stops > t.waitFrom && s.targetLocked().state == StateStopped
		changed := t.changed
		t.mu.Unlock()
		switch {
		case over:
			return failure
		case still:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Terminate ends the program and the adapter. A program that was attached to is let go, unless kill says otherwise. It
// returns when nothing is left, and may be called twice.
func (s *Session) Terminate(ctx context.Context, kill bool) error {
	defer s.use()()
	return s.finish(ctx, nil, finishing{
		kill: kill || s.start.Request == "launch", terminate: true, disconnect: terminateDisconnect,
	})
}

// current returns the life to ask, of the session that a call is about.
func (s *Session) current() (*Session, *life, error) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	t := s.targetLocked()
	l, err := t.usableLocked()
	return t, l, err
}

func (s *Session) usableLocked() (*life, error) {
	switch {
	case s.state == StateTerminated && s.ended != nil:
		return nil, fmt.Errorf("%w: %w. Launch the program again to go on", ErrTerminated, s.ended)
	case s.state == StateTerminated:
		return nil, fmt.Errorf("%w: the program has ended. Launch it again to go on", ErrTerminated)
	case s.life == nil || s.state == StateLaunching:
		return nil, fmt.Errorf("%w: the adapter is not ready yet. Wait for it with continue", errLaunching)
	}
	return s.life, nil
}

var errLaunching = errors.New("the debug session is still launching")

// still is current for what needs a program that stands still.
func (s *Session) still() (*Session, *life, error) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	t := s.targetLocked()
	l, err := t.usableLocked()
	if err == nil && t.state != StateStopped {
		err = fmt.Errorf("%w. Use pause first, or wait for the next stop", ErrRunning)
	}
	return t, l, err
}

// do makes a request of a life.
func (l *life) do(ctx context.Context, command string, arguments, body any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.session.debugger.opts.RequestTimeout, fmt.Errorf("%w: %s", ErrTimeout, command))
	defer cancel()
	return l.explain(l.client.do(ctx, command, arguments, body))
}

// Custom makes any request. Frames and variables in its arguments and its answer are the adapter's own numbers.
func (s *Session) Custom(ctx context.Context, command string, arguments jsonx.Raw) (jsonx.Raw, error) {
	defer s.use()()
	switch command {
	case "initialize", "launch", "attach", "configurationDone", "disconnect", "terminate", "restart", "continue", "next", "stepIn",
		"stepOut", "stepBack", "reverseContinue", "goto", "restartFrame", "setBreakpoints", "setFunctionBreakpoints",
		"setExceptionBreakpoints", "setDataBreakpoints", "setInstructionBreakpoints":
		return nil, fmt.Errorf("%s is sent by gjc itself: there is an action for it", command)
	}
	_, l, err := s.current()
	if err != nil {
		return nil, err
	}
	var args any
	if len(arguments) > 0 {
		args = arguments
	}
	var body jsonx.Raw
	err = l.do(ctx, command, args, &body)
	return body, err
}
