package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/conformance"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// This environment variable makes the test binary run as the program, or as an agent that ends at once.
const (
	mainVariable = "GJC_CONFORMANCE_MAIN"
	deafVariable = "GJC_CONFORMANCE_DEAF"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(deafVariable) != "": // the agent inherits the program's environment
		os.Stderr.WriteString("I do not speak this\n")
		os.Exit(0)
	case os.Getenv(mainVariable) != "":
		os.Setenv(deafVariable, "1")
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExitCodes(t *testing.T) {
	agent := self(t)
	for _, tt := range []struct {
		name string
		args []string
		want int
		says string
	}{
		{"list", []string{"--list", "--run", `^exit\.eof\.idle$`}, 0, "exit.eof.idle"},
		{"help", []string{"--help"}, 0, "--prompts"},
		{"not conformant", []string{"--run", `^init\.`, "--", agent}, 1, "NOT conformant"},
		{"no command", nil, 2, "give its command after --"},
		{"not on PATH", []string{"--", "no-such-agent"}, 2, "not on the PATH"},
		{"relative path", []string{"--run", `^init\.`, "--", "./no-such-agent"}, 2, "no such file"},
		{"no such program", []string{"--", filepath.Join(t.TempDir(), "nothing")}, 2, "no such file"},
		{"no such check", []string{"--run", "^nothing$", "--", agent}, 2, "no check has this ID"},
		{"no such check to list", []string{"--list", "--run", "^nothing$"}, 2, "no check has this ID"},
		{"bad expression", []string{"--run", "(", "--", agent}, 2, "--run"},
		{"bad flag", []string{"--nonsense"}, 2, "nonsense"},
		{"no such prompts", []string{"--prompts", filepath.Join(t.TempDir(), "nothing"), "--", agent}, 2, "reading the prompts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), agent, tt.args...)
			cmd.Env = append(os.Environ(), mainVariable+"=1")
			out, err := cmd.CombinedOutput()
			if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
				t.Fatal(err)
			} else if got := cmd.ProcessState.ExitCode(); got != tt.want {
				t.Errorf("exit code %d, want %d (%v)", got, tt.want, exit)
			}
			if !strings.Contains(string(out), tt.says) {
				t.Errorf("it does not say %q:\n%s", tt.says, out)
			}
		})
	}
}

// An agent that sends nothing has one failure, with its stderr, in the JSON report too.
func TestReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), []string{"--json", file, "--", self(t)}, []string{deafVariable + "=1"}, &stdout, &stderr)
	if !errors.Is(err, errNotConformant) {
		t.Fatalf("got %v\n%s", err, stderr.String())
	}
	if text := stdout.String(); strings.Count(text, "  FAIL ") != 1 || !strings.Contains(text, "I do not speak this") {
		t.Errorf("the report is\n%s", text)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report conformance.Report
	if err := jsonx.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	if report.Conformant || report.Failed != 1 || report.Skipped != len(conformance.Checks())-1 || len(report.Results) != len(conformance.Checks()) {
		t.Errorf("the report counts %d failed and %d skipped of %d", report.Failed, report.Skipped, len(report.Results))
	}
	if r := report.Results[0]; r.Status != conformance.StatusFailed || len(r.Transcript) == 0 || r.Requirement == "" {
		t.Errorf("the first result is %+v", r)
	}
}

// With "-" only JSON is written to stdout.
func TestReport_JSONOnStdout(t *testing.T) {
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), []string{"--json", "-", "--run", `^init\.quick$`, "--", self(t)}, []string{deafVariable + "=1"}, &stdout, &stderr)
	if !errors.Is(err, errNotConformant) {
		t.Fatal(err)
	}
	if !jsonx.Valid(bytes.TrimSpace(stdout.Bytes())) || !strings.Contains(stderr.String(), "NOT conformant") {
		t.Errorf("stdout:\n%s\nstderr:\n%s", stdout.String(), stderr.String())
	}
}
