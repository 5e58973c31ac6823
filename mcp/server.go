package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/mcp/oauth"
)

const (
	// stableAfter is the time for which a connection must last to reset the failures. Otherwise, a server that dies right after each start
	// would be restarted endlessly.
	stableAfter = 30 * time.Second
	// maxEnd bounds the end of a connection while the set is open.
	maxEnd = 3 * time.Second
	// maxWaitForServer bounds the time that a call waits for a server that is connecting.
	maxWaitForServer = 10 * time.Second
)

// server is one server of a set. Only its owner goroutine (run) modifies the fields that mu guards.
type server struct {
	set *Set
	// index identifies the server's tools among those of the set.
	index int
	// entry is the configuration, and spec is what the current connection uses: with the headers of a helper.
	entry, spec Server
	// invalid is why the entry cannot be used; nil if it can.
	invalid error
	lifetime
	private
	// channel is the connection over the editor's channel, for notifications.
	channel atomic.Pointer[channelConn]
	// reportedUnasked is set when the user was notified of a question that belongs to no call.
	reportedUnasked atomic.Bool

	mu            sync.Mutex // guards the fields below
	state         State
	stateChanged  chan struct{} // closed and replaced when state changes
	lastErr       error
	conn          *connection // nil unless connected
	lists         lists
	stderr        *proc.Tail
	complaints    string // the last notice about its tools
	reportedStray bool   // the user was notified of stray output
	// legacy is set if the server hangs up on a request of the stateless protocol.
	legacy bool
	rate   noticeRate
}

// private has what must not become known.
type private struct {
	secrets *redactor
	account *oauth.Account // nil for none
	// cached is the data in the cache, and stores counts how often it was stored. Only the owner uses them.
	cached []byte
	stores int
}

// lifetime has the signals to and from the owner of a server.
type lifetime struct {
	// ctx ends when the set is closed, and when the server is removed from it.
	ctx  context.Context //nolint:containedctx // bounds the owner
	stop context.CancelCauseFunc
	// attempted is closed when the server has connected or failed for the first time; offered is closed then or earlier, when its
	// former tools can be offered.
	attempted, offered chan struct{}
	// wake makes the owner reconnect immediately.
	wake chan struct{}
}

func newServer(set *Set, index int, spec Server, invalid error) *server {
	s := &server{
		set: set, index: index, entry: spec, spec: spec, invalid: invalid, private: private{secrets: newRedactor(&spec), account: Account(&spec, set.opts.Accounts)},
		lifetime: lifetime{attempted: make(chan struct{}), offered: make(chan struct{}), wake: make(chan struct{}, 1)}, stateChanged: make(chan struct{}), state: StateWaiting,
	}
	s.ctx, s.stop = context.WithCancelCause(set.ctx)
	if invalid != nil {
		s.state, s.lastErr = StateFailed, &invalidError{invalid}
	}
	return s
}

// initTimeout returns the bound of the server's start and its lists.
func (s *server) initTimeout() time.Duration {
	return cmp.Or(s.spec.StartTimeout, s.spec.Timeout, s.set.opts.InitTimeout)
}

// completeHeaders runs the helper for the headers of the next connection.
func (s *server) completeHeaders(ctx context.Context) error {
	if s.entry.HTTP == nil || s.entry.HTTP.Helper == nil {
		return nil
	}
	more, err := s.entry.HTTP.Helper.Run(ctx)
	if err != nil {
		return err
	}
	s.secrets.add(headerSecrets(more))
	http := *s.entry.HTTP
	http.Headers = slices.DeleteFunc(slices.Clone(http.Headers), func(h Header) bool {
		return slices.ContainsFunc(more, func(m Header) bool { return strings.EqualFold(m.Name, h.Name) })
	})
	http.Headers = append(http.Headers, more...)
	if err := checkHTTP(&http); err != nil {
		return fmt.Errorf("headersHelper: %w", err)
	}
	s.mu.Lock()
	s.spec.HTTP = &http
	s.mu.Unlock()
	return nil
}

// invalidError is the error for an invalid entry, which is not retried.
type invalidError struct{ err error }

func (e *invalidError) Error() string { return e.err.Error() }
func (e *invalidError) Unwrap() error { return e.err }

// errReconnect ends a connection that the user wants to replace.
var errReconnect = errors.New("the server is being reconnected")

// run owns the server until the set is closed.
func (s *server) run() {
	ctx := s.ctx
	if err, ok := errors.AsType[*invalidError](s.lastErr); ok {
		s.noticeState("cannot be used: "+err.Error(), nil)
		s.markAttempted()
		s.set.changed()
		return
	}
	defer s.setState(StateClosed, nil, nil)
	s.setState(StateConnecting, nil, nil) // before the tools of the cache are offered
	s.loadTools()
	failures := 0
	for ctx.Err() == nil {
		s.setState(StateConnecting, nil, nil)
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

// pause notifies the user of a failure and waits for the next attempt. It returns false if the failures must be reset.
func (s *server) pause(ctx context.Context, err error, failures int) bool {
	backoff := s.set.opts.Backoff
	var again <-chan time.Time
	switch {
	case errors.Is(err, oauth.ErrSignIn):
		s.setState(StateFailed, err, nil)
		s.noticeState("wants you to sign in: send /mcp login "+s.spec.Name, nil)
	case failures <= len(backoff):
		t := time.NewTimer(backoff[failures-1])
		defer t.Stop()
		again = t.C
		s.setState(StateRetrying, err, nil)
		if failures == 1 {
			s.noticeState("is not available; trying again", err)
		}
	default:
		s.setState(StateFailed, err, nil)
		s.noticeState(fmt.Sprintf("failed %d times; giving up: its tools are not offered until you send /mcp reconnect %s", failures, s.spec.Name), err)
	}
	s.markAttempted()
	s.set.noticeCuts()
	select {
	case <-again:
		return true
	case <-s.wake:
	case <-ctx.Done():
	}
	return false
}

// serve uses a connection until it is lost, and ends it. The error says why it has ended.
func (s *server) serve(ctx context.Context, c *connection, recovered bool) error {
	defer c.end()
	if err := c.list(ctx, listAll); err != nil {
		return err
	}
	s.setState(StateConnected, nil, c)
	if recovered {
		s.noticeState("is connected again", nil)
	}
	s.markAttempted()
	s.set.noticeCuts()
	var again relistPacer
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.wake:
			return errReconnect
		case <-c.done:
			return c.explain(c.closeError())
		case <-c.relist:
			again.schedule()
		case <-again.due:
			if err := c.list(ctx, listKind(c.stale.Swap(0))); err != nil {
				if c.isDone() || ctx.Err() != nil {
					again.done()
					continue
				}
				s.notice("did not list its tools", err)
			}
			again.done()
			s.set.changed()
			s.set.noticeCuts()
		}
	}
}

// setState changes the state and calls Options.Changed. conn is set for StateConnected only.
func (s *server) setState(state State, err error, conn *connection) {
	s.mu.Lock()
	s.state, s.conn = state, conn
	if err != nil {
		s.lastErr = err
	}
	close(s.stateChanged)
	s.stateChanged = make(chan struct{})
	s.mu.Unlock()
	s.set.changed()
}

func (s *server) markAttempted() {
	select {
	case <-s.attempted:
	default:
		close(s.attempted)
	}
	s.markOffered()
}

func (s *server) markOffered() {
	select {
	case <-s.offered:
	default:
		close(s.offered)
	}
}

// notice notifies the user, at a limited rate, because the server can cause any number of notices.
func (s *server) notice(what string, err error) {
	s.mu.Lock()
	ok, first := s.rate.allow()
	s.mu.Unlock()
	switch {
	case ok:
		s.noticeState(what, err)
	case first:
		s.noticeState("causes too many notices; the others are in the log", nil)
	default:
		n := s.newNotice(what, err)
		s.set.opts.Log.Info().Str("server", n.Server).Str("detail", n.Detail).Msg("mcp: " + n.Text)
	}
}

// noticeState notifies the user of a change of the server's state. It needs no rate limit, because the backoff limits how often the
// state changes.
func (s *server) noticeState(what string, err error) { s.set.notice(s.newNotice(what, err)) }

// maxDetail bounds the detail of a notice, in bytes.
const maxDetail = 8 << 10

func (s *server) newNotice(what string, err error) Notice {
	n := Notice{Server: s.spec.Name, Text: fmt.Sprintf("The MCP server %s %s.", s.label(), s.secrets.text(what))}
	if err != nil {
		n.Detail = text.TruncateBytes(s.secrets.text(err.Error()), maxDetail)
	}
	return n
}

// label returns the server's name for display.
func (s *server) label() string {
	if s.spec.Name == "" {
		return "without a name"
	}
	return text.TruncateBytes(s.spec.Name, 80)
}

// connected returns the server's connection. If one is being established, it waits for a bounded time.
func (s *server) connected(ctx context.Context) (*connection, error) {
	wait := maxWaitForServer
	select {
	case <-s.attempted:
	default: // a tool of the cache: the server has all the time of its start
		wait = max(wait, s.initTimeout())
	}
	patience := time.NewTimer(wait)
	defer patience.Stop()
	for {
		if s.ctx.Err() != nil {
			return nil, s.closedError()
		}
		s.mu.Lock()
		state, conn, stateChanged, lastErr := s.state, s.conn, s.stateChanged, s.lastErr
		s.mu.Unlock()
		switch state {
		case StateConnected:
			if !conn.isDone() {
				return conn, nil
			}
		case StateClosed:
			return nil, s.closedError()
		case StateFailed:
			return nil, s.unavailable(lastErr)
		case StateWaiting, StateConnecting, StateRetrying:
		}
		select {
		case <-stateChanged:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.ctx.Done():
			return nil, s.closedError()
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

// reconnect implements [Set.Reconnect].
func (s *server) reconnect(ctx context.Context) error {
	s.mu.Lock()
	invalid, ok := errors.AsType[*invalidError](s.lastErr)
	state, stateChanged := s.state, s.stateChanged
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
		default: // another request is pending
		}
	}
	for first := true; ; first = false {
		if !first {
			s.mu.Lock()
			state, stateChanged = s.state, s.stateChanged
			err := s.lastErr
			s.mu.Unlock()
			switch state {
			case StateConnected:
				return nil
			case StateFailed, StateRetrying:
				return s.unavailable(err)
			case StateClosed:
				return s.closedError()
			case StateWaiting, StateConnecting:
			}
		}
		select {
		case <-stateChanged:
		case <-s.ctx.Done():
			return s.closedError()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// closedError is the error of a call when the server has ended: with its set, or because it was removed.
func (s *server) closedError() error {
	if s.set.ctx.Err() == nil {
		return fmt.Errorf("the MCP server %s %w: %w", s.label(), ErrUnavailable, errRemoved)
	}
	return ErrClosed
}
