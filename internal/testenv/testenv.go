// Package testenv declares what a test needs from the machine and checks that it leaves nothing running.
package testenv

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// StrictVariable names the environment variable that turns a skip into a failure. CI sets it.
const StrictVariable = "GJC_CI_STRICT"

// Update reports whether the test run was asked to rewrite golden files (-update).
func Update() bool { return *update }

var update = flag.Bool("update", false, "rewrite golden files")

// Skip skips the test because the machine lacks something, or fails it if [StrictVariable] is set.
func Skip(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(StrictVariable) != "" {
		t.Fatalf("missing in a strict run: "+format, args...)
	}
	t.Skipf(format, args...)
}

// NeedsTool returns the path of the program called name. Without it the test skips, or fails in a strict run.
func NeedsTool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Skip(t, "%s is not on PATH", name)
	}
	return path
}

// NeedsInterop returns the directory with the node_modules of the interop clients. If "npm ci" has not been run
// there, the test skips, or fails in a strict run.
func NeedsInterop(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(ModuleRoot(t), "testdata", "interop")
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		Skip(t, "no node_modules in testdata/interop; run npm ci there")
	}
	return dir
}

// NeedsGopls returns the path of gopls, of the version in tools/go.mod, which is built if necessary.
func NeedsGopls(t testing.TB) string {
	t.Helper()
	return goTool(t, "gopls")
}

// NeedsDelve returns the path of dlv, of the version in tools/go.mod, which is built if necessary.
func NeedsDelve(t testing.TB) string {
	t.Helper()
	return goTool(t, "dlv")
}

// NeedsDebugpy returns the first Python on PATH that has debugpy. Without one the test skips, or fails in a strict run.
func NeedsDebugpy(t testing.TB) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		for _, name := range []string{"python3", "python"} {
			path, err := exec.LookPath(filepath.Join(dir, name))
			if err == nil && exec.CommandContext(t.Context(), path, "-c", "import debugpy").Run() == nil {
				return path
			}
		}
	}
	Skip(t, "no Python on PATH has debugpy")
	return ""
}

// NeedsLLDB returns the path of lldb-dap or of lldb-dap-VERSION. Without it the test skips, or fails in a strict
// run.
func NeedsLLDB(t testing.TB) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		names, _ := filepath.Glob(filepath.Join(dir, "lldb-dap-[0-9]*")) // the pattern is valid
		for _, name := range append([]string{filepath.Join(dir, "lldb-dap")}, names...) {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
	}
	Skip(t, "lldb-dap is not on PATH")
	return ""
}

// NeedsChromium returns the path of Chromium, or of a Chrome. Without one the test skips, or fails in a strict run.
func NeedsChromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Skip(t, "neither chromium nor google-chrome is on PATH")
	return ""
}

func goTool(t testing.TB, name string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), NeedsTool(t, "go"), "tool", "-modfile="+filepath.Join(ModuleRoot(t), "tools", "go.mod"), "-n", name)
	cmd.Dir = ModuleRoot(t)
	out, err := cmd.Output()
	if err != nil {
		Skip(t, "%s can not be built: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

// NeedsLanguageServers returns the directory with the programs of the language servers that are npm packages. If
// "npm ci" has not been run, the test skips, or fails in a strict run.
func NeedsLanguageServers(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(ModuleRoot(t), "testdata", "lsp", "node_modules", ".bin")
	if _, err := os.Stat(dir); err != nil {
		Skip(t, "no node_modules in testdata/lsp; run npm ci there")
	}
	NeedsTool(t, "node")
	return dir
}

// ModuleRoot returns the directory of the module's go.mod.
func ModuleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("the test does not run inside the module")
		}
		dir = parent
	}
}

// NoLeaks fails the test if it ends with more goroutines than it began with. Call it first, so that it runs
// after every other cleanup function. It does not work with parallel tests.
func NoLeaks(t testing.TB) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if t.Failed() {
			return // a failed test may leave goroutines, and its own message is more useful
		}
		err := goleak.Find(ignore)
		for begin := time.Now(); err != nil && time.Since(begin) < leakPatience; {
			err = goleak.Find(ignore)
		}
		if err != nil {
			t.Errorf("goroutines left behind:\n%s", trim(err.Error()))
		}
	})
}

// leakPatience limits the wait for goroutines to end. On a busy machine, the half second of goleak is too short.
const leakPatience = 2 * time.Second

func trim(s string) string {
	const most = 8 << 10
	if len(s) > most {
		return s[:most] + "…"
	}
	return strings.TrimSpace(s)
}
