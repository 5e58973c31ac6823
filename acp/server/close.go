package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
)

// sessionCloseTimeout bounds how long a turn may clean up when its session is closed.
const sessionCloseTimeout = 5 * time.Second

// ending coordinates the closing of a session.
type ending struct {
	once sync.Once
	done chan struct{} // closed when the session is closed and finish has returned
	err  error         // set before done is closed
	// hurry cancels ctx, which bounds the closing, as soon as the context of any waiting caller ends.
	ctx   context.Context //nolint:containedctx // bounds the closing of the session, for all who wait for it
	hurry context.CancelCauseFunc

	mu       sync.Mutex // guards the fields below
	finish   func()     // runs when the session is closed
	finished bool       // finish can no longer be set
}

func (e *ending) init() {
	e.done = make(chan struct{})
	e.ctx, e.hurry = context.WithCancelCause(context.Background())
}

// then makes fn run when the session is closed, before another session with its ID can be opened. It returns false if the session
// is already closed or another function was set.
func (e *ending) then(fn func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.finished || e.finish != nil {
		return false
	}
	e.finish = fn
	return true
}

// takeFinish returns the function that runs when the session is closed, and refuses others.
func (e *ending) takeFinish() func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.finished = true
	return e.finish
}

// close ends the session and waits until it is closed or ctx ends. A session that is still being opened is closed as soon as
// it is open, even after ctx ends. If close is called several times, the context that ends first counts.
func (s *session) close(ctx context.Context) error {
	e := &s.ending
	e.once.Do(func() {
		go func() { // ends once the session has been opened, or has failed to open, and is closed
			defer close(e.done)
			if f := s.followed.Load(); f != nil {
				f.Stop()
			}
			<-s.done
			e.err = s.end()
			if finish := e.takeFinish(); finish != nil {
				finish()
			}
		}()
	})
	stop := context.AfterFunc(ctx, func() { e.hurry(context.Cause(ctx)) })
	defer stop()
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
	}
	select {
	case <-s.done:
		<-e.done // bounded by e.ctx
		return e.err
	default:
		return context.Cause(ctx)
	}
}

// end closes everything that the session consists of.
func (s *session) end() error {
	o := s.ready()
	if o == nil {
		return nil
	}
	ctx := s.ending.ctx
	// A client that does not read delays the session's events, but must not delay its end.
	stop := context.AfterFunc(ctx, s.out.close)
	defer stop()
	err := o.Close(ctx)
	s.relay.Close(ctx)
	if o.tools.extensions != nil {
		o.tools.extensions.Close(ctx)
	}
	if o.debugger != nil {
		err = errors.Join(err, o.debugger.Sessions.Close(ctx))
	}
	if o.bridges.Close != nil {
		o.bridges.Close(ctx)
	}
	proc.Sweep(s.mark)
	s.out.close()
	if o.languages != nil {
		o.languages.Close()
	}
	if set := o.tools.close(); set != nil {
		err = errors.Join(err, set.Close(ctx))
	}
	return err
}
