package lsp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// attempt is an attempt to start the process. Several callers may wait for it.
type attempt struct {
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when process or err is set
	process *process
	err     error
}

// ready returns an initialized process. It starts one if there is none, and waits for it.
func (s *Server) ready(ctx context.Context) (*process, error) {
	for {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", s.Name(), context.Cause(ctx))
		}
		s.mu.Lock()
		switch s.state {
		case StateClosed:
			s.mu.Unlock()
			return nil, fmt.Errorf("%s: %w", s.Name(), ErrClosed)
		case StateFailed:
			err := s.lastErr
			s.mu.Unlock()
			return nil, fmt.Errorf("%w; run /lsp restart to try again: %w", ErrServerFailed, err)
		case StateReady:
			ps := s.last
			s.mu.Unlock()
			if !ps.isEnding() {
				return ps, nil
			}
			select { // its end is being recorded
			case <-ps.exit.handled:
			case <-ctx.Done():
			}
			continue
		case StateIdle, StateStarting, StateRestarting:
		}
		a := s.startLocked()
		s.mu.Unlock()
		select {
		case <-a.done:
			if a.err != nil && !errors.Is(a.err, errStopped) {
				return nil, a.err
			}
		case <-ctx.Done():
		}
	}
}

// startLocked returns the attempt under way, or begins one. s.mu is held; the server is neither ready nor closed.
func (s *Server) startLocked() *attempt {
	if s.attempt != nil {
		return s.attempt
	}
	a := &attempt{done: make(chan struct{})}
	var ctx context.Context
	ctx, a.cancel = context.WithCancelCause(s.ctx)
	s.attempt = a
	if s.state == StateIdle {
		s.state = StateStarting
	}
	s.work.Go(func() {
		defer a.cancel(nil)
		s.runAttempt(ctx, a)
	})
	return a
}

// runAttempt starts the process after the end of the previous one and the backoff pause.
func (s *Server) runAttempt(ctx context.Context, a *attempt) {
	s.mu.Lock()
	before, pause := s.last, time.Until(s.notBefore)
	s.mu.Unlock()
	ps, err := (*process)(nil), error(nil)
	if before != nil {
		<-before.exit.handled // its end is bounded
	}
	if pause > 0 {
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
	if err = context.Cause(ctx); err == nil {
		ps, err = s.launch(ctx)
	}
	s.mu.Lock()
	s.attempt = nil
	a.process, a.err = ps, err
	notice := ""
	switch {
	case s.state == StateClosed:
		if ps != nil {
			ps.requestStop(ErrClosed)
		}
		a.err = fmt.Errorf("%s: %w", s.Name(), ErrClosed)
	case err == nil:
		s.state, s.last = StateReady, ps
		s.syncFoldersLocked(ps)
	case errors.Is(err, errStopped):
		s.state = StateIdle
	default:
		notice = s.failLocked(err)
	}
	if ps != nil {
		s.work.Go(func() { s.watch(ps) })
	}
	if s.state == StateClosed && ps != nil {
		s.work.Go(func() { _ = ps.end(context.Background(), false) })
	}
	s.mu.Unlock()
	close(a.done)
	if notice != "" {
		s.opts.Notice(notice, "")
	}
}

// failLocked records a failed start or an exit, and begins the next attempt if documents are held. It returns a notice for the
// user; empty for none. s.mu is held.
func (s *Server) failLocked(err error) (notice string) {
	s.failures++
	s.lastErr = err
	if s.failures > len(s.opts.Backoff) {
		s.state = StateFailed
		return s.warn("failed %d times. /lsp shows why, /lsp restart tries again.", s.failures)
	}
	s.state, s.notBefore = StateRestarting, time.Now().Add(s.opts.Backoff[s.failures-1])
	if s.docs.inUse() {
		s.startLocked()
	}
	if s.failures == 1 {
		return s.warn("is not available; trying again. /lsp shows why.")
	}
	return ""
}

// optional is a server that many users have installed but do not use, and that often cannot be started. gjc does not warn if its
// first start fails.
const optional = "rust-analyzer"

// warn returns a notice about a failure. It omits the error itself, which /lsp shows.
func (s *Server) warn(format string, args ...any) string {
	if s.Name() == optional && s.last == nil {
		return ""
	}
	return "The language server " + s.Name() + " " + fmt.Sprintf(format, args...)
}

// watch waits for the end of a process and records it.
func (s *Server) watch(ps *process) {
	select {
	case <-ps.conn.Closing():
	case <-ps.proc.Done():
	}
	if ps.stopReason() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), maxClose)
		if err := ps.end(ctx, false); err != nil {
			s.opts.Log.Error().Str("server", s.Name()).Err(err).Msg("lsp: cannot kill a server")
		}
		cancel()
	} else {
		<-ps.exit.done
	}
	s.mu.Lock()
	notice, err := "", ps.exitError()
	if s.state == StateReady && s.last == ps {
		if time.Since(ps.started) >= stableAfter {
			s.failures = 0
		}
		notice = s.failLocked(err)
	}
	close(ps.exit.handled)
	s.mu.Unlock()
	s.docs.notify()
	if notice != "" {
		s.opts.Notice(notice, "")
	}
}

// stop ends the process, or the attempt to start one, and waits for that.
func (s *Server) stop(ctx context.Context) error {
	s.mu.Lock()
	a, ps := s.attempt, s.last
	switch {
	case s.state == StateClosed:
		s.mu.Unlock()
		return fmt.Errorf("%s: %w", s.Name(), ErrClosed)
	case a != nil:
		a.cancel(errStopped)
	case s.state == StateReady:
		s.state = StateIdle // no call uses the process from here on
		ps.requestStop(errStopped)
	default:
		ps = nil
	}
	s.mu.Unlock()
	var done <-chan struct{}
	switch {
	case a != nil:
		done = a.done
	case ps != nil:
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxClose)
		defer cancel()
		if err := ps.end(end, true); err != nil {
			return err
		}
		done = ps.exit.handled
	default:
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
