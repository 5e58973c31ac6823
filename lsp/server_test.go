package lsp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
)

func TestServer_MainPath(t *testing.T) {
	s := start(t, script{Publish: "versioned"}, func(o *lsp.ServerOptions) { o.Spec.Settings = jsonx.Raw(`{"fake":{"a":1}}`) })
	if st := s.Status(); st.State != lsp.StateIdle || st.PID != 0 || s.Encoding() != lsp.UTF16 || s.Supports("textDocument/hover", "") || s.Capabilities() != nil {
		t.Errorf("before the start: %+v", st)
	}
	d := s.hold("a.go", "package a // BUG\n")
	list, fresh, err := d.Diagnostics(in(t))
	if err != nil || !fresh || len(list) != 1 || list[0].Message != "a bug: package a // BUG" || list[0].Range.Start.Character != 13 {
		t.Fatalf("%v, %v, %v", list, fresh, err)
	}
	if err := d.Save(in(t)); err != nil {
		t.Fatal(err)
	}
	d.Release()
	d.Release()
	d = s.hold("a.go", "package a\n")
	defer d.Release()
	if list, fresh, err := d.Diagnostics(in(t)); err != nil || !fresh || len(list) != 0 {
		t.Errorf("after the fix: %v, %v, %v", list, fresh, err)
	}
	if got := s.doc("a.go"); got.Text != "package a\n" || got.Version != 2 || got.Language != "go" || got.Opened != 1 {
		t.Errorf("the server has %+v", got)
	}
	want := []string{"initialize", "initialized", "workspace/didChangeConfiguration", "textDocument/didOpen", "textDocument/didSave", "textDocument/didChange"}
	if diff := cmp.Diff(want, s.seen()); diff != "" {
		t.Error(diff)
	}
	st := s.Status()
	if st.State != lsp.StateReady || st.PID == 0 || st.Info != "fake 1.2" || st.Documents != 1 || st.Restarts != 0 {
		t.Errorf("%+v", st)
	}
	if !s.Supports("textDocument/hover", d.Path) || s.Supports("textDocument/rename", d.Path) {
		t.Error("the capabilities are not those of the server")
	}
}

func TestServer_AnswersOfTheServer(t *testing.T) {
	s := start(t, script{}, nil)
	err := s.Call(in(t), "test/error", nil, nil)
	if e, ok := errors.AsType[*lsp.ResponseError](err); !ok || e.Code != -32803 || string(e.Data) != "5" || err.Error() != "fake: test/error: cannot be done" {
		t.Errorf("an error answer: %v", err)
	}
	ask[any](s, "test/stray", nil)
	if got := ask[string](s, "test/echo", "hello"); got != "hello" {
		t.Errorf("after stray messages: %q", got)
	}
	for _, method := range []string{"initialize", "exit", "textDocument/didOpen"} {
		if s.Call(in(t), method, nil, nil) == nil || s.Notify(in(t), method, nil) == nil {
			t.Errorf("%s can be sent", method)
		}
	}
}

func TestServer_ConcurrentStarts(t *testing.T) {
	s := start(t, script{}, nil)
	pids := make(chan int, 20)
	for range cap(pids) {
		go func() {
			var pid int
			if err := s.Call(in(t), "test/pid", nil, &pid); err != nil {
				t.Error(err)
			}
			pids <- pid
		}()
	}
	first := <-pids
	for range cap(pids) - 1 {
		if pid := <-pids; pid != first {
			t.Errorf("two processes: %d and %d", first, pid)
		}
	}
}

func TestServer_StartsThatFail(t *testing.T) {
	plain := t.TempDir() + "/plain"
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	once := func(o *lsp.ServerOptions) { o.Spec.Warmup, o.Backoff = 3*time.Second, []time.Duration{} }
	for _, tt := range []struct {
		name   string
		script script
		change func(*lsp.ServerOptions)
		want   []string
		// once reports that change allows only one attempt, with a timeout long enough for the server to print something.
		once bool
	}{
		{"missing", script{}, func(o *lsp.ServerOptions) { o.Spec.Path = "/nowhere/server" }, []string{"fake", "/nowhere/server", "install it"}, false},
		{"not executable", script{}, func(o *lsp.ServerOptions) { o.Spec.Path = plain }, []string{plain, "make it executable"}, false},
		{"no root", script{}, func(o *lsp.ServerOptions) { o.Root = "/nowhere/root" }, []string{"/nowhere/root", "its directory"}, false},
		{"exits", script{CrashOn: "initialize"}, nil, []string{"cannot start", "exited with code 7", "out of cheese", "--stdio"}, false},
		{"hangs", script{HangOn: "initialize", Stderr: "thinking"}, once, []string{"did not answer initialize within 3s", "thinking"}, true},
		{"garbage", script{Garbage: true}, once, []string{"did not answer", "a long story"}, true},
		{"stubborn", script{HangOn: "initialize", Stubborn: true}, func(o *lsp.ServerOptions) { o.Spec.Warmup = 100 * time.Millisecond }, []string{"did not answer"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, tt.script, tt.change)
			err := s.Start(in(t))
			if err == nil {
				t.Fatal("it started")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in %q", w, err)
				}
			}
			if s.children.Len() != 0 {
				t.Error("its process lives on")
			}
			if _, err := s.Hold(in(t), s.path("a.go"), "x"); err == nil {
				t.Error("a document can be held")
			}
			for range 3 {
				err = s.Start(in(t))
			}
			if !errors.Is(err, lsp.ErrServerFailed) || s.Status().State != lsp.StateFailed {
				t.Errorf("after the last attempt: %v, %s", err, s.Status().State)
			}
			attempts := 4
			if tt.once {
				attempts = 1
			}
			s.until(fmt.Sprintf("failed %d times", attempts))
		})
	}
}

func TestServer_StartFailsAll(t *testing.T) {
	s := start(t, script{HangOn: "initialize"}, func(o *lsp.ServerOptions) { o.Spec.Warmup = 200 * time.Millisecond })
	errs := make(chan error)
	for range 5 {
		go func() { errs <- s.Start(in(t)) }()
	}
	for range 5 {
		if err := <-errs; err == nil || !strings.Contains(err.Error(), "did not answer") {
			t.Error(err)
		}
	}
	if st := s.Status(); st.State != lsp.StateRestarting || st.LastError == "" {
		t.Errorf("%+v", st)
	}
}

func TestServer_Headers(t *testing.T) {
	for name, sc := range map[string]script{
		"lower":        {Headers: "lower"},
		"type":         {Headers: "type"},
		"split":        {Headers: "split"},
		"logs before":  {Preamble: "Starting up…\nWARNING: old node\n\n{\"level\":30}\n"},
		"no newline":   {Preamble: "Ready."},
		"windows logs": {Preamble: "one\r\ntwo: three\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, sc, nil)
			if got := ask[string](s, "test/echo", "ä"); got != "ä" {
				t.Errorf("%q", got)
			}
			if line, _, _ := strings.Cut(strings.TrimSpace(sc.Preamble), "\n"); !strings.Contains(s.Status().Log, strings.TrimSpace(line)) {
				t.Errorf("the log does not have %q: %q", line, s.Status().Log)
			}
		})
	}
}

func TestServer_AnswersOverTheLimit(t *testing.T) {
	s := start(t, script{}, func(o *lsp.ServerOptions) { o.MaxMessage = 1 << 20 })
	for _, method := range []string{"test/big", "test/bigtail"} {
		err := s.Call(in(t), method, map[string]any{"size": 100 << 20}, nil)
		if err == nil || !strings.Contains(err.Error(), "is larger than 1 MiB") {
			t.Errorf("%s: %.200v", method, err)
		}
	}
	if got := ask[string](s, "test/echo", "alive"); got != "alive" || s.Status().Restarts != 0 {
		t.Error("the connection did not live on")
	}
}

func TestServer_CancelledCall(t *testing.T) {
	s := start(t, script{HangOn: "test/hang"}, func(o *lsp.ServerOptions) { o.RequestTimeout = 2 * time.Second })
	if err := s.Start(in(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Call(in(t), "test/hang", nil, nil); !errors.Is(err, lsp.ErrTimeout) {
		t.Errorf("nobody answers: %v", err)
	}
	why := errors.New("the user pressed stop")
	ctx, cancel := context.WithCancelCause(in(t))
	cancel(why)
	if err := s.Call(ctx, "test/echo", 1, nil); !errors.Is(err, why) {
		t.Errorf("a cancelled call: %v", err)
	}
	if got := s.seen(); got[len(got)-1] != "$/cancelRequest" {
		t.Errorf("the server was not told: %q", got)
	}
}

func TestServer_ManyCallsAtOnce(t *testing.T) {
	s := start(t, script{HangOn: "test/hang"}, nil)
	if err := s.Start(in(t)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(in(t))
	done := make(chan error)
	for range 64 {
		go func() { done <- s.Call(ctx, "test/hang", nil, nil) }()
	}
	var err error
	for deadline := in(t); err == nil || !strings.Contains(err.Error(), "too many requests"); {
		if deadline.Err() != nil {
			t.Fatalf("a 65th call does not wait: %v", err)
		}
		short, stop := context.WithTimeout(deadline, 200*time.Millisecond)
		err = s.Call(short, "test/echo", 1, nil)
		stop()
	}
	cancel()
	for range 64 {
		<-done
	}
	ask[any](s, "test/echo", 1)
}

func TestServer_ServerThatDoesNotRead(t *testing.T) {
	s := start(t, script{Deaf: true}, nil)
	big := strings.Repeat("x", 3<<20)
	ctx, cancel := context.WithTimeout(in(t), 300*time.Millisecond)
	defer cancel()
	var err error
	for i := 0; err == nil; i++ {
		_, err = s.Hold(ctx, s.path(fmt.Sprint(i, ".txt")), big)
	}
	if ctx.Err() == nil {
		t.Error(err)
	}
}

func TestServer_ServerThatAsksWithoutReading(t *testing.T) {
	s := start(t, script{Nag: true}, func(o *lsp.ServerOptions) { o.Backoff = []time.Duration{} })
	if err := s.Start(in(t)); err != nil {
		t.Fatal(err)
	}
	s.until("failed")
}

func TestServer_CloseInEachPhase(t *testing.T) {
	for name, sc := range map[string]script{
		"never started":           {},
		"in the start":            {HangOn: "initialize"},
		"hangs in the shutdown":   {HangOn: "shutdown"},
		"crashes in the shutdown": {CrashOn: "shutdown"},
		"crashes in the exit":     {CrashOn: "exit"},
		"stubborn":                {Stubborn: true},
		"deaf":                    {Deaf: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, sc, nil)
			starting := make(chan error, 1)
			switch name {
			case "never started":
				starting <- nil
			case "in the start":
				go func() { starting <- s.Start(in(t)) }()
				for s.children.Len() == 0 {
					select {
					case err := <-starting:
						t.Fatal(err)
					case <-time.After(time.Millisecond):
					}
				}
			default:
				starting <- s.Start(in(t))
			}
			if err := s.Close(in(t)); err != nil {
				t.Error(err)
			}
			err := <-starting
			if name == "in the start" && !errors.Is(err, lsp.ErrClosed) {
				t.Errorf("who waits for the start got %v", err)
			}
			if err := s.Call(in(t), "test/echo", 1, nil); !errors.Is(err, lsp.ErrClosed) {
				t.Errorf("a call after the close: %v", err)
			}
			if st := s.Status(); st.State != lsp.StateClosed || st.PID != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}
