package testenv

import "testing"

// NeedsWatchpoints skips the test if hardware watchpoints have no effect: on some virtual machines the debug registers can be set
// without stopping the program, and a debugger cannot detect that. It skips in a strict run too, because no installation can fix
// it.
func NeedsWatchpoints(t testing.TB) {
	t.Helper()
	works, err := watchpoints()
	if err != nil {
		Skip(t, "cannot check whether hardware watchpoints work: %v", err)
	}
	if !works {
		t.Skip("the debug registers of this machine's processor do nothing")
	}
}
