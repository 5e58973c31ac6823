package testenv

import "testing"

// NeedsWatchpoints skips the test if the processor does not stop a program at a hardware watchpoint: on some virtual machines
// the debug registers can be set without effect, and a debugger cannot detect it. As nothing can be installed to change that,
// it skips in a strict run too.
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
