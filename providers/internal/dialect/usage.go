package dialect

import "github.com/gajae-code/gjc/providers"

// A UsageReporter reports the usage of one answer while it streams. The zero value is ready for use.
type UsageReporter struct {
	begun bool
	last  providers.Usage
}

// Report yields u, the usage so far, if it has changed, and always the first time, which reports that the answer has begun. It
// reports whether to continue.
func (t *UsageReporter) Report(u providers.Usage, yield func(providers.Event, error) bool) bool {
	if t.begun && u == t.last {
		return true
	}
	t.begun, t.last = true, u
	return yield(providers.UsageSoFar{Usage: u}, nil)
}
