package budget_test

import (
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent/budget"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// The time of a meter is that during which at least one helper works. Usage without a number of requests is that of one.
func TestMeter(t *testing.T) {
	var m budget.Meter
	at := func(minutes int) time.Time { return time.Unix(0, 0).Add(time.Duration(minutes) * time.Minute) }
	m.Begin(at(0))
	m.Begin(at(1))
	m.End(at(2))
	if got := m.Usage(at(3)).Time; got != 3*time.Minute {
		t.Errorf("while one works it is %v", got)
	}
	m.End(at(4))
	if got := m.Usage(at(9)).Time; got != 4*time.Minute {
		t.Errorf("then it is %v", got)
	}
	m.Begin(at(10))
	m.Add(&sessions.SideUsage{Usage: providers.Usage{Input: 5, CacheRead: 100, CacheWrite: 2, Output: 3}, Price: providers.Price{Total: 0.5}})
	m.Add(&sessions.SideUsage{Requests: 2})
	if got, want := m.Usage(at(11)), (budget.Usage{Requests: 3, Tokens: 10, Cost: 0.5, Time: 5 * time.Minute}); got != want {
		t.Errorf("the usage is %+v, want %+v", got, want)
	}
}

// The first bound that is reached is named. A bound of zero is none.
func TestExceeded(t *testing.T) {
	u := budget.Usage{Requests: 3, Tokens: 10, Cost: 0.5, Time: time.Minute}
	for _, tt := range []struct {
		limits budget.Limits
		want   string
	}{
		{budget.Limits{}, ""},
		{budget.Limits{Requests: 4, Tokens: 11, Cost: 0.6, Time: time.Hour}, ""},
		{budget.Limits{Requests: 3}, "3 requests"},
		{budget.Limits{Tokens: 1}, "1 token"},
		{budget.Limits{Requests: 9, Cost: 0.125}, "$0.125"},
		{budget.Limits{Time: time.Minute}, "1m0s"},
	} {
		if got := tt.limits.Exceeded(&u); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.limits, got, tt.want)
		}
	}
}
