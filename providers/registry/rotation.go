package registry

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/gajae-code/gjc/providers"
)

// A keyRing rotates the keys of one provider. It keeps a key until the provider refuses or limits it, because the provider's caches
// belong to a key. It is safe for concurrent use.
type keyRing struct {
	now func() time.Time

	mu      sync.Mutex // guards the fields below
	keys    []string
	current int
	// resting holds the times until which keys are not used.
	resting map[string]time.Time
}

// How long a key rests after it was refused, and after it was limited if the provider does not specify a time.
const (
	refusedRest = 15 * time.Minute
	limitedRest = time.Minute
)

func newKeyRing(keys []string, now func() time.Time) *keyRing {
	if now == nil {
		now = time.Now
	}
	return &keyRing{now: now, keys: keys, resting: map[string]time.Time{}}
}

// pick returns the key to use: the current one, else the next one that does not rest, else the one whose rest ends first.
func (k *keyRing) pick() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	now, best := k.now(), k.current
	for i := range k.keys {
		at := (k.current + i) % len(k.keys)
		until := k.resting[k.keys[at]]
		if !until.After(now) {
			best = at
			break
		}
		if until.Before(k.resting[k.keys[best]]) {
			best = at
		}
	}
	k.current = best
	return k.keys[best]
}

// rest stops using a key because of err, and reports whether another one can be used.
func (k *keyRing) rest(key string, err *providers.Error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	until := now.Add(limitedRest)
	switch {
	case err.Kind == providers.KindAuth:
		until = now.Add(refusedRest)
	case err.RetryAfter > 0:
		until = now.Add(err.RetryAfter)
	case err.ResetsAt.After(now):
		until = err.ResetsAt
	}
	k.resting[key] = until
	for _, other := range k.keys {
		if !k.resting[other].After(now) {
			return true
		}
	}
	return false
}

// rotates returns err as an [*providers.Error], and reports whether another key may succeed.
func rotates(err error) (*providers.Error, bool) {
	e, ok := errors.AsType[*providers.Error](err)
	if !ok {
		return nil, false
	}
	switch e.Kind {
	case providers.KindAuth, providers.KindRateLimit, providers.KindQuota:
		return e, e.Status != 0
	default:
		return nil, false
	}
}

// rotating is a model that retries with the next key if one is refused or limited. It does not retry after output has begun.
type rotating struct {
	info providers.ModelInfo
	ring *keyRing
	open func(key string) (providers.Model, error)

	mu     sync.Mutex // guards models
	models map[string]providers.Model
}

// Info implements [providers.Model].
func (m *rotating) Info() providers.ModelInfo { return m.info }

// with returns the model that uses a key.
func (m *rotating) with(key string) (providers.Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if model := m.models[key]; model != nil {
		return model, nil
	}
	model, err := m.open(key)
	if err != nil {
		return nil, err
	}
	if m.models == nil {
		m.models = map[string]providers.Model{}
	}
	m.models[key] = model
	return model, nil
}

// Stream implements [providers.Model]. It tries each key at most once: a key that rests for less time than a request takes would
// otherwise make it loop forever.
func (m *rotating) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	return func(yield func(providers.Event, error) bool) {
		tried := map[string]bool{}
		for again := true; again; {
			key := m.ring.pick()
			tried[key] = true
			model, err := m.with(key)
			if err != nil {
				yield(nil, err)
				return
			}
			again = false
			begun := false
			for ev, err := range model.Stream(ctx, req) {
				if err != nil && !begun {
					if e, ok := rotates(err); ok && m.ring.rest(key, e) && !tried[m.ring.pick()] && ctx.Err() == nil {
						again = true
						break
					}
				}
				begun = begun || ev != providers.UsageSoFar{} // an empty usage carries no output
				if !yield(ev, err) {
					return
				}
			}
		}
	}
}
