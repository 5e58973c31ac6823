package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// With all processors busy, and the real gopls and dlv, the demo passes and leaves no temporary files.
func TestDemo_BusyMachine(t *testing.T) {
	t.Parallel()
	testenv.LongWithRace(t)
	testenv.NeedsTool(t, "git")
	testenv.NeedsTool(t, "go")
	path := "PATH=" + programs(t) + string(os.PathListSeparator) + os.Getenv("PATH")
	caches, err := goEnv()
	if err != nil {
		t.Fatal(err)
	}
	env := append(environment(tempDir(t)), append(caches, path, "GOPLSCACHE="+warmGopls(t))...)
	keepBusy(t)
	for range 2 {
		temp := tempDir(t)
		cmd := exec.CommandContext(t.Context(), self(t), "demo")
		cmd.Env = append(env, "TMPDIR="+temp, "TMP="+temp, "TEMP="+temp)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), " checks passed.") {
			t.Fatalf("gjc demo: %v\n%s", err, out)
		}
		if left, err := filepath.Glob(filepath.Join(temp, "*")); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

// keepBusy keeps all processors busy until the test ends.
func keepBusy(t *testing.T) {
	t.Helper()
	shell := testenv.NeedsTool(t, "sh")
	for range runtime.NumCPU() {
		cmd := exec.CommandContext(t.Context(), shell, "-c", "while :; do :; done") // ended by the context before the cleanup
		cmd.Env = testenv.RunEnv()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Wait() })
	}
}
