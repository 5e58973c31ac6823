//go:build unix

package proc_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/proc"
)

func TestProcess_EchoesThroughPipes(t *testing.T) {
	noLeaks(t)
	p := start(t, "echo", proc.Options{Stdin: true})
	if _, err := io.WriteString(p.Stdin(), "hello\n"); err != nil {
		t.Fatal(err)
	}
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(p.Stdout())
	if string(got) != "hello\n" || err != nil {
		t.Errorf("stdout = %q, %v", got, err)
	}
	if state := wait(t, p); !state.Success() || p.Err() != nil {
		t.Errorf("state = %v, err = %v", state, p.Err())
	}
}

func TestProcess_FailureIsAnErrorWithTheEndOfStderr(t *testing.T) {
	noLeaks(t)
	log := new(sink)
	p := start(t, "fail", proc.Options{Stderr: log})
	state := wait(t, p)
	if want := (proc.ExitState{Code: 3}); state != want {
		t.Errorf("state = %v, want %v", state, want)
	}
	exit, ok := errors.AsType[*proc.ExitError](p.Err())
	if !ok || exit.State != state || !strings.HasSuffix(exit.Error(), " exited with code 3: no such flag") {
		t.Errorf("err = %v", p.Err())
	}
	if got := log.close(); got != "no such flag\n" {
		t.Errorf("the writer got %q", got)
	}
}

func TestProcess_KilledIsASignal(t *testing.T) {
	noLeaks(t)
	p := start(t, "stubborn", proc.Options{})
	if err := p.Err(); err != nil {
		t.Errorf("err of a running process = %v", err)
	}
	p.Kill()
	if state := wait(t, p); state != (proc.ExitState{Code: -1, Signal: "SIGKILL"}) {
		t.Errorf("state = %v", state)
	}
	p.Kill() // at any time
	if err := p.Shutdown(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestProcess_OutputIsWholeAndNotLate(t *testing.T) {
	noLeaks(t)
	out := new(sink)
	p := start(t, "print", proc.Options{Args: []string{"3000000"}, Stdout: out})
	wait(t, p)
	if got := out.close(); len(got) != 3_000_000 {
		t.Errorf("got %d bytes", len(got))
	}
	if err := p.Shutdown(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if out.late {
		t.Error("the writer was called after Done")
	}
}

func TestProcess_PipeKeepsWhatWasPrintedBeforeTheEnd(t *testing.T) {
	noLeaks(t)
	p := start(t, "print", proc.Options{Args: []string{"50000"}}) // fits into a pipe
	wait(t, p)
	if err := p.Shutdown(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(p.Stdout())
	if len(got) != 50_000 || err != nil {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestProcess_MergedStderrKeepsItsPlace(t *testing.T) {
	noLeaks(t)
	p := start(t, "both", proc.Options{MergeStderr: true})
	got, err := io.ReadAll(p.Stdout())
	want := "out 0\nerr 0\nout 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\nout 4\nerr 4\n"
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("output (-want +got), error %v:\n%s", err, diff)
	}
	if p.Stderr().Total() != 0 {
		t.Errorf("the tail has %q", p.Stderr())
	}
}

func TestProcess_EnvironmentIsTheGivenOne(t *testing.T) {
	noLeaks(t)
	t.Setenv("GJC_PROC_CANARY", "inherited")
	p := start(t, "", proc.Options{Env: []string{fakeVariable + "=env", "A=1"}})
	got, _ := io.ReadAll(p.Stdout())
	env := strings.Split(strings.TrimSpace(string(got)), "\n")
	if mark := env[len(env)-1]; strings.HasPrefix(mark, "GJC_CHILD=") {
		env = env[:len(env)-1] // the mark by which the child is found
	}
	if diff := cmp.Diff([]string{fakeVariable + "=env", "A=1"}, env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

type refusing struct{ after int }

var errRefused = errors.New("enough")

func (r *refusing) Write(p []byte) (int, error) {
	if r.after -= len(p); r.after < 0 {
		return 0, errRefused
	}
	return len(p), nil
}

func TestProcess_WriterThatRefusesKillsTheChild(t *testing.T) {
	noLeaks(t)
	p := start(t, "chatter", proc.Options{Stdout: &refusing{after: 100_000}})
	if state := wait(t, p); state.Signal != "SIGKILL" {
		t.Errorf("state = %v", state)
	}
}

func TestProcess_WaitReturnsTheCauseAndTheChildRunsOn(t *testing.T) {
	noLeaks(t)
	p := start(t, "echo", proc.Options{Stdin: true})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the turn was cancelled")
	cancel(cause)
	if _, err := p.Wait(ctx); !errors.Is(err, cause) {
		t.Errorf("err = %v, want %v", err, cause)
	}
	if _, err := io.WriteString(p.Stdin(), "still there\n"); err != nil {
		t.Fatal(err)
	}
	if got := readLine(t, p.Stdout()); got != "still there" {
		t.Errorf("got %q", got)
	}
}

func TestStart_ContextOfTheStartDoesNotOwnTheChild(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(t.Context())
	p, err := proc.Start(ctx, &proc.Options{Path: self(), Env: fakeEnv("echo"), Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.WriteString(p.Stdin(), "alive\n"); err != nil {
		t.Fatal(err)
	}
	if got := readLine(t, p.Stdout()); got != "alive" {
		t.Errorf("got %q", got)
	}
	if err := p.Shutdown(t.Context(), nil); err != nil {
		t.Error(err)
	}
	_ = p.Stdout().Close()
}

func TestStart_Errors(t *testing.T) {
	noLeaks(t)
	cause := errors.New("no time")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for _, test := range []struct {
		name string
		ctx  context.Context
		opts *proc.Options
		is   error
		text string
	}{
		{"context has ended", ended, &proc.Options{Path: self()}, cause, "no time"},
		{"no options", t.Context(), nil, nil, "Options.Path is empty"},
		{"relative path", t.Context(), &proc.Options{Path: "gopls"}, nil, `"gopls" must be an absolute path`},
		{"no such program", t.Context(), &proc.Options{Path: "/no/such/program"}, fs.ErrNotExist, "starting program: "},
		{"not executable", t.Context(), &proc.Options{Path: writeFile(t, 0o600)}, fs.ErrPermission, "permission denied"},
		{"no such directory", t.Context(), &proc.Options{Path: self(), Dir: "/no/such/dir"}, fs.ErrNotExist, "/no/such/dir"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := proc.Start(test.ctx, test.opts)
			if err == nil {
				p.Kill()
				t.Fatal("it started")
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("err = %v, want one that is %v", err, test.is)
			}
			if !strings.Contains(err.Error(), test.text) {
				t.Errorf("err = %q, want %q in it", err, test.text)
			}
		})
	}
}

func writeFile(t *testing.T, perm os.FileMode) string {
	path := t.TempDir() + "/file"
	if err := os.WriteFile(path, []byte("#!/bin/true\n"), perm); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStart_ManyTimesLeavesNoFilesOpen(t *testing.T) {
	noLeaks(t)
	before := 0
	for i := range 20 {
		if i == 1 {
			before = openFiles(t) // the first process makes the runtime open files of its own
		}
		p := start(t, "fail", proc.Options{Stdin: true})
		_, _ = io.ReadAll(p.Stdout())
		wait(t, p)
		if err := p.Shutdown(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		_, _ = proc.Start(t.Context(), &proc.Options{Path: "/no/such/program", Stdin: true})
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, there were %d", after, before)
	}
}

func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip("no /dev/fd here")
	}
	return len(entries)
}

func TestPTY_ChildSeesATerminal(t *testing.T) {
	noLeaks(t)
	out := &sink{lines: make(chan string, 1)}
	p := start(t, "terminal", proc.Options{PTY: true, Stdin: true, Stdout: out, Cols: 100, Rows: 40})
	<-out.lines
	if _, err := io.WriteString(p.Stdin(), "typed\n"); err != nil {
		t.Fatal(err)
	}
	if err := p.Stdin().Close(); err != nil { // types the end-of-file key
		t.Fatal(err)
	}
	if state := wait(t, p); !state.Success() {
		t.Errorf("state = %v", state)
	}
	got := strings.ReplaceAll(out.close(), "\r\n", "\n")
	for _, want := range []string{"terminal 100x40\n", "read \"typed\"\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("output %q lacks %q", got, want)
		}
	}
}

func TestPTY_ReaderSeesTheEnd(t *testing.T) {
	noLeaks(t)
	p := start(t, "print", proc.Options{PTY: true, Args: []string{"1000"}})
	got, err := io.ReadAll(p.Stdout())
	if len(got) != 1000 || err != nil {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestPTY_LossOfTheTerminalEndsWhatIgnoresTERM(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("the tests run under nohup, and a child inherits that")
	}
	noLeaks(t)
	p := start(t, "shell", proc.Options{PTY: true, Grace: time.Minute})
	readLine(t, p.Stdout())
	if err := p.Shutdown(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if state := wait(t, p); state.Signal != "SIGHUP" {
		t.Errorf("state = %v, want SIGHUP", state)
	}
}
