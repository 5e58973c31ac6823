package dap_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/daptest"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
)

func TestMain(m *testing.M) {
	daptest.Main()
	os.Exit(testenv.Run(m))
}

// timeout bounds every wait of a test. It is long enough for a busy machine.
const timeout = 60 * time.Second

// within returns a context that ends after the timeout.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(own(t), timeout)
	t.Cleanup(cancel)
	return ctx
}

// newDebugger returns a debugger that is closed at the end of the test. The test fails if a process or goroutine is left.
func newDebugger(t *testing.T, opts dap.Options) *dap.Debugger {
	t.Helper()
	testenv.NoLeaks(t)
	children := proc.NewGroup(nil)
	opts.Children = children
	if opts.Env == nil {
		opts.Env = func(context.Context) []string { return os.Environ() }
	}
	d := dap.NewDebugger(opts)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if err := d.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
		if n := children.Len(); n != 0 {
			t.Errorf("%d processes are left", n)
		}
		_ = children.Close(ctx)
	})
	return d
}

// source writes a source file of 20 lines and returns its path.
func source(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "main.x")
	var text strings.Builder
	for i := range 20 {
		text.WriteString("line " + string(rune('a'+i)) + "\n")
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// begin starts a session with an adapter that simulates a program, and waits until the program is stopped at its entry.
func begin(t *testing.T, opts dap.Options, change ...func(*daptest.Program)) (*dap.Debugger, *dap.Session, *daptest.Program) {
	t.Helper()
	d := newDebugger(t, opts)
	a, address := daptest.Listen(t)
	p := daptest.NewProgram(a, source(t), daptest.All())
	for _, fn := range change {
		fn(p)
	}
	s, err := d.Start(within(t), &dap.Start{Request: "launch", Address: address, Dir: filepath.Dir(p.Path), Program: p.Path})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	return d, s, p
}

// beginProcess is begin with an adapter in its own process.
func beginProcess(t *testing.T) (*dap.Debugger, *dap.Session, *daptest.Adapter, *daptest.Program, *dap.Spec) {
	t.Helper()
	d := newDebugger(t, dap.Options{})
	a, spec := daptest.Process(t)
	p := daptest.NewProgram(a, source(t), daptest.All())
	s, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: filepath.Dir(p.Path)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	return d, s, a, p, spec
}

// snapshot returns a snapshot and fails the test on an error.
func snapshot(t *testing.T, s *dap.Session) *dap.Snapshot {
	t.Helper()
	snap, err := s.Snapshot(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// resume resumes the program and waits for the next stop.
func resume(t *testing.T, s *dap.Session, command string) {
	t.Helper()
	if err := s.Resume(within(t), dap.Resume{Command: command}); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
}
