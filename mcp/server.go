package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// stableAfter is how long a connection must have lived for its loss to begin the attempts anew. Without it a
	// server that dies right after each start would be started for ever.
	stableAfter = 30 * time.Second
	// maxGoodbye bounds the end of one connection when nobody else does.
	maxGoodbye = 3 * time.Second
	// maxWaitForServer is how long a call waits for a server that is about to be connected.
	maxWaitForServer = 10 * time.Second
)

// server is one entry of a set. Its owner goroutine (run) is the only one that changes what mu guards.
type server struct {
	set     *Set
	index   int
	spec    Server
	secrets *redactor
	// settled is closed when the server has connected or failed for the first time.
	settled chan struct{}
	// wake asks the owner for a new connection now.
	wake chan struct{}
	// channel is the connection over the editor's channel, for its notifications.
	channel atomic.Pointer[channelConn]
	// unasked is set when the user was told of questions that belong to no call.
	unasked atomic.Bool

	mu      sync.Mutex // guards what follows
	state   State
	moved   chan struct{} // closed and replaced when state changes
	lastErr error
	conn    *connection // nil unless connected
	lists   lists
	stderr  *proc.Tail
	odd     string // the last complaints about its tools
	strayed bool   // the user was told of stray output
	// legacy is set when the server broke the connection over the stateless protocol.
	legacy bool
	rate   noticeRate
}

func newServer(set *Set, spec Server, invalid error) *server {
	s := &server{
		set: set, index: len(set.servers), spec: spec, secrets: newRedactor(&spec),
		settled: make(chan struct{}), wake: make(chan struct{}, 1), moved: make(chan struct{}), state: StateWaiting,
	}
	if invalid != nil {
		s.state, s.lastErr = StateFailed, &invalidError{invalid}
	}
	return s
}

// initTimeout bounds the server's start and its lists.
func (s *server) initTimeout() time.Duration { return cmp.Or(s.spec.Timeout, s.set.opts.InitTimeout) }

// invalidError is an entry that no attempt will make better.
type invalidError struct{ err error }

func (e *invalidError) Error() string { return e.err.Error() }
func (e *invalidError) Unwrap() error { return e.err }

// errReconnect ends a connection that a user wants anew.
var errReconnect = errors.New("the server is being reconnected")

// run owns the server until the set is closed.
func (s *server) run() {
	ctx := s.set.ctx
	if err, ok := errors.AsType[*invalidError](s.lastErr); ok {
		s.tell("can not be used: "+err.Error(), nil)
		s.settle()
		s.set.changed()
		return
	}
	defer s.move(StateClosed, nil, nil)
	failures := 0
	for ctx.Err() == nil {
		s.move(StateConnecting, nil, nil)
		conn, err := s.dial(ctx)
		if err == nil {
			began := time.Now()
			err = s.serve(ctx, conn, failures > 0)
			if time.Since(began) >= stableAfter {
				failures = 0
			}
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errReconnect):
			failures = 0
			continue
		}
		failures++
		if !s.pause(ctx, err, failures) {
			failures = 0
		}
	}
}

// pause tells of a failure and waits for the next attempt. It reports false when the attempts begin anew.
func (s *server) pause(ctx context.Context, err error, failures int) bool {
	backoff := s.set.opts.Backoff
	var again <-chan time.Time
	if failures <= len(backoff) {
		t := time.NewTimer(backoff[failures-1])
		defer t.Stop()
		again = t.C
		s.move(StateRetrying, err, nil)
		if failures == 1 {
			s.tell("is not available; trying again", err)
		}
	} else {
		s.move(StateFailed, err, nil)
		s.tell(fmt.Sprintf("was given up after %d attempts", failures), err)
	}
	s.settle()
	s.set.noteCuts()
	select {
	case <-again:
		return true
	case <-s.wake:
	case <-ctx.Done():
	}
	return false
}

// serve uses a connection until it is lost, and ends it. The error says why it is over.
func (s *server) serve(ctx context.Context, c *connection, recovered bool) error {
	defer c.end()
	if err := c.list(ctx, listAll); err != nil {
		return err
	}
	s.move(StateConnected, nil, c)
	if recovered {
		s.tell("is connected again", nil)
	}
	s.settle()
	s.set.noteCuts()
	var again relists
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.wake:
			return errReconnect
		case <-c.dead:
			return c.explain(c.deathCause())
		case <-c.relist:
			again.want()
		case <-again.due:
			if err := c.list(ctx, listKind(c.stale.Swap(0))); err != nil {
				if c.isDead() || ctx.Err() != nil {
					again.done()
					continue
				}
				s.notice("did not list its tools", err)
			}
			again.done()
			s.set.changed()
			s.set.noteCuts()
		}
	}
}

// move changes the state and tells of it. conn is set with StateConnected only.
func (s *server) move(state State, err error, conn *connection) {
	s.mu.Lock()
	s.state, s.conn = state, conn
	if err != nil {
		s.lastErr = err
	}
	close(s.moved)
	s.moved = make(chan struct{})
	s.mu.Unlock()
	s.set.changed()
}

func (s *server) settle() {
	select {
	case <-s.settled:
	default:
		close(s.settled)
	}
}

// notice tells the user of something that the server can set off again and again, which is therefore bounded.
func (s *server) notice(what string, err error) {
	s.mu.Lock()
	ok, first := s.rate.take()
	s.mu.Unlock()
	switch {
	case ok:
		s.tell(what, err)
	case first:
		s.tell("gives cause for more notices than anybody can read; the others are in the log", nil)
	default:
		n := s.worded(what, err)
		s.set.opts.Log.Info().Str("server", n.Server).Str("detail", n.Detail).Msg("mcp: " + n.Text)
	}
}

// tell tells the user of a change of the server's state. How often there can be one is bounded by Backoff.
func (s *server) tell(what string, err error) { s.set.notice(s.worded(what, err)) }

// maxDetail bounds what a notice quotes, in bytes.
const maxDetail = 8 << 10

func (s *server) worded(what string, err error) Notice {
	n := Notice{Server: s.spec.Name, Text: fmt.Sprintf("The MCP server %s %s.", s.label(), s.secrets.text(what))}
	if err != nil {
		n.Detail = text.TruncateBytes(s.secrets.text(err.Error()), maxDetail)
	}
	return n
}

// label is the server's name for people.
func (s *server) label() string {
	if s.spec.Name == "" {
		return "without a name"
	}
	return text.TruncateBytes(s.spec.Name, 80)
}

// live returns the server's connection. While one is being made it waits for it, for a bounded time.
func (s *server) live(ctx context.Context) (*connection, error) {
	patience := time.NewTimer(maxWaitForServer)
	defer patience.Stop()
	for {
		s.mu.Lock()
		state, conn, moved, lastErr := s.state, s.conn, s.moved, s.lastErr
		s.mu.Unlock()
		switch state {
		case StateConnected:
			if !conn.isDead() {
				return conn, nil
			}
		case StateClosed:
			return nil, ErrClosed
		case StateFailed:
			return nil, s.unavailable(lastErr)
		case StateWaiting, StateConnecting, StateRetrying:
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.set.ctx.Done():
			return nil, ErrClosed
		case <-patience.C:
			return nil, s.unavailable(lastErr)
		}
	}
}

// ErrUnavailable is wrapped by the error of a call to a server that is not connected.
var ErrUnavailable = errors.New("is not connected")

func (s *server) unavailable(lastErr error) error {
	if lastErr == nil {
		return fmt.Errorf("the MCP server %s %w", s.label(), ErrUnavailable)
	}
	return fmt.Errorf("the MCP server %s %w: %w", s.label(), ErrUnavailable, lastErr)
}

// reconnect is [Set.Reconnect].
func (s *server) reconnect(ctx context.Context) error {
	s.mu.Lock()
	invalid, ok := errors.AsType[*invalidError](s.lastErr)
	state, moved := s.state, s.moved
	s.mu.Unlock()
	switch {
	case ok:
		return invalid
	case state == StateWaiting:
		return fmt.Errorf("the MCP server %s %w: it was never started", s.label(), ErrUnavailable)
	}
	if state != StateConnecting {
		select {
		case s.wake <- struct{}{}:
		default: // somebody else has asked too
		}
	}
	for first := true; ; first = false {
		if !first {
			s.mu.Lock()
			state, moved = s.state, s.moved
			err := s.lastErr
			s.mu.Unlock()
			switch state {
			case StateConnected:
				return nil
			case StateFailed, StateRetrying:
				return s.unavailable(err)
			case StateClosed:
				return ErrClosed
			case StateWaiting, StateConnecting:
			}
		}
		select {
		case <-moved:
		case <-s.set.ctx.Done():
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
