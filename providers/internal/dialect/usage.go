package dialect

import "github.com/gajae-code/gjc/providers"

// A UsageTeller reports the usage of one answer while it streams. The zero value is ready for use.
type UsageTeller struct {
	begun bool
	told  providers.Usage
}

// Tell yields u, the usage so far, if it has changed, and always the first time, which reports that the answer has begun. It
// reports whether to continue.
func (t *UsageTeller) Tell(u providers.Usage, yield func(providers.Event, error) bool) bool {
	if t.begun && u == t.told {
		return true
	}
	t.begun, t.told = true, u
	return yield(providers.UsageSoFar{Usage: u}, nil)
}
