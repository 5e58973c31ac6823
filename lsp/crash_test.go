package lsp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/lsp"
)

func TestServer_CrashDuringRequest(t *testing.T) {
	s := start(t, script{HangOn: "test/hang"}, nil)
	first := ask[int](s, "test/pid", nil)
	pending := make(chan error)
	for range 3 {
		go func() { pending <- s.Call(in(t), "test/hang", nil, nil) }()
	}
	for hanging := 0; hanging < 3; {
		hanging = 0
		for _, m := range ask[[]string](s, "test/seen", nil) {
			if m == "test/hang" {
				hanging++
			}
		}
	}
	err := s.Call(in(t), "test/crash", nil, nil)
	if !errors.Is(err, lsp.ErrServerDied) || !strings.Contains(err.Error(), "out of cheese") || !strings.Contains(err.Error(), "exited with code 7") {
		t.Errorf("the call that it died of: %v", err)
	}
	for range 3 {
		select {
		case err := <-pending:
			if !errors.Is(err, lsp.ErrServerDied) || !strings.Contains(err.Error(), "out of cheese") {
				t.Errorf("a pending call: %v", err)
			}
		case <-time.After(timeout):
			t.Fatal("a pending call hangs")
		}
	}
	if again := ask[int](s, "test/pid", nil); again == first {
		t.Error("the process is the same")
	}
	st := s.Status()
	if st.State != lsp.StateReady || st.Restarts != 1 || !strings.Contains(st.LastError, "out of cheese") {
		t.Errorf("%+v", st)
	}
	s.until("not available; trying again")
}

func TestServer_KilledWithDocuments(t *testing.T) {
	s := start(t, script{Publish: "versioned"}, nil)
	d := s.hold("a b+c.go", "BUG\n")
	defer d.Release()
	free := s.hold("free.go", "one")
	free.Release()
	free = s.hold("free.go", "two")
	free.Release()
	if _, fresh, err := d.Diagnostics(in(t)); err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	pid := ask[int](s, "test/pid", nil)
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	s.until("trying again")
	for deadline := in(t); s.Status().State != lsp.StateReady; runtime.Gosched() { // restarts without a call because a document is held
		if deadline.Err() != nil {
			t.Fatalf("not restarted: %+v", s.Status())
		}
	}
	if ask[int](s, "test/pid", nil) == pid {
		t.Error("the process is the same")
	}
	if got := s.doc("a b+c.go"); got == nil || got.Text != "BUG\n" || got.Version != int(d.Version) || got.Opened != 1 {
		t.Errorf("the new process has %+v", got)
	}
	if got := s.doc("free.go"); got == nil || got.Text != "two" {
		t.Errorf("the idle document: %+v", got)
	}
	list, fresh, err := d.Diagnostics(in(t))
	if err != nil || !fresh || len(list) != 1 {
		t.Errorf("diagnostics of the new process: %v, %v, %v", list, fresh, err)
	}
}

func TestServer_RestartLimit(t *testing.T) {
	s := start(t, script{CrashAfter: "initialize"}, nil)
	var err error
	for deadline := in(t); !errors.Is(err, lsp.ErrServerFailed) && deadline.Err() == nil; {
		err = s.Call(deadline, "test/echo", 1, nil)
	}
	s.until("failed 4 times")
	if !errors.Is(err, lsp.ErrServerFailed) || !strings.Contains(err.Error(), "out of cheese") || !strings.Contains(err.Error(), "/lsp restart") {
		t.Error(err)
	}
}

func TestServer_RestartClearsFailures(t *testing.T) {
	once := filepath.Join(t.TempDir(), "once")
	s := start(t, script{CrashOn: "initialize", Once: once}, func(o *lsp.ServerOptions) { o.Backoff = []time.Duration{} })
	if err := s.Start(in(t)); err == nil {
		t.Fatal("no failure")
	}
	if err := s.Start(in(t)); !errors.Is(err, lsp.ErrServerFailed) {
		t.Fatal(err)
	}
	if err := s.Restart(in(t)); err != nil {
		t.Fatal(err)
	}
	first := ask[int](s, "test/pid", nil)
	if err := s.Restart(in(t)); err != nil {
		t.Fatal(err)
	}
	if ask[int](s, "test/pid", nil) == first {
		t.Error("no restart")
	}
	if s.children.Len() != 1 {
		t.Errorf("%d processes", s.children.Len())
	}
}

func TestServer_CrashDuringStart(t *testing.T) {
	once := filepath.Join(t.TempDir(), "once")
	s := start(t, script{CrashOn: "textDocument/didOpen", Once: once, Publish: "versioned"}, nil)
	d := s.hold("a.go", "BUG")
	defer d.Release()
	if list, fresh, err := d.Diagnostics(in(t)); err != nil || !fresh || len(list) != 1 {
		t.Errorf("%v, %v, %v", list, fresh, err)
	}
}

func TestServer_Rest(t *testing.T) {
	s := start(t, script{}, nil)
	d := s.hold("a.go", "one")
	d.Release()
	first := ask[int](s, "test/pid", nil)
	s.Rest(in(t))
	if st := s.Status(); st.State != lsp.StateIdle || st.PID != 0 || s.children.Len() != 0 {
		t.Errorf("after Rest: %+v", st)
	}
	s.FilesChanged(in(t), []lsp.FileEvent{{Path: d.Path, Type: 2}})
	if err := s.Notify(in(t), "test/nothing", nil); err != nil || s.children.Len() != 0 {
		t.Errorf("a notification started it: %v", err)
	}
	if ask[int](s, "test/pid", nil) == first || s.doc("a.go").Text != "one" {
		t.Error("the document was not opened again")
	}
	if st := s.Status(); st.LastError != "" {
		t.Error(st.LastError)
	}
}

func TestServer_ConcurrentStopsAndStarts(t *testing.T) {
	s := start(t, script{}, nil)
	ctx, cancel := context.WithTimeout(in(t), 2*time.Second)
	defer cancel()
	done := make(chan error)
	for i := range 6 {
		go func() {
			for ctx.Err() == nil {
				var err error
				switch i {
				case 0:
					err = s.Restart(ctx)
				case 1:
					s.Rest(ctx)
				case 2:
					var d *lsp.Document
					if d, err = s.Hold(ctx, s.path("a.go"), fmt.Sprint(time.Now())); err == nil {
						d.Release()
					}
				default:
					err = s.Call(ctx, "test/echo", i, nil)
					if err != nil && strings.Contains(err.Error(), "was stopped") {
						err = nil
					}
				}
				if err != nil && ctx.Err() == nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 6 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := s.children.Len(); n > 1 {
		t.Errorf("%d processes", n)
	}
}

// TestServer_OutputEnds checks that a process that closes its output, or ends it inside a message, counts as lost.
func TestServer_OutputEnds(t *testing.T) {
	s := start(t, script{Stubborn: true}, nil)
	first := ask[int](s, "test/pid", nil)
	err := s.Call(in(t), "test/closeout", nil, nil)
	if !errors.Is(err, lsp.ErrServerDied) {
		t.Errorf("the call: %v", err)
	}
	if ask[int](s, "test/pid", nil) == first || s.children.Len() != 1 {
		t.Errorf("%d processes", s.children.Len())
	}
}
