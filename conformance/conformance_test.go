package conformance

import (
	"flag"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
)

// fakeOptions returns options for a fake. A fake answers at once, but the machine may be busy. Messages that follow its answers
// arrive within Quiet.
func fakeOptions(selected *regexp.Regexp) Options {
	return Options{
		Prompts: GJCPrompts(), Select: selected, Parallel: 8, Timeout: 2 * time.Minute, Quiet: 300 * time.Millisecond,
		Patience: time.Minute, Strict: true,
	}
}

// exact returns an expression that matches only these IDs.
func exact(ids []string) *regexp.Regexp {
	var quoted []string
	for _, id := range ids {
		quoted = append(quoted, regexp.QuoteMeta(id))
	}
	return regexp.MustCompile("^(" + strings.Join(quoted, "|") + ")$")
}

var exitArea = regexp.MustCompile(`^exit\.`)

// A correct agent passes every check, with none skipped.
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

// Every check fails for at least one agent with a defect.
func TestDefects(t *testing.T) {
	testenv.NoLeaks(t)
	tripped := make(map[string]string)
	for _, d := range defects() {
		for _, id := range d.trips {
			tripped[id] = d.name
		}
	}
	for _, c := range Checks() {
		if tripped[c.ID] == "" {
			t.Errorf("no defect trips %s: the check may be unable to fail", c.ID)
		}
		delete(tripped, c.ID)
	}
	for id, name := range tripped {
		t.Errorf("the defect %s trips %s, which there is not", name, id)
	}
	queue := make(chan defect)
	var workers sync.WaitGroup
	for range 12 { // most workers only wait
		workers.Go(func() {
			for d := range queue {
				t.Run(d.name, func(t *testing.T) { tryDefect(t, &d) })
			}
		})
	}
	for _, d := range defects() {
		queue <- d
	}
	close(queue)
	workers.Wait()
}

func tryDefect(t *testing.T, d *defect) {
	start := fakeInside(d)
	if d.process {
		start = fakeProcess(t, d.name)
	}
	opts := fakeOptions(exact(d.trips))
	opts.Strict, opts.Patience, opts.Timeout = false, 300*time.Millisecond, 20*time.Second
	if d.hangs {
		opts.Timeout = time.Second
	}
	if *exhaustive {
		opts.Select = nil
	}
	report, err := run(t.Context(), opts, start)
	if err != nil {
		t.Fatal(err)
	}
	var others []string
	for _, r := range report.Results {
		expected := slices.Contains(d.trips, r.ID)
		if expected && r.Status != StatusFailed && r.Reason != ReasonNotPossible {
			t.Errorf("%s %s: %s", r.ID, r.Status, r.Detail)
		}
		if !expected && r.Status == StatusFailed && (d.process || !exitArea.MatchString(r.ID)) {
			others = append(others, r.ID)
		}
	}
	const most = 12
	if len(others) > most && !d.broad {
		t.Errorf("the defect trips %d checks besides %v: %v", len(others), d.trips, others)
	} else if *exhaustive {
		t.Logf("besides %v: %v", d.trips, others)
	}
}

// exhaustive runs every check against every defect, which takes minutes.
var exhaustive = flag.Bool("exhaustive", false, "run every check against every defect")
