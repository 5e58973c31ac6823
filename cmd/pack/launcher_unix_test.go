//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/gajae-code/gjc/internal/testenv"
)

// installed unpacks the npm packages of a fake release as npm does, the main one and that of this machine, and returns the launcher.
func installed(t *testing.T, withProgram bool) string {
	t.Helper()
	here := target{runtime.GOOS, runtime.GOARCH}
	packed, modules := t.TempDir(), filepath.Join(t.TempDir(), "node_modules", "@gajae-code")
	if err := writeNPM(fakeRelease(t, here), packed); err != nil {
		t.Fatal(err)
	}
	system, processor := here.platform()
	packages := map[string]string{"gjc": "gajae-code-gjc-1.2.3.tgz"}
	if withProgram {
		packages["gjc-"+system+"-"+processor] = "gajae-code-gjc-" + system + "-" + processor + "-1.2.3.tgz"
	}
	for name, file := range packages {
		data, err := os.ReadFile(filepath.Join(packed, file))
		if err != nil {
			t.Fatal(err)
		}
		unpack(t, data, filepath.Join(modules, name))
		if err := os.Rename(filepath.Join(modules, name, "package", "package.json"), filepath.Join(modules, name, "package.json")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(modules, name, "package", "bin"), filepath.Join(modules, name, "bin")); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(modules, "gjc", "bin", "gjc.js")
}

// preload writes a script that runs in Node.js before the launcher.
func preload(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "preload.cjs")
	if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// launch returns a command that runs the launcher with the script before it.
func launch(t *testing.T, launcher, script string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	node := testenv.NeedsTool(t, "node")
	cmd = exec.CommandContext(t.Context(), node, append([]string{"--require", preload(t, script), launcher}, args...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "GJC_TEST_KEPT=kept")
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// ways are the two ways to run the program: that of this Node.js, and that of one without process.execve.
var ways = map[string]string{"this Node.js": "", "an old Node.js": "process.execve = undefined;"}

func TestLauncher_Streams(t *testing.T) {
	t.Parallel()
	launcher := installed(t, true)
	for way, script := range ways {
		cmd, stdout, stderr := launch(t, launcher, script, "copy")
		input := "a line\r\n\x00\xff" + strings.Repeat("more ", 50_000)
		cmd.Stdin = strings.NewReader(input)
		if err := cmd.Run(); err != nil || stdout.String() != input || stderr.Len() > 0 {
			t.Errorf("%s: %v, %d of %d bytes, stderr %q", way, err, stdout.Len(), len(input), stderr)
		}
		cmd, stdout, stderr = launch(t, launcher, script, "exit", "7")
		if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 7 || stdout.Len()+stderr.Len() > 0 {
			t.Errorf("%s: exit status: %v, %q, %q", way, err, stdout, stderr)
		}
	}
}

// A signal to the launcher reaches the program, and the launcher ends as the program does.
func TestLauncher_Signals(t *testing.T) {
	t.Parallel()
	launcher := installed(t, true)
	for way, script := range ways {
		start := func(args ...string) (*exec.Cmd, io.WriteCloser, *bufio.Reader) {
			cmd, _, _ := launch(t, launcher, script, args...)
			cmd.Stdout = nil
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(stdout)
			if line, err := lines.ReadString('\n'); line != "ready\n" {
				t.Fatalf("%s: %q, %v", way, line, err)
			}
			return cmd, stdin, lines
		}
		cmd, stdin, lines := start("count")
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if line, err := lines.ReadString('\n'); line != s.String()+"\n" {
				t.Errorf("%s: %q, %v after %v", way, line, err, s)
			}
		}
		if _, err := io.WriteString(stdin, "\n"); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 3 {
			t.Errorf("%s: 3 signals: %v", way, err)
		}
		cmd, _, _ = start("die")
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
			t.Errorf("%s: a program that SIGTERM ends: %v", way, err)
		}
	}
}

// Ctrl-C at a terminal reaches the program from the terminal; the launcher adds no second one.
func TestLauncher_Terminal(t *testing.T) {
	t.Parallel()
	launcher := installed(t, true)
	for way, script := range ways {
		cmd, _, _ := launch(t, launcher, script, "count")
		cmd.Stdout, cmd.Stderr = nil, nil
		terminal, err := pty.Start(cmd)
		if err != nil {
			testenv.Skip(t, "no pseudo-terminal: %v", err)
		}
		lines := bufio.NewReader(terminal)
		if line, err := lines.ReadString('\n'); line != "ready\r\n" {
			t.Fatalf("%s: %q, %v", way, line, err)
		}
		if _, err := terminal.WriteString("\x03"); err != nil {
			t.Fatal(err)
		}
		if line, err := lines.ReadString('\n'); !strings.HasSuffix(line, "interrupt\r\n") {
			t.Errorf("%s: %q, %v after Ctrl-C", way, line, err)
		}
		if _, err := terminal.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%s: one Ctrl-C: %v", way, err)
		}
		_ = terminal.Close()
	}
}

func TestLauncher_WithoutProgram(t *testing.T) {
	t.Parallel()
	system, processor := target{runtime.GOOS, runtime.GOARCH}.platform()
	for _, tt := range []struct{ script, want string }{
		{"", "the package @gajae-code/gjc-" + system + "-" + processor + ", which holds the program for this platform, is not installed. Install @gajae-code/gjc again"},
		{`Object.defineProperty(process, "platform", {value: "plan9"});`, "there is no program for plan9-" + processor + ". To build one: https://"},
	} {
		cmd, stdout, stderr := launch(t, installed(t, false), tt.script, "acp")
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 || stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "gjc: "+tt.want) {
			t.Errorf("%v, stdout %q, stderr %q", err, stdout, stderr)
		}
	}
}

// A Node.js with process.execve gives its place to the program, with all arguments and the environment.
func TestLauncher_Execve(t *testing.T) {
	t.Parallel()
	script := `process.execve = (file, args, env) => console.log(JSON.stringify([file.split("/").slice(-3), args, env.GJC_TEST_KEPT]));`
	cmd, stdout, stderr := launch(t, installed(t, true), script, "run", "--", "a b")
	err := cmd.Run()
	system, processor := target{runtime.GOOS, runtime.GOARCH}.platform()
	want := `[["gjc-` + system + "-" + processor + `","bin","gjc"],["gjc","run","--","a b"],"kept"]` + "\n"
	if err != nil || stdout.String() != want || stderr.Len() > 0 {
		t.Errorf("%v, %q, stderr %q", err, stdout, stderr)
	}
}
