package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gajae-code/gjc/conformance"
	"github.com/gajae-code/gjc/internal/testenv"
)

// known are the checks that gjc does not pass, with the reason. Each of them is a warning.
var known = map[string]string{
	"schema.stable": "a prompt's response has usage, which is unstable and not gated: clients show it",
}

// gjc is conformant, and no check of an advertised feature is skipped.
func TestGJC(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the prompts' commands are those of a POSIX shell")
	}
	agent := filepath.Join(t.TempDir(), "gjc")
	build := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "go"), "build", "-o", agent, "./cmd/gjc")
	build.Dir = testenv.ModuleRoot(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building gjc: %v\n%s", err, out)
	}
	options := conformance.Options{
		Command: []string{agent, "acp", "--model", "offline/demo"}, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		Prompts: conformance.GJCPrompts(), Strict: true,
		// Other tests keep the machine busy. gjc's own tests check how long it takes to end.
		Patience: 10 * time.Second, Timeout: 3 * time.Minute, Quiet: 500 * time.Millisecond,
	}
	report, err := conformance.Run(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	clean := report.Conformant
	for _, r := range report.Results {
		reason, expected := known[r.ID]
		switch {
		case r.Status == conformance.StatusFailed && !expected:
			clean = false
			t.Errorf("%s (%s): %s", r.ID, r.Tier, r.Detail)
		case r.Status == conformance.StatusPassed && expected:
			t.Errorf("%s passes now; take it from the table (%s)", r.ID, reason)
		case r.Status == conformance.StatusSkipped && r.Reason == conformance.ReasonNotAdvertised:
			t.Logf("%s: %s", r.ID, r.Detail)
		}
	}
	if !clean {
		var text bytes.Buffer
		if err := report.WriteText(&text, true); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s", &text)
	}
}
