package sessions_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/sessions"
)

func TestRewind_TheConversationContinues(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	if got := l.Leaf(); got != "" {
		t.Errorf("leaf of an empty session = %q", got)
	}
	one := appendMessage(t, l, user("one"))
	if got := l.Leaf(); got != one {
		t.Errorf("leaf = %q, want %q", got, one)
	}
	appendMessage(t, l, user("two"))
	if err := l.Rewind("nowhere"); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("unknown entry: err = %v", err)
	}
	for _, step := range []struct {
		to   string
		want []string
	}{
		{one, []string{"u one", "u next"}},
		{"", []string{"u next"}},
	} {
		if err := l.Rewind(step.to); err != nil {
			t.Fatal(err)
		}
		appendMessage(t, l, user("next"))
		closeLog(t, l)
		l = open(t, s, l.ID())
		if diff := cmp.Diff(step.want, texts(allMessages(t, l))); diff != "" {
			t.Errorf("rewound to %q (-want +got):\n%s", step.to, diff)
		}
	}
	if n := len(allEntries(t, l)); n != 6 {
		t.Errorf("the file has %d entries, want all 6", n)
	}
}
