package conformance

import (
	"strings"
	"testing"
)

// An agent that requires a login for every session fails no check: checks that need a session are skipped with this
// reason.
func TestRun_NeedsLogin(t *testing.T) {
	wants := &defect{name: "wants-login", in: func(f *fake, m *message) bool {
		if !strings.HasPrefix(m.method, "session/") || m.id == "" {
			return false
		}
		f.refuse(m, codeAuth, "sign in first")
		return true
	}}
	report, err := run(t.Context(), fakeOptions(nil), fakeInside(wants))
	if err != nil {
		t.Fatal(err)
	}
	skipped := make(map[string]string)
	for _, r := range report.Results {
		switch r.Status {
		case StatusFailed:
			t.Errorf("%s fails: %s\n%s", r.ID, r.Detail, strings.Join(r.Transcript, "\n"))
		case StatusSkipped:
			skipped[r.ID] = r.Detail
		}
	}
	for _, id := range []string{"robustness.sessions", "robustness.prompts", "robustness.parallel-turns", "session.new.ids-unique"} {
		if !strings.Contains(skipped[id], "the agent wants authentication: sign in first; give it credentials") {
			t.Errorf("%s is skipped with %q", id, skipped[id])
		}
	}
}
