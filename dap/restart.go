package dap

import (
	"context"
	"fmt"
)

// Restart restarts the program, either with the adapter's restart request or by ending the adapter and starting another one. A
// session that has ended adds the planned breakpoints (see [Debugger.Plan]) to its own.
func (s *Session) Restart(ctx context.Context) error {
	defer s.tree.use()()
	root, planned := s.tree.root, s.debuggee.debugger.Planned()
	s.tree.mu.Lock()
	if root.restartsByRequestLocked() {
		a := root.adapter
		a.prepareRestartLocked()
		s.tree.mu.Unlock()
		return a.restart(ctx)
	}
	ended := root.state == StateTerminated
	attempt, err := root.reserveRelaunchLocked(ctx)
	if err != nil {
		s.tree.mu.Unlock()
		return err
	}
	if ended {
		for _, b := range planned {
			s.tree.breakpoints.all = putBreakpoint(s.tree.breakpoints.all, b)
		}
	}
	s.tree.waitFrom = s.tree.stops
	root.relaunches.underway = true
	s.tree.mu.Unlock()

	defer root.finishStart(attempt)
	if !ended {
		err = root.endAdapter(ctx, nil, endOptions{kill: true, disconnect: terminateDisconnect})
	}
	if err == nil {
		err = root.startAdapter(attempt)
	}
	if err == nil && ended {
		for _, b := range planned {
			root.debugger.Unplan(b)
		}
	}
	s.tree.mu.Lock()
	root.relaunches.underway = false
	if err != nil && root.state == StateLaunching {
		root.state, root.ended = StateTerminated, err
		s.tree.announceLocked()
	}
	s.tree.mu.Unlock()
	return err
}

// restartsByRequestLocked reports whether the adapter can restart the program itself. tree.mu is held.
func (d *debuggee) restartsByRequestLocked() bool {
	return d.caps.SupportsRestartRequest && d.state != StateTerminated && d.adapter != nil && d.adapter.configured && d.starting == nil
}

// reserveRelaunchLocked reserves the start of another adapter, unless the session must not be launched again. tree.mu is held.
func (d *debuggee) reserveRelaunchLocked(ctx context.Context) (*startAttempt, error) {
	switch {
	case d.start.Address != "" && d.state == StateTerminated:
		return nil, fmt.Errorf("%w: gjc did not start the adapter at %s and cannot restart it; attach to it", ErrTerminated, d.start.Address)
	case d.start.Request == "attach":
		// The program would have to be killed, and its process ID may belong to another process.
		return nil, unsupported("restart of a program that was attached to")
	}
	return d.reserveStartLocked(ctx)
}

// prepareRestartLocked records that the program is to be restarted by request. tree.mu is held.
func (a *adapter) prepareRestartLocked() {
	d, t := a.debuggee, a.debuggee.tree
	t.waitFrom = t.stops
	if d.state == StateStopped {
		t.history.record(d.exec.cache)
		d.runLocked(0, true)
	}
	d.relaunches.underway = false
	a.restarting = true
	d.exitCode = nil
	if a.exitTimer != nil {
		a.exitTimer.Stop()
		a.exitTimer = nil
	}
}

// restart sends the restart request.
func (a *adapter) restart(ctx context.Context) error {
	t := a.debuggee.tree
	err := a.do(ctx, "restart", map[string]any{"arguments": a.debuggee.start.Arguments}, nil)
	if err != nil {
		t.mu.Lock()
		a.restarting = false
		t.mu.Unlock()
	}
	return err
}
