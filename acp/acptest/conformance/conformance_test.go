package conformance

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
)

// options are for a fake: it needs no time to think.
func fakeOptions(selected *regexp.Regexp) Options {
	return Options{
		Prompts: GJCPrompts(), Select: selected, Parallel: 4, Timeout: 20 * time.Second, Quiet: 10 * time.Millisecond,
		Patience: 10 * time.Second, Strict: true,
	}
}

// exact matches the ids alone.
func exact(ids []string) *regexp.Regexp {
	var quoted []string
	for _, id := range ids {
		quoted = append(quoted, regexp.QuoteMeta(id))
	}
	return regexp.MustCompile("^(" + strings.Join(quoted, "|") + ")$")
}

var exitArea = regexp.MustCompile(`^exit\.`)

// An agent that does everything right passes every check, with none skipped.
func TestConformantFake(t *testing.T) {
	testenv.NoLeaks(t)
	for _, kind := range []struct {
		name  string
		start startFunc
		ids   *regexp.Regexp
	}{
		{"inside", fakeInside(nil), regexp.MustCompile(`^([^e]|e[^x]|ex[^i])`)},
		{"process", fakeProcess(t, ""), exitArea},
	} {
		t.Run(kind.name, func(t *testing.T) {
			report, err := run(t.Context(), fakeOptions(kind.ids), kind.start)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range report.Results {
				if r.Status != StatusPassed && r.Reason != ReasonNotPossible {
					t.Errorf("%s %s: %s\n%s\n%s", r.ID, r.Status, r.Detail, strings.Join(r.Transcript, "\n"), r.Stderr)
				}
			}
		})
	}
}
