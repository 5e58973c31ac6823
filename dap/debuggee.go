package dap

import (
	"errors"
	"fmt"
	"slices"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// debuggee is one program being debugged and its adapter: the state of a [Session]. A restart may replace the adapter.
type debuggee struct {
	session  *Session
	debugger *Debugger
	id       string
	start    *Start
	parent   *debuggee // nil for the root
	tree     *tree

	// tree.mu guards the fields below.

	adapter    *adapter      // the present one or the last one; nil before the first
	starting   *startAttempt // nil unless an adapter is being started
	state      State
	children   []*debuggee // including those that have ended
	caps       capabilities
	exec       execution
	exitCode   *int
	pid        int
	events     []Event
	ended      error // see Snapshot.Ended
	failure    error // why the launch or attach failed
	relaunches relaunches
}

// relaunches is the state of the restarts of a debuggee that need another adapter.
type relaunches struct {
	// data is the restart value of the adapter's terminated event, for the next launch request; nil for none.
	data jsonx.Raw
	// count is the number of adapters that have ended.
	count int
	// underway reports whether the adapter ends because of a restart, which does not end the session.
	underway bool
}

func newDebuggee(d *Debugger, id string, st *Start) *debuggee {
	g := &debuggee{debugger: d, id: id, start: st, state: StateLaunching, exec: newExecution(&d.handles)}
	g.tree = &tree{changed: make(chan struct{}), root: g, breakpoints: newBreakpointList()}
	g.session = &Session{debuggee: g, tree: g.tree}
	return g
}

// newChildLocked adds a child session without an adapter. tree.mu is held.
func (d *debuggee) newChildLocked(st *Start) *debuggee {
	c := &debuggee{
		debugger: d.debugger, id: fmt.Sprintf("%s.%d", d.id, len(d.children)+1), start: st, parent: d, tree: d.tree, state: StateLaunching,
		exec: newExecution(&d.debugger.handles),
	}
	c.session = &Session{debuggee: c, tree: d.tree}
	d.children = append(d.children, c)
	return c
}

// family returns the debuggee and its descendants.
func (d *debuggee) family() []*debuggee {
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	return d.familyLocked()
}

func (d *debuggee) familyLocked() []*debuggee {
	all := []*debuggee{d}
	for _, c := range d.children {
		all = append(all, c.familyLocked()...)
	}
	return all
}

// targetLocked returns the debuggee that a call on d's session applies to. tree.mu is held.
func (d *debuggee) targetLocked() *debuggee {
	if d.state == StateStopped || len(d.children) == 0 {
		return d
	}
	family := d.familyLocked()
	if f := d.tree.focus; f != nil && f.state != StateTerminated && slices.Contains(family, f) {
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
	return d
}

// stateLocked returns the state of the session of d. tree.mu is held.
func (d *debuggee) stateLocked() State {
	if d.state == StateTerminated {
		return d.state
	}
	return d.targetLocked().state
}

func (d *debuggee) capabilities() godap.Capabilities {
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	return d.targetLocked().caps.Capabilities
}

// connected returns the target of a call on d's session. It fails unless the target's adapter accepts requests.
func (d *debuggee) connected() (target, error) {
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	t := d.targetLocked()
	a, err := t.usableLocked()
	return target{t, a}, err
}

// stopped is like connected, for calls that need a stopped program.
func (d *debuggee) stopped() (target, error) {
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	t := d.targetLocked()
	a, err := t.usableLocked()
	if err == nil && t.state != StateStopped {
		err = fmt.Errorf("%w. Use pause first, or wait for the next stop", ErrRunning)
	}
	return target{t, a}, err
}

var errLaunching = errors.New("the debug session is still starting")

// usableLocked returns the adapter, or an error if it does not accept requests. tree.mu is held.
func (d *debuggee) usableLocked() (*adapter, error) {
	switch {
	case d.state == StateTerminated && d.ended != nil:
		return nil, fmt.Errorf("%w: %w. Launch the program again to continue", ErrTerminated, d.ended)
	case d.state == StateTerminated:
		return nil, fmt.Errorf("%w: the program has ended. Launch it again to continue", ErrTerminated)
	case d.adapter == nil || d.state == StateLaunching:
		return nil, fmt.Errorf("%w: the adapter is not ready yet. Wait for it with continue", errLaunching)
	}
	return d.adapter, nil
}

// checkBreakpoint returns an error if the adapter does not support a breakpoint. Without an adapter it accepts all.
func (d *debuggee) checkBreakpoint(b *Breakpoint) error {
	d.tree.mu.Lock()
	t := d.targetLocked()
	known, caps := t.adapter != nil && t.state != StateTerminated, t.caps
	d.tree.mu.Unlock()
	if !known {
		return nil
	}
	return caps.checkBreakpoint(b)
}

// isUserCode reports whether a file is the user's own code ([Start.Roots]).
func (d *debuggee) isUserCode(path string) bool {
	roots := d.start.Roots
	if len(roots) == 0 {
		roots = []string{d.start.Dir}
	}
	return path != "" && slices.ContainsFunc(roots, func(root string) bool { return isWithin(root, path) })
}

// stopLocked records a stop of a thread, unless a has been replaced. tree.mu is held.
func (d *debuggee) stopLocked(a *adapter, b *godap.StoppedEventBody) {
	if d.state == StateTerminated || d.adapter != nil && d.adapter != a {
		return
	}
	d.exec.addStopped(b.ThreadId, b.AllThreadsStopped)
	if d.state == StateStopped && d.exec.stop != nil {
		d.exec.addOther(b.ThreadId)
		return
	}
	a.restarting = false
	d.state = StateStopped
	t := d.tree
	t.stops++
	d.exec.pause(b, t.stops)
	t.focus = d
	t.announceLocked()
}

// continueLocked records that a thread, or all of them, resumed without a request. tree.mu is held.
func (d *debuggee) continueLocked(a *adapter, b *godap.ContinuedEventBody) {
	if d.state != StateStopped || d.exec.stop == nil || d.adapter != nil && d.adapter != a {
		return
	}
	if !b.AllThreadsContinued && b.ThreadId != d.exec.stop.Thread {
		d.exec.threads[b.ThreadId] = false
		return
	}
	d.runLocked(b.ThreadId, true)
	d.tree.announceLocked()
}

// runLocked records that a thread, or all of them, was resumed. tree.mu is held.
func (d *debuggee) runLocked(thread int, all bool) {
	d.state = StateRunning
	d.exec.resume(thread, all)
}

// addEventLocked keeps an event that gjc does not use. tree.mu is held.
func (d *debuggee) addEventLocked(name string, body []byte) {
	if len(d.events) >= maxEvents {
		d.events = slices.Delete(d.events, 0, 1)
	}
	d.events = append(d.events, Event{Name: truncate(name), Body: valid(string(body[:min(len(body), maxEventBody)]))})
}
