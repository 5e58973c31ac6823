package dap

import (
	"context"
	"errors"
	"fmt"
)

// beginning is a life of a session that is to come: from the wish for it until it is there or has failed. Who wants the end
// of the session meanwhile cancels it and waits for it, so that no program is started behind the back of somebody who has
// ended its session.
type beginning struct {
	ctx    context.Context //nolint:containedctx // whoever wants the end has to reach it
	cancel context.CancelCauseFunc
	done   chan struct{}
}

var (
	errEndedEarly = errors.New("it was ended during its start")
	errBegins     = errors.New("it is being started already; wait for it, or terminate it")
)

// reserve makes the caller the one who gives the session its next life. It must call settle then.
func (s *Session) reserve(ctx context.Context) (*beginning, error) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.reserveLocked(ctx)
}

func (s *Session) reserveLocked(ctx context.Context) (*beginning, error) {
	if s.beginning != nil {
		return nil, fmt.Errorf("%s: %w", s.id, errBegins)
	}
	b := &beginning{done: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancelCause(ctx)
	s.beginning = b
	return b, nil
}

// first gives a session its first life.
func (s *Session) first(ctx context.Context) error {
	b, err := s.reserve(ctx)
	if err != nil {
		return err
	}
	defer s.settle(b)
	if err := s.begin(b); err != nil {
		s.lose(err)
		return err
	}
	return nil
}

// settle tells those who wait that the life is there, or will not be. What the session is then must be known before.
func (s *Session) settle(b *beginning) {
	s.tree.mu.Lock()
	s.beginning = nil
	s.tree.mu.Unlock()
	b.cancel(nil)
	close(b.done)
}

// finish ends the session, also one that begins, and waits for that. why is nil where the user wants it.
func (s *Session) finish(ctx context.Context, why error, how finishing) error {
	for {
		s.tree.mu.Lock()
		b := s.beginning
		s.tree.mu.Unlock()
		if b == nil {
			return s.end(ctx, why, how)
		}
		if why == nil {
			b.cancel(errEndedEarly)
		} else {
			b.cancel(fmt.Errorf("%w: %w", errEndedEarly, why))
		}
		select {
		case <-b.done:
		case <-ctx.Done():
			return fmt.Errorf("the start of %s does not end: %w", s.id, context.Cause(ctx))
		}
	}
}
