package proc

import (
	"context"
	"fmt"
	"time"
)

// Shutdown ends the process by a ladder and returns when nothing of it is left:
//
//  1. goodbye, if not nil, says what the protocol wants said (LSP shutdown and exit, DAP disconnect). It must heed its
//     context; its error does not matter.
//  2. stdin is closed.
//  3. The group is asked to end (SIGTERM; also SIGHUP on a pseudo-terminal). Windows has no such step.
//  4. The group is killed.
//
// Each step is given Options.Grace; a step that the process can not notice is skipped, and so is the rest of the ladder
// up to the last step when ctx ends. The rest of the group is killed as soon as the leader is gone. A second Shutdown
// joins the first; its goodbye is not said. The only error is a process that even the kill did not end in time.
func (p *Process) Shutdown(ctx context.Context, goodbye func(context.Context) error) error {
	if p.climb() {
		p.descend(ctx, goodbye)
	} else {
		select {
		case <-p.gone:
			return nil
		case <-ctx.Done():
		}
	}
	return p.killAndWait()
}

// Terminate asks the group of the process, and what carries its mark, to end (SIGTERM; also SIGHUP on a pseudo-terminal), and kills
// what is left behind grace, or when ctx ends. Unlike with [Process.Shutdown], all of them have that time, also when the leader
// ends first, and nothing else is said. Windows has no way to ask. It returns when nothing of the process is left; the only error
// is one that even the kill did not end in time. Where another Terminate or a Shutdown is under way, it joins that.
func (p *Process) Terminate(ctx context.Context, grace time.Duration) error {
	if p.climb() {
		t := time.NewTimer(p.group.patience(grace))
		defer t.Stop()
		if ctx.Err() == nil && p.terminate(true) == nil {
			select {
			case <-p.gone:
				return nil
			case <-p.last:
			case <-t.C:
			case <-ctx.Done():
			}
		}
	} else {
		select {
		case <-p.gone:
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
	case <-p.gone:
		return nil
	case <-t.C:
	}
	return fmt.Errorf("%s (process %d) is still there after it was killed", p.name, p.PID())
}

// killGrace is how long a process has at least for dying by a kill, however short Options.Grace is: nothing but the system
// can keep it from that, and on a busy machine it takes its time.
const killGrace = 2 * time.Second

// climb reports that the caller is the first.
func (p *Process) climb() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.ladder
	p.ladder = true
	return first
}

func (p *Process) descend(ctx context.Context, goodbye func(context.Context) error) {
	if p.ended() {
		return
	}
	if goodbye != nil {
		bye, cancel := context.WithTimeoutCause(ctx, p.opts.Grace, fmt.Errorf("%s did not answer the goodbye", p.name))
		said := make(chan struct{})
		go func() {
			defer close(said)
			_ = goodbye(bye)
		}()
		select {
		case <-said:
		case <-p.done:
		case <-bye.Done():
		}
		cancel()
	}
	if p.stdin != nil {
		// Not waited for: closing a pipe can block behind a write on Windows.
		go func() { _ = p.stdin.Close() }()
		if p.within(ctx, p.opts.Grace) {
			return
		}
	} else if goodbye != nil && p.within(ctx, p.opts.Grace) {
		return
	}
	if ctx.Err() == nil && p.terminate(false) == nil {
		p.within(ctx, p.opts.Grace)
	}
}

// ended reports that the leader has ended.
func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// within waits for the leader's end and reports whether it came in time.
func (p *Process) within(ctx context.Context, d time.Duration) bool {
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
