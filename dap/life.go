package dap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	defaultInitialize = 30 * time.Second
	maxMessage        = 64 << 20
	// exitSettles is how long the exit status of a process whose output has ended is waited for: it is as good as there, but
	// for a machine that is busy.
	exitSettles = 2 * time.Second
	// lastWords is how long what an adapter has said before its end may be on its way.
	lastWords = 250 * time.Millisecond
	// terminatedAfter is how long an adapter that told of the program's exit may take to say that it is done.
	terminatedAfter = time.Second
	// politeTerminate is how long a program may take to heed terminate.
	politeTerminate = 500 * time.Millisecond
	// exitByItself is how long an adapter may take to end after its disconnect.
	exitByItself = 300 * time.Millisecond
)

// life is one adapter of a session, from its start to its end; a restart may give a session another.
//
// Its goroutines: watch, which tidies up and ends last; configure, which brings the program to where it runs; those of the
// client.
type life struct {
	session *Session
	link    *link
	client  *client
	mark    string

	initialized chan struct{} // closed by the event of that name
	once        sync.Once
	// leave is closed when the end is wanted.
	leave chan struct{}
	left  sync.Once
	gone  chan struct{} // closed when nothing is left

	// What follows is guarded by the tree's mu.
	why         error // why the end is wanted; nil where the program ended, or the user wants it
	wanted      bool
	finishing   finishing
	terminated  chan struct{} // closed by the event of that name
	over        bool          // it came
	again       jsonx.Raw     // its restart
	configured  bool          // the adapter knows all breakpoints
	configuring bool          // it is told them once more
	restarting  bool          // it was asked to start the program anew: the end of the old one is not that of the session
	terminals   []Terminal
	exit        *time.Timer // waits for the adapter that has told of the program's exit
}

// finishing is how a session is to be ended.
type finishing struct {
	// kill says that the program ends too.
	kill bool
	// terminate has the program asked first, where the adapter can do that.
	terminate bool
	// disconnect bounds the adapter's goodbye.
	disconnect time.Duration
}

// begin starts or finds the adapter and initializes it. What follows goes on by itself. b is the session's.
func (s *Session) begin(b *beginning) error {
	d, ctx := s.debugger, b.ctx
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed { // who closes it later finds b
		return ErrClosed
	}
	l := &life{
		session: s, mark: d.mark + "-" + s.id, initialized: make(chan struct{}), leave: make(chan struct{}),
		gone: make(chan struct{}), terminated: make(chan struct{}), finishing: finishing{kill: s.start.Request == "launch", disconnect: terminateDisconnect},
	}
	link, err := d.connect(ctx, s.start, l.mark, func(category string) io.Writer { return &printed{l, category} })
	if err != nil {
		return err
	}
	l.link = link
	l.client = newClient(clientOptions{
		reader: link.reader, writer: link.writer, closer: link.closer, max: maxMessage,
		event: l.event, reverse: l.reverse, dropped: l.dropped,
		cancels: func() bool { return s.Capabilities().SupportsCancelRequest },
	})
	if err := l.initialize(ctx); err != nil {
		err = l.explainStart(err)
		l.abandon()
		return err
	}
	s.tree.mu.Lock()
	if ctx.Err() != nil { // somebody wants the end
		s.tree.mu.Unlock()
		l.abandon()
		return context.Cause(ctx)
	}
	s.life, s.state, s.failure, s.ended, s.exitCode, s.stop, s.shot, s.pid = l, StateLaunching, nil, nil, nil, nil, nil, 0
	s.threads = make(map[int]bool)
	if s.parent == nil { // a child that begins makes no stop of another one an old one
		s.tree.waitFrom = s.tree.stops
		for i := range s.tree.breakpoints {
			s.tree.breakpoints[i].forget()
		}
	}
	s.tree.mu.Unlock()
	if !d.work.start(l.watch) {
		l.abandon()
		return ErrClosed
	}
	d.work.start(l.configure) // if it does not begin, the end is near
	return nil
}

// abandon ends an adapter that nothing was done with.
func (l *life) abandon() {
	l.left.Do(func() { close(l.leave) })
	l.release()
	if p := l.link.proc; p != nil {
		p.Kill()
		<-p.Done()
	}
	l.client.close()
	l.tidy()
}

// tidy removes the files that an adapter which was killed has left.
func (l *life) tidy() {
	for _, path := range l.session.start.Temporary {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.session.debugger.opts.Log.Warn().Str("session", l.session.id).Err(err).Msg("dap: a file can not be removed")
		}
	}
}

// printed is what an adapter prints beside the protocol.
type printed struct {
	life     *life
	category string
}

func (p *printed) Write(b []byte) (int, error) {
	p.life.print(p.category, string(b))
	return len(b), nil
}

func (l *life) initialize(ctx context.Context) error {
	s := l.session
	spec := s.start.Adapter
	slow, id := time.Duration(0), "gjc"
	if spec != nil {
		slow, id = spec.Slow, spec.Name
		if spec.AdapterID != "" {
			id = spec.AdapterID
		}
	}
	if slow <= 0 {
		slow = defaultInitialize
	}
	ctx, cancel := context.WithTimeoutCause(ctx, slow, fmt.Errorf("it did not answer initialize within %s", slow))
	defer cancel()
	var raw jsonx.Raw
	err := l.client.do(ctx, "initialize", &initializeArguments{
		InitializeRequestArguments: godap.InitializeRequestArguments{
			ClientID: "gjc", ClientName: "Gajae Code", AdapterID: id, Locale: "en-US", LinesStartAt1: true, ColumnsStartAt1: true,
			PathFormat: "path", SupportsVariableType: true, SupportsVariablePaging: true,
			SupportsRunInTerminalRequest: s.debugger.opts.RunInTerminal != nil && s.tree.root.start.runsHere(), SupportsMemoryReferences: true,
			SupportsProgressReporting: true, SupportsInvalidatedEvent: true,
		},
		SupportsStartDebuggingRequest: true,
	}, &raw)
	if err != nil {
		return err
	}
	caps, err := newCapabilities(raw)
	if err != nil {
		return fmt.Errorf("its answer to initialize can not be understood: %w", err)
	}
	s.tree.mu.Lock()
	s.caps = caps
	s.tree.mu.Unlock()
	return nil
}

// initializeArguments has what go-dap does not know yet.
type initializeArguments struct {
	godap.InitializeRequestArguments
	SupportsStartDebuggingRequest bool `json:"supportsStartDebuggingRequest"`
}

// configure launches or attaches, tells the adapter the breakpoints when it is ready for them, and lets the program run.
func (l *life) configure() {
	s := l.session
	ctx := l.client.ctx // launching takes as long as it takes: a program may have to be built
	launched := make(chan error, 1)
	go func() { // ends with the client
		launched <- l.client.do(ctx, s.start.Request, l.arguments(), nil)
	}()
	var err error
	answered := false
	for ready := false; !ready && err == nil; {
		select {
		case <-l.initialized:
			ready = true
		case err = <-launched:
			answered, launched = true, nil
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err == nil {
		configured := l.tellBreakpoints(ctx)
		if !answered {
			err = <-launched
		}
		switch {
		case err != nil && configured != nil && !errors.Is(configured, err) && !errors.Is(configured, errHungUp):
			err = fmt.Errorf("%w (and it was not configured: %w)", err, configured)
		case err == nil:
			err = configured
		}
	}
	if err != nil {
		l.fail(err)
		return
	}
	l.runs()
}

// configureAgain tells the adapter the breakpoints when it has started the program anew.
func (l *life) configureAgain() {
	err := l.tellBreakpoints(l.client.ctx)
	l.session.tree.mu.Lock()
	l.configuring = false
	l.session.tree.mu.Unlock()
	if err != nil {
		l.fail(err)
		return
	}
	l.runs()
}

// runs takes note that the program was let go for the first time.
func (l *life) runs() {
	s := l.session
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.life == l && s.state == StateConfiguring {
		s.state = StateRunning
	}
	s.tree.restLocked()
	s.tree.announceLocked()
}

// arguments are those of the request launch or attach.
func (l *life) arguments() map[string]any {
	s := l.session
	args := s.start.Arguments
	if args == nil {
		args = map[string]any{}
	}
	s.tree.mu.Lock()
	again := s.again
	s.tree.mu.Unlock()
	if len(again) == 0 {
		return args
	}
	args = maps.Clone(args)
	args["__restart"] = again
	return args
}

// fail ends a session whose program was not launched or attached to.
func (l *life) fail(err error) {
	s := l.session
	l.client.mu.Lock()
	lost := l.client.err != nil
	l.client.mu.Unlock()
	if lost {
		err = l.death()
	}
	s.tree.mu.Lock()
	wanted := l.wanted
	if !wanted {
		if out := text.Tail(strings.TrimSpace(s.tree.output.since(0)), stderrInError); out != "" && !strings.Contains(err.Error(), out) {
			err = fmt.Errorf("%w\nOutput:\n%s", err, out)
		}
		s.failure = fmt.Errorf("%s failed: %w", s.start.Request, err)
		s.ended = s.failure
	}
	s.tree.mu.Unlock()
	if !wanted && s.tree.root == s {
		s.debugger.planAgain(s)
	}
	l.quit(nil)
}

// quit has watch end the life.
func (l *life) quit(how *finishing) {
	l.session.tree.mu.Lock()
	if how != nil {
		l.finishing = *how
	}
	l.session.tree.mu.Unlock()
	l.left.Do(func() { close(l.leave) })
}

// end ends the present life and waits for that. why is nil where the user wants it.
func (s *Session) end(ctx context.Context, why error, how finishing) error {
	s.tree.mu.Lock()
	l := s.life
	if l == nil || s.state == StateTerminated {
		s.tree.mu.Unlock()
		return nil
	}
	if !l.wanted {
		l.wanted, l.why = true, why
		if s.ended == nil {
			s.ended = why
		}
	}
	s.tree.mu.Unlock()
	l.quit(&how)
	select {
	case <-l.gone:
		return nil
	case <-ctx.Done():
		// Nobody may be left behind, however short of time the caller is.
		if p := l.link.proc; p != nil {
			p.Kill()
		}
		l.client.end(errHungUp)
	}
	t := time.NewTimer(maxClose)
	defer t.Stop()
	select {
	case <-l.gone:
		return nil
	case <-t.C:
		return fmt.Errorf("the debug adapter of %s does not end: %w", s.id, context.Cause(ctx))
	}
}

// watch waits for the end of the life, whatever brings it, and tidies up.
func (l *life) watch() {
	var exited <-chan struct{}
	if l.link.proc != nil {
		exited = l.link.proc.Done()
	}
	select {
	case <-l.leave:
	case <-l.client.over:
	case <-exited:
		// What it said last may still be on its way.
		t := time.NewTimer(lastWords)
		select {
		case <-l.client.over:
		case <-l.leave:
		case <-t.C:
		}
		t.Stop()
	}
	s := l.session
	l.left.Do(func() { close(l.leave) }) // from here on nothing comes to it that somebody would have to end
	s.tree.mu.Lock()
	wanted, over, how := l.wanted, l.over, l.finishing
	failed := s.failure != nil
	children := append([]*Session(nil), s.children...)
	s.tree.mu.Unlock()
	if !wanted && !over && !failed {
		err := l.death()
		s.tree.mu.Lock()
		if s.ended == nil {
			s.ended = err
		}
		s.tree.mu.Unlock()
	}
	var all sync.WaitGroup
	for _, c := range children {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), how.disconnect)
			defer cancel()
			_ = c.finish(ctx, errParentEnded, finishing{kill: how.kill, disconnect: how.disconnect}) // told of by its own adapter
		})
	}
	all.Wait()
	l.bye(how)
	l.release()
	if p := l.link.proc; p != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 4*adapterGrace)
		if err := p.Shutdown(ctx, nil); err != nil {
			s.debugger.opts.Log.Error().Str("session", s.id).Err(err).Msg("dap: an adapter can not be killed")
		}
		cancel()
	}
	l.client.close()
	l.tidy()
	l.conclude()
}

var errParentEnded = errors.New("the session that it belongs to has ended")

// bye says goodbye to an adapter that can still be talked to.
func (l *life) bye(how finishing) {
	s := l.session
	if l.client.lost() != nil {
		return
	}
	s.tree.mu.Lock()
	caps, over := s.caps, l.over
	s.tree.mu.Unlock()
	ctx, cancel := context.WithTimeout(l.client.ctx, how.disconnect)
	defer cancel()
	if how.terminate && how.kill && !over && caps.SupportsTerminateRequest {
		patience, cancel := context.WithTimeout(ctx, politeTerminate)
		if l.client.do(patience, "terminate", &godap.TerminateArguments{}, nil) == nil {
			select {
			case <-l.terminated:
			case <-patience.Done():
			}
		}
		cancel()
	}
	_ = l.client.do(ctx, "disconnect", &disconnectArguments{TerminateDebuggee: how.kill}, nil) // it is ended in any case
	if p := l.link.proc; p != nil {
		t := time.NewTimer(exitByItself)
		defer t.Stop()
		select {
		case <-p.Done():
		case <-t.C:
		case <-ctx.Done():
		}
	}
}

// disconnectArguments tell of the debuggee in any case: what an adapter takes for granted depends on how it came to it.
type disconnectArguments struct {
	TerminateDebuggee bool `json:"terminateDebuggee"`
}

// release ends what runs in terminals.
func (l *life) release() {
	l.session.tree.mu.Lock()
	terminals := l.terminals
	l.terminals = nil
	l.session.tree.mu.Unlock()
	var all sync.WaitGroup
	for _, t := range terminals {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), maxClose)
			defer cancel()
			if text, err := t.Output(ctx); err == nil && text != "" {
				l.session.tree.replaceTerminal(text)
			}
			if err := t.Release(ctx); err != nil {
				l.session.debugger.opts.Log.Warn().Str("session", l.session.id).Err(err).Msg("dap: a terminal can not be released")
			}
		})
	}
	all.Wait()
}

// conclude publishes the end.
func (l *life) conclude() {
	s := l.session
	t := s.tree
	t.mu.Lock()
	if l.exit != nil {
		l.exit.Stop()
	}
	s.stop, s.shot = nil, nil
	s.handles.reset()
	s.state = StateTerminated
	if s.restarting {
		s.state = StateLaunching
	}
	// An adapter that ends where it was to start the program anew could not do that; a new one can.
	again := !l.wanted && s.failure == nil && (len(l.again) > 0 || l.restarting && s.start.Request == "launch" && s.start.Address == "")
	if s.relaunches++; again && s.relaunches > maxRelaunches {
		again, s.ended = false, errRelaunches
	}
	if t.root == s && !again && !s.restarting && t.idle != nil {
		t.idle.Stop()
	}
	var next *beginning
	if again && s.beginning == nil {
		s.state, s.again = StateLaunching, l.again
		next, _ = s.reserveLocked(context.Background()) // there is none
	}
	close(l.gone)
	t.announceLocked()
	t.mu.Unlock()
	if next != nil {
		s.relaunch(next)
	}
}

// maxRelaunches bounds how often a session begins anew: an adapter could ask for it without an end.
const maxRelaunches = 50

var errRelaunches = fmt.Errorf("the debug adapter has asked %d times for a new start", maxRelaunches)

// relaunch starts the adapter anew, as it has asked for.
func (s *Session) relaunch(b *beginning) {
	started := s.debugger.work.start(func() {
		defer s.settle(b)
		if err := s.begin(b); err != nil {
			s.lose(fmt.Errorf("it could not be started again: %w", err))
		}
	})
	if !started {
		s.lose(ErrClosed)
		s.settle(b)
	}
}

// lose makes a session without an adapter an ended one.
func (s *Session) lose(err error) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	s.state, s.ended = StateTerminated, err
	s.tree.announceLocked()
}
