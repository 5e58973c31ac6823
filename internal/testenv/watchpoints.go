package testenv

import "testing"

// NeedsWatchpoints skips the test where the processor does not stop a program at a hardware watchpoint: on some virtual
// machines the debug registers can be set and nothing comes of it, and a debugger can not know. No run on such a machine can
// have them, so it skips in a strict run too.
func NeedsWatchpoints(t testing.TB) {
	t.Helper()
	works, err := watchpoints()
	if err != nil {
		Skip(t, "whether hardware watchpoints work can not be told: %v", err)
	}
	if !works {
		t.Skip("the debug registers of this machine's processor do nothing")
	}
}
