// Package meter counts what the clients of "gjc serve" do, bounds it by the limits of their tokens, and writes it to the audit log.
//
// It reads the messages on their way between a client and its engine, and knows only their envelopes: methods, IDs, sessions and prices, no
// content.
package meter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/access"
)

// Options configures a [Meter].
type Options struct {
	// Audit receives one JSON object in each line, each in one write. If a write fails, the connection ends: what cannot be recorded is not
	// done. Optional.
	Audit io.Writer
	// Ledger keeps the costs of the day. Required if tokens can have a limit of cost.
	Ledger *Ledger
	// Counters are the metrics. Required.
	Counters *Counters
	// Clock is required.
	Clock func() time.Time
	// Log has the events of the audit log at the level info, for those who read one log only.
	Log zerolog.Logger
}

// Meter is that of a server. It is safe for concurrent use.
type Meter struct {
	opts  Options
	audit audit

	mu       sync.Mutex // guards the fields below
	tokens   map[string]*account
	draining bool
}

// account has what the connections of one token share.
type account struct {
	connections int
	sessions    map[string]int // the number of connections that have a session open
	requests    *rate.Limiter  // nil without a limit
	bytes       *rate.Limiter
}

// New returns a meter.
func New(opts Options) *Meter {
	return &Meter{opts: opts, audit: audit{w: opts.Audit, clock: opts.Clock, log: &opts.Log}, tokens: make(map[string]*account)}
}

// ErrLimit is wrapped by the errors about a limit of a token that is reached.
var ErrLimit = errors.New("a limit of your token is reached")

// ErrDraining is wrapped by the errors about work that is not begun any more.
var ErrDraining = errors.New("the server is shutting down; connect again in a moment")

// Drain lets no session and no turn begin from now on.
func (m *Meter) Drain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.draining = true
}

// Draining returns [ErrDraining] after [Meter.Drain].
func (m *Meter) Draining() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.draining {
		return ErrDraining
	}
	return nil
}

// Connect counts a new connection from a remote address. The caller calls [Connection.Serve] or [Connection.Close]. The error wraps [ErrLimit]
// if the token has as many connections as it may have.
func (m *Meter) Connect(id *access.Identity, remote string) (*Connection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.tokens[id.Token]
	if a == nil {
		a = &account{sessions: make(map[string]int)}
		m.tokens[id.Token] = a
	}
	// A token may have been made again with other limits.
	a.requests = limiter(a.requests, int64(id.Limits.Requests))
	a.bytes = limiter(a.bytes, id.Limits.Bytes)
	if most := id.Limits.Connections; most > 0 && a.connections >= most {
		return nil, fmt.Errorf("%w: %d connections; close one", ErrLimit, most)
	}
	a.connections++
	m.opts.Counters.add(metricConnections, "", 1)
	return newConnection(m, a, id, remote), nil
}

// limiter returns a limiter of events within a minute; nil for zero.
func limiter(old *rate.Limiter, perMinute int64) *rate.Limiter {
	if perMinute <= 0 {
		return nil
	}
	limit, burst := rate.Limit(float64(perMinute)/60), int(perMinute)
	if old != nil && old.Burst() == burst {
		return old
	}
	return rate.NewLimiter(limit, burst)
}

// leave is the end of a connection, which had sessions open.
func (m *Meter) leave(id *access.Identity, a *account, open []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range open {
		m.closeSession(a, s)
	}
	m.opts.Counters.add(metricConnections, "", -1)
	if a.connections--; a.connections == 0 && a.requests == nil && a.bytes == nil {
		delete(m.tokens, id.Token) // one with a limiter stays, so that connecting again does not reset it
	}
}

// room returns an error that wraps [ErrLimit] if the token may not open another session.
func (m *Meter) room(a *account, most int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if most > 0 && len(a.sessions) >= most {
		return fmt.Errorf("%w: %d sessions; close one", ErrLimit, most)
	}
	return nil
}

func (m *Meter) openSession(a *account, session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.sessions[session]++; a.sessions[session] == 1 {
		m.opts.Counters.add(metricSessions, "", 1)
	}
}

// closeSession forgets a session of a connection. The caller holds mu.
func (m *Meter) closeSession(a *account, session string) {
	if a.sessions[session]--; a.sessions[session] <= 0 {
		delete(a.sessions, session)
		m.opts.Counters.add(metricSessions, "", -1)
	}
}

// Refused records a request that was refused before it became a connection, by the name of the token if it is known.
func (m *Meter) Refused(id *access.Identity, remote string, reason error) error {
	m.opts.Counters.add(metricRefused, "", 1)
	e := &event{Event: "refused", Remote: remote, Outcome: reason.Error()}
	if id != nil {
		e.User, e.Token = id.User, id.Token
	}
	return m.audit.write(e)
}

// KeyRefused records a request to a model that had a wrong key of the gateway.
func (m *Meter) KeyRefused(user string, reason error) error {
	m.opts.Counters.add(metricRefused, "", 1)
	return m.audit.write(&event{Event: "refused", User: user, Method: "gateway", Outcome: reason.Error()})
}

// affordable returns an error that wraps [ErrLimit] if the token has spent its money of the day.
func (m *Meter) affordable(ctx context.Context, id *access.Identity) error {
	if id.Limits.Cost <= 0 {
		return nil
	}
	spent, err := m.opts.Ledger.spent(ctx, id.Token)
	if err != nil {
		return err
	}
	if spent >= id.Limits.Cost {
		return fmt.Errorf("%w: $%.2f a day; $%.2f are spent, and the day ends at midnight UTC", ErrLimit, id.Limits.Cost, spent)
	}
	return nil
}
