package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
)

// The parts of the demo's transcript that differ from run to run: times, the scratch directory, versions.
var (
	timing  = regexp.MustCompile(`(?m)^ *\d+\.\d ms `)
	seconds = regexp.MustCompile(`\d+\.\d+s\b`)
	scratch = regexp.MustCompile(`\S*gjc-demo-\d+`)
	build   = regexp.MustCompile(`gjc (v\S+|\d+\.\d+\.\d+\S*),`)
	cached  = regexp.MustCompile(`\(cached\)`)
	process = regexp.MustCompile(`PID: \d+`)
	pointer = regexp.MustCompile(`0x[0-9a-f]{4,}`)
	handles = regexp.MustCompile(`(ref|frame_id)=\d+`)
	routine = regexp.MustCompile(`thread \d+`)
	edge    = regexp.MustCompile(`(?m)^  !  (Commands that you have not seen|This machine has no sandbox).*\n`) // as the machine has one
	adapter = regexp.MustCompile(`[^\s(]*/dlv dap`)
)

// steady makes two transcripts comparable.
func steady(s string) string {
	s = timing.ReplaceAllString(s, "      0.0 ms ")
	s = cached.ReplaceAllString(s, "0.000s")
	s = seconds.ReplaceAllString(s, "0.000s")
	s = scratch.ReplaceAllString(s, "/tmp/gjc-demo")
	s = process.ReplaceAllString(s, "PID: 1")
	s = pointer.ReplaceAllString(s, "0x1000")
	s = handles.ReplaceAllString(s, "$1=1")
	s = edge.ReplaceAllString(s, "")
	s = routine.ReplaceAllString(s, "thread 1")
	s = adapter.ReplaceAllString(s, "dlv dap")
	return build.ReplaceAllString(s, "gjc VERSION,")
}

// TestREADME_Demo compares the transcript in the README with the demo's output. -update rewrites it.
func TestREADME_Demo(t *testing.T) {
	t.Parallel()
	testenv.LongWithRace(t)
	testenv.NeedsTool(t, "git")
	testenv.NeedsTool(t, "go")
	home := tempDir(t)
	cmd := exec.CommandContext(t.Context(), self(t), "demo")
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = environment(home, "GOCACHE="+strings.TrimSpace(string(cache)), "PATH="+programs(t)+string(os.PathListSeparator)+os.Getenv("PATH"), "GOPLSCACHE="+warmGopls(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("gjc demo: %v\n%s", err, out)
	}
	path := filepath.Join(testenv.ModuleRoot(t), "README.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), "```console\n$ go run ./cmd/gjc demo\n")
	shown, after, ok2 := strings.Cut(rest, "```\n")
	if !ok1 || !ok2 {
		t.Fatal("the README has no transcript of the demo")
	}
	if testenv.Update() {
		transcript := scratch.ReplaceAllString(build.ReplaceAllString(string(out), "gjc 0.1.0,"), "/tmp/gjc-demo")
		transcript = adapter.ReplaceAllString(transcript, "~/go/bin/dlv dap")
		text := before + "```console\n$ go run ./cmd/gjc demo\n" + transcript + "```\n" + after
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(steady(shown), "\n"), strings.Split(steady(string(out)), "\n")); diff != "" {
		t.Errorf("the README's transcript (-README +demo), run with -update:\n%s", diff)
	}
}

// warmGopls returns a cache of gopls with the parts of the standard library that the demo needs. On a busy machine
// loading them takes longer than a change waits for its diagnostics.
func warmGopls(t *testing.T) string {
	t.Helper()
	dir, cache := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(dir, "go.mod"), "module example.com/warm\n\ngo 1.24\n")
	writeFile(t, filepath.Join(dir, "a_test.go"), "package warm\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {}\n")
	check := exec.CommandContext(t.Context(), testenv.NeedsGopls(t), "check", "a_test.go")
	check.Dir, check.Env = dir, append(os.Environ(), "GOPLSCACHE="+cache)
	if out, err := check.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return cache
}

// programs returns a directory with gopls and dlv.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, path := range map[string]string{"gopls": testenv.NeedsGopls(t), "dlv": testenv.NeedsDelve(t)} {
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			testenv.Skip(t, "no symbolic links: %v", err)
		}
	}
	return dir
}
