package proc

import (
	"context"
	"fmt"
	"time"
)

// Shutdown ends the process in steps and returns when nothing of it is left:
//
//  1. goodbye, if not nil, ends the protocol (LSP shutdown and exit, DAP disconnect). It must end with its context; its error is
//     ignored.
//  2. stdin is closed.
//  3. The group is asked to end (SIGTERM; also SIGHUP on a pseudo-terminal). Windows has no such step.
//  4. The group is killed.
//
// Options.Grace bounds each step. Steps without an effect on the process are skipped; when ctx ends, the last step follows at once.
// The rest of the group is killed as soon as the leader has ended. A second Shutdown waits for the first and does not call its
// goodbye. The only error is that the kill did not end the process in time.
func (p *Process) Shutdown(ctx context.Context, goodbye func(context.Context) error) error {
	if p.beginShutdown() {
		p.runShutdown(ctx, goodbye)
	} else {
		select {
		case <-p.cleaned:
			return nil
		case <-ctx.Done():
		}
	}
	return p.killAndWait()
}

// Terminate asks the group of the process and all processes with its mark to end (SIGTERM; also SIGHUP on a pseudo-terminal), and
// kills the rest after grace, or when ctx ends. Unlike [Process.Shutdown], it gives that time to all of them, even after the end of
// the leader. On Windows it kills at once. It returns when no process is left; the only error is that the kill did not end them in
// time. If another Terminate or a Shutdown is under way, it waits for that.
func (p *Process) Terminate(ctx context.Context, grace time.Duration) error {
	if p.beginShutdown() {
		t := time.NewTimer(p.group.limitGrace(grace))
		defer t.Stop()
		if ctx.Err() == nil && p.terminate(true) == nil {
			select {
			case <-p.cleaned:
				return nil
			case <-p.killing:
			case <-t.C:
			case <-ctx.Done():
			}
		}
	} else {
		select {
		case <-p.cleaned:
			return nil
		case <-ctx.Done():
		}
	}
	return p.killAndWait()
}

func (p *Process) killAndWait() error {
	p.Kill()
	t := time.NewTimer(max(p.opts.Grace, killGrace) + 2*p.opts.DrainQuiet)
	defer t.Stop()
	select {
	case <-p.cleaned:
		return nil
	case <-t.C:
	}
	return fmt.Errorf("%s (process %d) is still running after it was killed", p.name, p.PID())
}

// killGrace is the minimum time for a process to end after a kill. It is long only for a busy machine.
const killGrace = 2 * time.Second

// beginShutdown reports whether the caller is the first.
func (p *Process) beginShutdown() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.end.shutdownStarted
	p.end.shutdownStarted = true
	return first
}

func (p *Process) runShutdown(ctx context.Context, goodbye func(context.Context) error) {
	if p.ended() {
		return
	}
	if goodbye != nil {
		goodbyeCtx, cancel := context.WithTimeoutCause(ctx, p.opts.Grace, fmt.Errorf("timed out waiting for %s to answer", p.name))
		returned := make(chan struct{})
		go func() {
			defer close(returned)
			_ = goodbye(goodbyeCtx)
		}()
		select {
		case <-returned:
		case <-p.done:
		case <-goodbyeCtx.Done():
		}
		cancel()
	}
	if p.stdin != nil {
		// In the background: closing a pipe can block during a write on Windows.
		go func() { _ = p.stdin.Close() }()
		if p.awaitEnd(ctx, p.opts.Grace) {
			return
		}
	} else if goodbye != nil && p.awaitEnd(ctx, p.opts.Grace) {
		return
	}
	if ctx.Err() == nil && p.terminate(false) == nil {
		p.awaitEnd(ctx, p.opts.Grace)
	}
}

// ended reports whether the leader has ended.
func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// awaitEnd waits for the end of the leader and reports whether it came in time.
func (p *Process) awaitEnd(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}
