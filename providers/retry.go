package providers

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// RetryPolicy decides whether to retry a failed model call and how long to wait first. The zero value is a good policy.
type RetryPolicy struct {
	// Attempts is the number of times that a request is sent, including the first. If zero, 4.
	Attempts int
	// Base is the wait before the second attempt; every further wait is twice as long. If zero, two seconds.
	Base time.Duration
	// Max bounds a wait that the provider did not ask for, before Jitter. If zero, 30 seconds.
	Max time.Duration
	// MaxAsked bounds a wait that the provider asks for. A longer one makes the call fail at once. If zero, five minutes.
	MaxAsked time.Duration
	// Jitter returns a number in [0, 1) that lengthens waits by up to a quarter. If nil, the number is random.
	Jitter func() float64
	// Now is the clock for limits that end at a given time. If nil, [time.Now].
	Now func() time.Time
}

// Next reports whether to send the request again after it has failed failed times in a row, and how long to wait first. It does not
// retry after a nil error, the end of a context, or an error that is not an [*Error].
func (p RetryPolicy) Next(failed int, err error) (wait time.Duration, again bool) {
	e, ok := errors.AsType[*Error](err)
	if !ok || !e.Retryable() || failed >= p.Tries() {
		return 0, false
	}
	if asked := p.Asked(e); asked > 0 {
		return asked, asked <= orDefault(p.MaxAsked, 5*time.Minute)
	}
	most := orDefault(p.Max, 30*time.Second)
	wait = orDefault(p.Base, 2*time.Second)
	for range failed - 1 {
		if wait >= most {
			break
		}
		wait *= 2
	}
	jitter := p.Jitter
	if jitter == nil {
		jitter = rand.Float64
	}
	// Jitter never makes a wait shorter than the configured one.
	wait = min(wait, most)
	return wait + time.Duration(jitter()*float64(wait/4)), true
}

// Wait waits for d. It returns ctx's cause when ctx ends first.
func (p RetryPolicy) Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Tries returns how often a request is sent altogether.
func (p RetryPolicy) Tries() int { return orDefault(p.Attempts, 4) }

// Asked returns how long the provider asks to wait before the next request, even if that exceeds MaxAsked. It returns zero if err is
// not an [*Error] or requests no wait.
func (p RetryPolicy) Asked(err error) time.Duration {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return 0
	}
	if e.RetryAfter > 0 {
		return e.RetryAfter
	}
	if e.ResetsAt.IsZero() {
		return 0
	}
	now := p.Now
	if now == nil {
		now = time.Now
	}
	return max(e.ResetsAt.Sub(now()), 0)
}

func orDefault[T int | time.Duration](v, zero T) T {
	if v == 0 {
		return zero
	}
	return v
}
