package dap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// tree holds the state that a session and its child sessions share.
type tree struct {
	mu      sync.Mutex    // guards the fields below and the guarded fields of each debuggee, adapter and execution of the tree
	changed chan struct{} // closed and replaced at each change that a call may wait for
	root    *debuggee
	focus   *debuggee // the debuggee that stopped or resumed last; nil for none
	stops   int       // the number of stops so far
	// waitFrom is the number of stops at the time of the last resume.
	waitFrom    int
	output      output
	observers   []*observer
	breakpoints breakpointList
	history     history
	idle        idleTimer
}

type observer struct{ Observer }

// idleTimer counts the calls under way and ends the session some time after the last one. tree.mu guards it.
type idleTimer struct {
	calls int
	timer *time.Timer
}

// announceLocked wakes the calls that wait for a change. tree.mu is held.
func (t *tree) announceLocked() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// use keeps the session from being ended as idle until release is called.
func (t *tree) use() (release func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle.calls++
	if t.idle.timer != nil {
		t.idle.timer.Stop()
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.idle.calls--; t.idle.calls == 0 {
			t.startIdleLocked()
		}
	}
}

// startIdleLocked starts the idle timer unless a call is under way. tree.mu is held.
func (t *tree) startIdleLocked() {
	if t.root.state == StateTerminated || t.idle.calls > 0 {
		return
	}
	idle := t.root.debugger.opts.Idle
	if t.idle.timer == nil {
		t.idle.timer = time.AfterFunc(idle, t.expire)
		return
	}
	t.idle.timer.Reset(idle)
}

// expire ends the session if no call is under way.
func (t *tree) expire() {
	d := t.root.debugger
	t.mu.Lock()
	used := t.idle.calls > 0 || t.root.state == StateTerminated
	t.mu.Unlock()
	if used {
		return
	}
	d.work.start(func() {
		reason := fmt.Errorf("it was idle for %s", d.opts.Idle)
		ctx, cancel := context.WithTimeout(context.Background(), 2*terminateDisconnect)
		defer cancel()
		if err := t.root.end(ctx, reason, endOptions{kill: t.root.start.Request == "launch", disconnect: terminateDisconnect}); err != nil {
			d.opts.Log.Error().Str("debug_session", t.root.id).Err(err).Msg("dap: cannot end an idle session")
		}
		d.opts.Notice(fmt.Sprintf("The debug session %s (%s) was ended: %s.", t.root.id, t.root.start.Program, reason))
	})
}

// observe adds an observer until release is called, and reports the terminals that exist already.
func (t *tree) observe(o Observer) (release func()) {
	entry := &observer{o}
	t.mu.Lock()
	t.observers = append(slices.Clone(t.observers), entry)
	terminals := t.terminalsLocked()
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

// terminalsLocked returns the terminals of all adapters. tree.mu is held.
func (t *tree) terminalsLocked() []Terminal {
	var terminals []Terminal
	for _, d := range t.root.familyLocked() {
		if d.adapter != nil {
			terminals = append(terminals, d.adapter.terminals...)
		}
	}
	return terminals
}

// configuredLocked returns the adapters that take changes of breakpoints; the others receive all breakpoints when they are
// configured. tree.mu is held.
func (t *tree) configuredLocked() []*adapter {
	var adapters []*adapter
	for _, d := range t.root.familyLocked() {
		if d.adapter != nil && d.adapter.configured && d.state != StateTerminated {
			adapters = append(adapters, d.adapter)
		}
	}
	return adapters
}

// changeBreakpoints edits the list of breakpoints and sends the group of b (see [Breakpoint.sameRequest]) to all adapters of the
// tree. It returns the group. If an adapter refuses the group, the list does not change.
func (t *tree) changeBreakpoints(ctx context.Context, d *debuggee, b *Breakpoint, edit func([]Breakpoint) ([]Breakpoint, error)) ([]Breakpoint, error) {
	unlock, err := t.breakpoints.lockSending(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	t.mu.Lock()
	if t.root.state == StateTerminated {
		_, err := t.root.usableLocked()
		t.mu.Unlock()
		return nil, err
	}
	list := &t.breakpoints
	original, exceptionsSet := list.all, list.exceptionsSet
	before := slices.Clone(original)
	if b.Kind == ExceptionBreakpoint && !exceptionsSet {
		before = append(before, d.targetLocked().caps.defaultFilters()...)
	}
	after, err := edit(before)
	if err != nil {
		t.mu.Unlock()
		return nil, err
	}
	list.all, list.exceptionsSet = after, exceptionsSet || b.Kind == ExceptionBreakpoint
	adapters := t.configuredLocked()
	t.mu.Unlock()

	if err := sendToAll(ctx, adapters, b); err != nil {
		if _, refused := errors.AsType[*RequestError](err); refused { // the adapter keeps its earlier list
			t.mu.Lock()
			list.all, list.exceptionsSet = original, exceptionsSet
			t.mu.Unlock()
		}
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return list.group(b), nil
}
