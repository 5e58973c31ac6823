package testenv

import "testing"

// LongWithRace skips a test in a run with the race detector, which would make it take minutes: it repeats much, or waits for programs that are
// not ours. The run without the detector has it.
func LongWithRace(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("it takes too long with the race detector; the run without has it")
	}
}
