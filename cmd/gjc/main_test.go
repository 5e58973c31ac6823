package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

// asGJC is the environment variable that makes the test binary gjc. Unlike a name in PATH it also applies to the
// process that "gjc demo" starts.
const asGJC = "GJC_TEST_AS_GJC"

// shortPatience is the environment variable with the time limit of requests to the editor.
const shortPatience = "GJC_TEST_REQUEST_TIMEOUT"

// impatient sets the time limit of requests to the editor from [shortPatience].
func impatient(h *host) {
	if d, err := time.ParseDuration(os.Getenv(shortPatience)); err == nil {
		h.requestTimeout = d
	}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(publishedDir); dir != "" && isPublisher(os.Args[0]) {
		os.Exit(runPublisher(dir))
	}
	if len(os.Args) == 3 && os.Args[1] == fakeLanguageServer {
		runFakeLanguageServer(os.Args[2])
		return
	}
	if len(os.Args) == 2 && os.Args[1] == guardCommand {
		os.Exit(run())
	}
	if len(os.Args) > 1 && os.Args[1] == sandbox.Command {
		syscall.Exit(run()) // [os.Exit] waits a second with the race detector
	}
	if len(os.Args) > 1 && os.Args[1] == engineCommand && os.Getenv(asGJC) == "" {
		os.Exit(run()) // of a user of "gjc serve", whose environment is nearly empty
	}
	if os.Getenv(asGJC) != "" {
		if err := testenv.ReportProcess(); err != nil {
			fmt.Fprintln(os.Stderr, "reporting the process to the tests:", err)
			os.Exit(1)
		}
		makeNoiseOnSignals()
		os.Exit(run(impatient))
	}
	testscript.Main(leakChecked{m}, map[string]func(){
		"gjc": func() { os.Exit(run()) },
	})
}

// leakChecked looks for goroutines and processes after all tests, because most of them run in parallel.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	code := testenv.Run(m.M)
	if code != 0 {
		return code
	}
	if err := testenv.Leaked(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		return 1
	}
	return 0
}

// self returns the path of the test binary, which is gjc in an environment from [environment].
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// environment returns an environment for gjc with a home directory of its own, no keys, and extra.
func environment(home string, extra ...string) []string {
	env := []string{
		asGJC + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "SHELL=/bin/sh",
		// This address has no server: the tests must not reach servers of this machine.
		"OLLAMA_BASE_URL=http://127.0.0.1:1", "LM_STUDIO_BASE_URL=http://127.0.0.1:1/v1", "LLAMA_CPP_BASE_URL=http://127.0.0.1:1/v1",
		"TMPDIR=" + os.TempDir(), "TMP=" + os.TempDir(), "TEMP=" + os.TempDir(),
		// By default the race detector waits a second at each process's end, for late races.
		"GORACE=atexit_sleep_ms=20",
	}
	env = append(env, testenv.RunEnv()...)
	if runtime.GOOS == "windows" {
		env = append(env, "SystemRoot="+os.Getenv("SystemRoot"), "ComSpec="+os.Getenv("ComSpec"), "PATHEXT="+os.Getenv("PATHEXT"))
	}
	return append(env, extra...)
}

// markOf returns an environment variable that identifies the processes of a test in this run. If the test fails, they
// are killed.
func markOf(t *testing.T) string {
	mark := markText(t)
	t.Cleanup(func() {
		if t.Failed() {
			testenv.KillProcesses(mark)
		}
	})
	return mark
}

func markText(t *testing.T) string {
	return fmt.Sprintf("GJC_TEST_MARK=%d_%s;", os.Getpid(), strings.ReplaceAll(t.Name(), " ", "_"))
}

// tempDir returns t.TempDir without symbolic links, like directories from an editor.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantEmpty fails if dir contains anything; dir need not exist.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != dir {
			t.Errorf("%s was made", path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
