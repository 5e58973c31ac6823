package lsp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// attempt is one try to bring the server up, with all who wait for it.
type attempt struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when life or err is set
	life   *life
	err    error
}

// ready returns a process that has answered initialize; it starts one where there is none, and waits for it.
func (s *Server) ready(ctx context.Context) (*life, error) {
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
			return nil, fmt.Errorf("%w, /lsp restart tries again: %w", ErrServerFailed, err)
		case StateReady:
			l := s.last
			s.mu.Unlock()
			if !l.isOver() {
				return l, nil
			}
			select { // its end is being taken note of
			case <-l.noted:
			case <-ctx.Done():
			}
			continue
		case StateIdle, StateStarting, StateRestarting:
		}
		a := s.needLocked()
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

// needLocked begins an attempt where none is under way. s.mu is held; the server is neither ready nor closed.
func (s *Server) needLocked() *attempt {
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
		s.try(ctx, a)
	})
	return a
}

// try makes an attempt: after the pause that is due, and when the process before is gone.
func (s *Server) try(ctx context.Context, a *attempt) {
	s.mu.Lock()
	before, pause := s.last, time.Until(s.notBefore)
	s.mu.Unlock()
	l, err := (*life)(nil), error(nil)
	if before != nil {
		<-before.noted // its end is bounded
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
		l, err = s.launch(ctx)
	}
	s.mu.Lock()
	s.attempt = nil
	a.life, a.err = l, err
	notice := ""
	switch {
	case s.state == StateClosed:
		if l != nil {
			l.want(ErrClosed)
		}
		a.err = fmt.Errorf("%s: %w", s.Name(), ErrClosed)
	case err == nil:
		s.state, s.last = StateReady, l
		s.settleFoldersLocked(l)
	case errors.Is(err, errStopped):
		s.state = StateIdle
	default:
		notice = s.failLocked(err)
	}
	if l != nil {
		s.work.Go(func() { s.watch(l) })
	}
	if s.state == StateClosed && l != nil {
		s.work.Go(func() { _ = l.end(context.Background(), false) })
	}
	s.mu.Unlock()
	close(a.done)
	if notice != "" {
		s.opts.Notice(notice, "")
	}
}

// failLocked takes note of a start or a life that came to nothing, and begins the next attempt where documents are held.
// It returns what the user should be told. s.mu is held.
func (s *Server) failLocked(err error) (notice string) {
	s.failures++
	s.lastErr = err
	if s.failures > len(s.opts.Backoff) {
		s.state = StateFailed
		return s.warn("was given up after %d attempts. /lsp shows why, /lsp restart tries again.", s.failures)
	}
	s.state, s.notBefore = StateRestarting, time.Now().Add(s.opts.Backoff[s.failures-1])
	if s.docs.held() {
		s.needLocked()
	}
	if s.failures == 1 {
		return s.warn("is not available; trying again. /lsp shows why.")
	}
	return ""
}

// optional is a server that many have as a part of something else and that does not start as often as not. Nobody is
// warned of that.
const optional = "rust-analyzer"

// warn words what the user is told of a failure: not the server's own words, which are for those who ask for them.
func (s *Server) warn(format string, args ...any) string {
	if s.Name() == optional && s.last == nil {
		return ""
	}
	return "The language server " + s.Name() + " " + fmt.Sprintf(format, args...)
}

// watch takes note of the end of a process.
func (s *Server) watch(l *life) {
	select {
	case <-l.conn.Closing():
	case <-l.proc.Done():
	}
	wanted := l.wanted() != nil
	if !wanted {
		ctx, cancel := context.WithTimeout(context.Background(), maxClose)
		if err := l.end(ctx, false); err != nil {
			s.opts.Log.Error().Str("server", s.Name()).Err(err).Msg("lsp: a server can not be killed")
		}
		cancel()
	} else {
		<-l.over
	}
	s.mu.Lock()
	notice, err := "", l.death()
	if s.state == StateReady && s.last == l {
		if time.Since(l.started) >= stableAfter {
			s.failures = 0
		}
		notice = s.failLocked(err)
	}
	close(l.noted)
	s.mu.Unlock()
	s.docs.wake()
	if notice != "" {
		s.opts.Notice(notice, "")
	}
}

// stop ends the process, or the attempt to start one, and waits for that.
func (s *Server) stop(ctx context.Context) error {
	s.mu.Lock()
	a, l := s.attempt, s.last
	switch {
	case s.state == StateClosed:
		s.mu.Unlock()
		return fmt.Errorf("%s: %w", s.Name(), ErrClosed)
	case a != nil:
		a.cancel(errStopped)
	case s.state == StateReady:
		s.state = StateIdle // nobody gets it any more
		l.want(errStopped)
	default:
		l = nil
	}
	s.mu.Unlock()
	var over <-chan struct{}
	switch {
	case a != nil:
		over = a.done
	case l != nil:
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxClose)
		defer cancel()
		if err := l.end(bye, true); err != nil {
			return err
		}
		over = l.noted
	default:
		return nil
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
