package dap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/permit"
)

const (
	// lastMessages is the time for which the last messages of an adapter may take to arrive after its process has ended.
	lastMessages = 250 * time.Millisecond
	// terminateGrace is the time for which a program may take to end after the terminate request.
	terminateGrace = 500 * time.Millisecond
	// exitGrace is the time for which an adapter may take to exit after the disconnect request.
	exitGrace = 300 * time.Millisecond
)

var errParentEnded = errors.New("its parent session has ended")

// requestStop makes watch end the adapter. If opts is nil, the options stay as they are.
func (a *adapter) requestStop(opts *endOptions) {
	a.debuggee.tree.mu.Lock()
	if opts != nil {
		a.ending.opts = *opts
	}
	a.debuggee.tree.mu.Unlock()
	a.stop()
}

func (a *adapter) stop() {
	a.stopOnce.Do(func() { close(a.stopping) })
}

// isStopping reports whether the adapter has begun to end. Resources that are added while tree.mu is held and the adapter is not
// stopping are released with it.
func (a *adapter) isStopping() bool {
	select {
	case <-a.stopping:
		return true
	default:
		return false
	}
}

// endAdapter ends the present adapter and waits for that. reason is nil if the user asked for it.
func (d *debuggee) endAdapter(ctx context.Context, reason error, opts endOptions) error {
	d.tree.mu.Lock()
	a := d.adapter
	if a == nil || d.state == StateTerminated {
		d.tree.mu.Unlock()
		return nil
	}
	if !a.ending.requested {
		a.ending.requested, a.ending.reason = true, reason
		if d.ended == nil {
			d.ended = reason
		}
	}
	d.tree.mu.Unlock()
	a.requestStop(&opts)
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		// Leave no process, even if the caller has no time left.
		if p := a.transport.proc; p != nil {
			p.Kill()
		}
		a.client.end(errHungUp)
	}
	t := time.NewTimer(maxClose)
	defer t.Stop()
	select {
	case <-a.done:
		return nil
	case <-t.C:
		return fmt.Errorf("timed out waiting for the debug adapter of %s to end: %w", d.id, context.Cause(ctx))
	}
}

// abandon ends an adapter that was not launched.
func (a *adapter) abandon() {
	a.stop()
	a.releaseTerminals()
	if p := a.transport.proc; p != nil {
		p.Kill()
		<-p.Done()
	}
	a.client.close()
	a.removeTemporary()
}

// removeTemporary removes the files that an adapter that was killed has left.
func (a *adapter) removeTemporary() {
	d := a.debuggee
	for _, path := range d.start.Temporary {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.debugger.opts.Log.Warn().Str("debug_session", d.id).Err(err).Msg("dap: cannot remove a temporary file")
		}
	}
}

// watch waits for the end of the adapter, for whatever reason, and releases everything.
func (a *adapter) watch() {
	a.waitForEnd()
	d := a.debuggee
	a.stop() // from here on no terminal or child is added
	d.tree.mu.Lock()
	expected, opts := a.ending.requested || a.programOver || d.failure != nil, a.ending.opts
	children := slices.Clone(d.children)
	d.tree.mu.Unlock()
	if !expected {
		err := a.endError()
		d.tree.mu.Lock()
		if d.ended == nil {
			d.ended = err
		}
		d.tree.mu.Unlock()
	}
	var all sync.WaitGroup
	for _, c := range children {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), opts.disconnect)
			defer cancel()
			_ = c.end(ctx, errParentEnded, endOptions{kill: opts.kill, disconnect: opts.disconnect}) // the child's adapter logs it
		})
	}
	all.Wait()
	a.disconnect(opts)
	a.releaseTerminals()
	if p := a.transport.proc; p != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 4*adapterGrace)
		if err := p.Shutdown(ctx, nil); err != nil {
			d.debugger.opts.Log.Error().Str("debug_session", d.id).Err(err).Msg("dap: cannot kill an adapter")
		}
		cancel()
	}
	a.client.close()
	a.removeTemporary()
	a.publishEnd()
}

// waitForEnd returns when the adapter is to end, has hung up or has exited.
func (a *adapter) waitForEnd() {
	var exited <-chan struct{}
	if a.transport.proc != nil {
		exited = a.transport.proc.Done()
	}
	select {
	case <-a.stopping:
	case <-a.client.done:
	case <-exited:
		t := time.NewTimer(lastMessages)
		defer t.Stop()
		select {
		case <-a.client.done:
		case <-a.stopping:
		case <-t.C:
		}
	}
}

// disconnect sends the disconnect request to a connected adapter, preceded by terminate if requested and supported.
func (a *adapter) disconnect(opts endOptions) {
	d := a.debuggee
	if a.client.closeError() != nil {
		return
	}
	d.tree.mu.Lock()
	caps, programOver := d.caps, a.programOver
	d.tree.mu.Unlock()
	ctx, cancel := context.WithTimeout(a.client.ctx, opts.disconnect)
	defer cancel()
	if opts.terminate && opts.kill && !programOver && caps.SupportsTerminateRequest {
		grace, cancel := context.WithTimeout(ctx, terminateGrace)
		if a.client.do(grace, "terminate", &godap.TerminateArguments{}, nil) == nil {
			select {
			case <-a.terminated:
			case <-grace.Done():
			}
		}
		cancel()
	}
	_ = a.client.do(ctx, "disconnect", &disconnectArguments{TerminateDebuggee: opts.kill}, nil) // the process is ended in any case
	if p := a.transport.proc; p != nil {
		t := time.NewTimer(exitGrace)
		defer t.Stop()
		select {
		case <-p.Done():
		case <-t.C:
		case <-ctx.Done():
		}
	}
}

// disconnectArguments always sends terminateDebuggee: its default depends on whether the adapter launched or attached.
type disconnectArguments struct {
	TerminateDebuggee bool `json:"terminateDebuggee"`
}

// releaseTerminals ends the programs that run in terminals and keeps their output.
func (a *adapter) releaseTerminals() {
	d := a.debuggee
	d.tree.mu.Lock()
	terminals := a.terminals
	a.terminals = nil
	d.tree.mu.Unlock()
	var all sync.WaitGroup
	for _, t := range terminals {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), maxClose)
			defer cancel()
			if text, err := t.Output(ctx); err == nil && text != "" {
				d.tree.addTerminalOutput(text)
			}
			if err := t.Release(ctx); err != nil {
				d.debugger.opts.Log.Warn().Str("debug_session", d.id).Err(err).Msg("dap: cannot release a terminal")
			}
		})
	}
	all.Wait()
}

// publishEnd records the end of the adapter, and starts another one if the program is to be restarted.
func (a *adapter) publishEnd() {
	d := a.debuggee
	t := d.tree
	t.mu.Lock()
	if a.exitTimer != nil {
		a.exitTimer.Stop()
	}
	d.exec.end()
	d.state = StateTerminated
	if d.relaunches.underway {
		d.state = StateLaunching
	}
	// An adapter that exits instead of restarting the program cannot restart it; another adapter can.
	again := !a.ending.requested && d.failure == nil &&
		(len(a.restartData) > 0 || a.restarting && d.start.Request == "launch" && d.start.Address == "")
	if d.relaunches.count++; again && d.relaunches.count > maxRelaunches {
		again, d.ended = false, errRelaunches
	}
	if t.root == d && !again && !d.relaunches.underway && t.idle.timer != nil {
		t.idle.timer.Stop()
	}
	var next *startAttempt
	if again && d.starting == nil {
		d.state, d.relaunches.data = StateLaunching, a.restartData
		next, _ = d.reserveStartLocked(permit.With(context.Background(), d.start.permit)) // no attempt is under way
	}
	close(a.done)
	t.announceLocked()
	t.mu.Unlock()
	if next != nil {
		d.relaunch(next)
	}
}
