package sessions_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/sessions"
)

// A walk yields the branch since the last clear, whatever the length of its entries, without entries appended
// meanwhile.
func TestLog_Walk(t *testing.T) {
	s := newStore(t, unsynced)
	l := create(t, s)
	walked := func() (ids []string) {
		t.Helper()
		for e, err := range l.Walk() {
			if err != nil {
				t.Fatal(err)
			}
			if ids = append(ids, e.Ref().ID); len(ids) == 1 {
				appendMessage(t, l, user("meanwhile"))
			}
		}
		return ids
	}
	branch := func() (ids []string) {
		t.Helper()
		all, err := l.Branch()
		if err != nil {
			t.Fatal(err)
		}
		return idsOf(all)
	}
	if got := walked(); got != nil {
		t.Errorf("an empty session has %q", got)
	}
	for i := range 40 { // several parts of the file, one of them a single entry
		size := 100 << 10
		if i == 20 {
			size = 400 << 10
		}
		appendMessage(t, l, user(strings.Repeat("x", size)))
		appendEntry(t, l, sessions.ModeChange{Mode: "plan"})
	}
	if want, got := branch(), walked(); !cmp.Equal(want, got) {
		t.Errorf("a walk has %d entries, want %d", len(got), len(want))
	}
	left := l.Leaf()
	if err := l.Rewind(branch()[9]); err != nil {
		t.Fatal(err)
	}
	appendMessage(t, l, user("another branch"))
	if want, got := branch(), walked(); !cmp.Equal(want, got) || slices.Contains(got, left) {
		t.Errorf("in another branch a walk has %q, want %q", got, want)
	}
	if err := l.Clear(); err != nil {
		t.Fatal(err)
	}
	appendMessage(t, l, user("after the clear"))
	if want, got := branch(), walked(); !cmp.Equal(want, got) {
		t.Errorf("after a clear a walk has %q, want %q", got, want)
	}
	closeLog(t, l)
	for _, err := range l.Walk() {
		if err == nil {
			t.Error("a closed log was read")
		}
	}
}
