package dialect

import "github.com/gajae-code/gjc/providers"

// A UsageTeller tells of the usage of one answer while it comes. The zero value is ready.
type UsageTeller struct {
	begun bool
	told  providers.Usage
}

// Tell yields u, the usage so far, if it is not what was told last, and in any case the first time: that the answer has begun.
// It reports whether the answer goes on.
func (t *UsageTeller) Tell(u providers.Usage, yield func(providers.Event, error) bool) bool {
	if t.begun && u == t.told {
		return true
	}
	t.begun, t.told = true, u
	return yield(providers.UsageSoFar{Usage: u}, nil)
}
