// Package budget bounds what helper agents use: requests, tokens, cost and time.
package budget

import (
	"strconv"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Limits are the bounds of a [Usage]. A bound of zero is none.
type Limits struct {
	Requests int
	// Tokens excludes those read from a cache.
	Tokens int
	// Cost is in US dollars. Requests of unknown price cost nothing.
	Cost float64
	Time time.Duration
}

// Usage holds the amounts that helpers have used.
type Usage struct {
	Requests, Tokens int
	Cost             float64
	Time             time.Duration
}

// Exceeded returns the first bound that a usage has reached, for a model: "1500 tokens"; empty for none.
func (l *Limits) Exceeded(u *Usage) string {
	switch {
	case l.Requests > 0 && u.Requests >= l.Requests:
		return text.Count(l.Requests, "request")
	case l.Tokens > 0 && u.Tokens >= l.Tokens:
		return text.Count(l.Tokens, "token")
	case l.Cost > 0 && u.Cost >= l.Cost:
		return "$" + strconv.FormatFloat(l.Cost, 'f', -1, 64)
	case l.Time > 0 && u.Time >= l.Time:
		return l.Time.String()
	default:
		return ""
	}
}

// add adds the usage of requests.
func (u *Usage) add(requests int, used *providers.Usage, price *providers.Price) {
	u.Requests += requests
	u.Tokens += used.Input + used.CacheWrite + used.Output
	u.Cost = providers.RoundUSD(u.Cost + price.Total)
}

// Of returns the sum of uses, without their time.
func Of(uses []sessions.Use) Usage {
	var u Usage
	for i := range uses {
		u.add(uses[i].Requests, &uses[i].Usage, &uses[i].Price)
	}
	return u
}

// Meter measures the usage of all helpers of a session. Its time is that during which at least one of them works. The zero Meter is
// ready for use. It is safe for concurrent use.
type Meter struct {
	mu     sync.Mutex // guards the fields below
	used   Usage
	active int
	since  time.Time // when the first of the active helpers began
}

// Begin records that a helper begins to work.
func (m *Meter) Begin(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active++; m.active == 1 {
		m.since = now
	}
}

// End records that a helper has ended its work.
func (m *Meter) End(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active--; m.active == 0 {
		m.used.Time += now.Sub(m.since)
	}
}

// Add adds the usage of requests.
func (m *Meter) Add(u *sessions.SideUsage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used.add(max(u.Requests, 1), &u.Usage, &u.Price)
}

// Usage returns the usage so far.
func (m *Meter) Usage(now time.Time) Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.used
	if m.active > 0 {
		u.Time += now.Sub(m.since)
	}
	return u
}
