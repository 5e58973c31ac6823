package dap

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gajae-code/gjc/internal/permit"
)

// startAttempt is the start of an adapter, from its reservation until the adapter is initialized or has failed. To end the session
// during that time, cancel the attempt and wait for done: no program is started after its session has ended.
type startAttempt struct {
	ctx    context.Context //nolint:containedctx // the end of the session cancels it
	cancel context.CancelCauseFunc
	done   chan struct{}
}

var (
	errEndedEarly = errors.New("it was ended during its start")
	errStarting   = errors.New("the adapter is being started already; wait for it, or terminate it")
)

// reserveStart reserves the start of the next adapter for the caller, who must call finishStart. It fails if a start is under way.
func (d *debuggee) reserveStart(ctx context.Context) (*startAttempt, error) {
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	return d.reserveStartLocked(ctx)
}

func (d *debuggee) reserveStartLocked(ctx context.Context) (*startAttempt, error) {
	if d.starting != nil {
		return nil, fmt.Errorf("%s: %w", d.id, errStarting)
	}
	s := &startAttempt{done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	d.starting = s
	return s, nil
}

// finishStart wakes the calls that wait for the attempt. The caller must first store the result in the debuggee's state.
func (d *debuggee) finishStart(s *startAttempt) {
	d.tree.mu.Lock()
	d.starting = nil
	d.tree.mu.Unlock()
	s.cancel(nil)
	close(s.done)
}

// startFirst starts the first adapter.
func (d *debuggee) startFirst(ctx context.Context) error {
	s, err := d.reserveStart(ctx)
	if err != nil {
		return err
	}
	defer d.finishStart(s)
	if err := d.startAdapter(s); err != nil {
		d.setEnded(err)
		return err
	}
	return nil
}

// startAdapter starts or connects to an adapter and initializes it. The launch continues in the background. s is the attempt that
// the caller has reserved.
func (d *debuggee) startAdapter(s *startAttempt) error {
	b, ctx := d.debugger, permit.With(s.ctx, d.start.permit) // a restart happens where the start did
	b.mu.Lock()
	closed := b.closed
	b.mu.Unlock()
	if closed { // a later Close finds the attempt
		return ErrClosed
	}
	a := newAdapter(d)
	tr, err := b.connect(ctx, d.start, a.mark, func(category string) io.Writer { return &printWriter{a, category} })
	if err != nil {
		return err
	}
	a.transport = tr
	a.client = newClient(clientOptions{
		reader: tr.reader, writer: tr.writer, closer: tr.closer, max: maxMessage,
		event: a.event, reverse: a.reverse, dropped: a.logDropped,
		cancels: func() bool { return d.capabilities().SupportsCancelRequest },
	})
	if err := a.initialize(ctx); err != nil {
		err = a.startError(err)
		a.abandon()
		return err
	}
	t := d.tree
	t.mu.Lock()
	if ctx.Err() != nil { // the session is being ended
		t.mu.Unlock()
		a.abandon()
		return context.Cause(ctx)
	}
	d.adapter, d.state, d.failure, d.ended, d.exitCode, d.pid = a, StateLaunching, nil, nil, nil, 0
	d.exec.reset()
	if d.parent == nil { // the start of a child does not make the stop of another session an old one
		t.waitFrom = t.stops
		t.breakpoints.clearAnswers()
	}
	t.mu.Unlock()
	if !b.work.start(a.watch) {
		a.abandon()
		return ErrClosed
	}
	b.work.start(a.launch) // refused only if the debugger is being closed
	return nil
}

// end ends the session, including one that is being started, and waits until it has ended. reason is nil if the user requested it.
func (d *debuggee) end(ctx context.Context, reason error, opts endOptions) error {
	for {
		d.tree.mu.Lock()
		s := d.starting
		d.tree.mu.Unlock()
		if s == nil {
			return d.endAdapter(ctx, reason, opts)
		}
		if reason == nil {
			s.cancel(errEndedEarly)
		} else {
			s.cancel(fmt.Errorf("%w: %w", errEndedEarly, reason))
		}
		select {
		case <-s.done:
		case <-ctx.Done():
			return fmt.Errorf("timed out waiting for the start of %s to end: %w", d.id, context.Cause(ctx))
		}
	}
}

// setEnded ends a session that has no adapter.
func (d *debuggee) setEnded(err error) {
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	d.state, d.ended = StateTerminated, err
	d.tree.announceLocked()
}

// maxRelaunches bounds how often an adapter can request a restart of its session.
const maxRelaunches = 50

var errRelaunches = fmt.Errorf("the debug adapter asked for a restart %d times; giving up", maxRelaunches)

// relaunch starts another adapter in the background.
func (d *debuggee) relaunch(s *startAttempt) {
	started := d.debugger.work.start(func() {
		defer d.finishStart(s)
		if err := d.startAdapter(s); err != nil {
			d.setEnded(fmt.Errorf("cannot start it again: %w", err))
		}
	})
	if !started {
		d.setEnded(ErrClosed)
		d.finishStart(s)
	}
}
