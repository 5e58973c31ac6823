//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == enterCommand {
		fmt.Fprintln(os.Stderr, enter(os.Args[2:]))
		os.Exit(126)
	}
	os.Exit(m.Run())
}

// A run of one package prints its seed, its condition and its result, and leaves no processes and files.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the tests of a package, with links to all programs on PATH")
	}
	testenv.NeedsGopls(t) // linked, like dlv
	testenv.NeedsDelve(t)
	t.Chdir(testenv.ModuleRoot(t))
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-n", "2", "-seed", "7", "-condition", "umask", "-packages", "./internal/bug", "-load", "1"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"run 1 of 2: seed 7, condition umask, hidden: ", "run 2 of 2: seed 8, condition umask, ", ": passed in ", "internal/bug"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(temp, "gjc-stress-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	out.Reset()
	if err := run(t.Context(), []string{"-n", "1", "-condition", "plain", "-packages", "./internal/nonsense", "-load", "0"}, &out); err == nil ||
		!strings.Contains(out.String(), "FAILED") {
		t.Errorf("a run that fails: %v\n%s", err, &out)
	}
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{{"-condition", "rain"}, {"./..."}, {"-n", "x"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

// The same seed hides the same tools, in all versions, and nothing else.
func TestHideTools(t *testing.T) {
	testenv.NeedsGopls(t)
	testenv.NeedsDelve(t)
	t.Chdir(testenv.ModuleRoot(t))
	programs := t.TempDir()
	for _, name := range append([]string{"lldb-dap-19", "python3.11", "python", "python-config", "rgb"}, hideable...) {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for seed := range uint64(5) {
		s := &surroundings{ctx: t.Context(), dir: t.TempDir(), env: []string{"PATH=" + programs}}
		hidden, err := s.hideTools(rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		again := &surroundings{ctx: t.Context(), dir: t.TempDir(), env: s.env}
		if second, err := again.hideTools(rand.New(rand.NewPCG(seed, 0))); err != nil || strings.Join(second, " ") != strings.Join(hidden, " ") {
			t.Errorf("seed %d hides %v, then %v, %v", seed, hidden, second, err)
		}
		has := func(name string) bool {
			_, err := os.Stat(filepath.Join(s.get("PATH"), name))
			return err == nil
		}
		gone := func(name string) bool { return strings.Contains(" "+strings.Join(hidden, " ")+" ", " "+name+" ") }
		for name, tool := range map[string]string{"lldb-dap-19": "lldb-dap", "python3.11": "python3", "python": "python3", "gopls": "gopls", "dlv": "dlv", "rg": "rg"} {
			if has(name) == gone(tool) {
				t.Errorf("seed %d hides %v, and %s is there: %v", seed, hidden, name, has(name))
			}
		}
		if !has("rgb") || !has("python-config") {
			t.Errorf("seed %d hides more than %v", seed, hidden)
		}
	}
}

// A process that a run leaves is named and killed.
func TestWantNothingLeft(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("processes are found on Linux alone, after some seconds")
	}
	const mark = "GJC_STRESS_RUN=test-of-stress;"
	cmd := exec.Command(testenv.NeedsTool(t, "sh"), "-c", "echo ready; read forever")
	cmd.Env = []string{mark}
	stdin, ierr := cmd.StdinPipe()
	stdout, oerr := cmd.StdoutPipe()
	if err := errors.Join(ierr, oerr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }() // Wait has closed it
	// A process has its environment shortly after Start returns, once it runs.
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q: %v", line, err)
	}
	err := wantNothingLeft(mark)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the process was not killed")
		_ = cmd.Process.Kill()
	}
	if err == nil || !strings.Contains(err.Error(), "read forever") {
		t.Errorf("error %v", err)
	}
}

// The conditions that need root apply to the command that runs under them.
func TestConditions_AsRoot(t *testing.T) {
	if why := needNamespaces(); why != "" {
		t.Skipf("needs %s; CI runs it as root too", why)
	}
	for name, command := range map[string]string{
		"noipv6":   `! grep -q . /proc/net/if_inet6`,
		"modcache": `! touch "$GOMODCACHE/x" && echo x > "$TMPDIR/x"`,
		"user":     `test "$(id -u)" = ` + nobody(t) + ` && test -w . && test -w "$HOME" && test -w "$GOMODCACHE" && test -f go.mod`,
	} {
		t.Run(name, func(t *testing.T) {
			// Use a small module: the condition copies the repository and its caches for the user.
			module := t.TempDir()
			for _, dir := range []string{"modcache", "gocache"} {
				if err := os.Mkdir(filepath.Join(module, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte("module m\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			s := &surroundings{
				options: &options{user: "nobody"}, ctx: t.Context(), dir: t.TempDir(), root: module,
				goEnv: map[string]string{"GOCACHE": filepath.Join(module, "gocache"), "GOMODCACHE": filepath.Join(module, "modcache")},
				env:   []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "GOMODCACHE=" + filepath.Join(module, "modcache")},
			}
			defer func() {
				if err := s.remove(); err != nil {
					t.Error(err)
				}
			}()
			if err := findCondition(name).apply(s); err != nil {
				t.Fatal(err)
			}
			cmd := &exec.Cmd{
				Path: testenv.NeedsTool(t, "sh"), Args: []string{"sh", "-c", command}, Dir: s.root, Env: s.env,
				SysProcAttr: &syscall.SysProcAttr{Credential: s.user},
			}
			if err := s.wrap(cmd); err != nil {
				t.Fatal(err)
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func nobody(t *testing.T) string {
	t.Helper()
	u, err := user.Lookup("nobody")
	if err != nil {
		testenv.Skip(t, "%v", err)
	}
	return u.Uid
}
