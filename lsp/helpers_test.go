package lsp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/lsp"
)

// timeout bounds every wait of a test. It is long enough for a busy machine.
const timeout = time.Minute

// server is a server under test that records its notices.
type server struct {
	*lsp.Server
	t        testing.TB
	root     string
	children *proc.Group

	mu      sync.Mutex
	notices []string
	noticed chan struct{}
}

// start returns a server that runs a script. It is closed at the end of the test, which must leave no goroutine and no child.
// change may modify the options.
func start(t testing.TB, s script, change func(*lsp.ServerOptions)) *server {
	t.Helper()
	testenv.NoLeaks(t)
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sv := &server{t: t, root: root, children: proc.NewGroup(nil), noticed: make(chan struct{}, 1)}
	opts := lsp.ServerOptions{
		Spec: &lsp.Spec{Name: "fake", Path: self}, Root: root, Children: sv.children, Version: "0.1",
		Env:     fakeEnv(raw),
		Backoff: []time.Duration{time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond},
		Notice: func(text, detail string) {
			sv.mu.Lock()
			sv.notices = append(sv.notices, text+"\n"+detail)
			sv.mu.Unlock()
			select {
			case sv.noticed <- struct{}{}:
			default:
			}
		},
	}
	if change != nil {
		change(&opts)
	}
	sv.Server = lsp.NewServer(opts)
	t.Cleanup(func() {
		if err := sv.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if n := sv.children.Len(); n != 0 {
			t.Errorf("%d children are left", n)
		}
	})
	return sv
}

// fakeEnv returns the environment of a fake server. A race-enabled binary sleeps for a second before it exits, which is also the
// limit for ending a server, so fakeEnv disables the sleep.
func fakeEnv(script []byte) []string {
	return proc.Environ(os.Environ(), fakeVariable+"="+string(script), "GORACE=atexit_sleep_ms=0")
}

// in returns a context for an operation that should be fast.
func in(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	t.Cleanup(cancel)
	return ctx
}

func (s *server) path(name string) string { return filepath.Join(s.root, filepath.FromSlash(name)) }

func (s *server) uri(name string) string { return lsp.FileURI(s.path(name), runtime.GOOS) }

// ask makes a request that must succeed.
func ask[T any](s *server, method string, params any) T {
	s.t.Helper()
	var raw jsonx.Raw
	if err := s.Call(in(s.t), method, params, &raw); err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		s.t.Fatalf("%s: %v in %s", method, err, raw)
	}
	return v
}

// asked makes the server send a request and returns the response that it receives.
func (s *server) asked(method, params string) string {
	s.t.Helper()
	return string(ask[json.RawMessage](s, "test/ask", map[string]any{"method": method, "params": json.RawMessage(params)}))
}

// notifies makes the server send a notification.
func (s *server) notifies(method, params string) {
	s.t.Helper()
	ask[any](s, "test/notify", map[string]any{"method": method, "params": json.RawMessage(params)})
}

func (s *server) hold(name, text string) *lsp.Document {
	s.t.Helper()
	d, err := s.Hold(in(s.t), s.path(name), text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *server) doc(name string) *fakeDoc {
	s.t.Helper()
	return ask[*fakeDoc](s, "test/doc", map[string]any{"uri": s.uri(name)})
}

// seen returns the methods that the process has received, except those of the tests.
func (s *server) seen() []string {
	s.t.Helper()
	var list []string
	for _, m := range ask[[]string](s, "test/seen", nil) {
		if !strings.HasPrefix(m, "test/") {
			list = append(list, m)
		}
	}
	return list
}

// until waits for a notice that contains text.
func (s *server) until(text string) {
	s.t.Helper()
	timeout := time.After(timeout)
	for {
		s.mu.Lock()
		for _, n := range s.notices {
			if strings.Contains(n, text) {
				s.mu.Unlock()
				return
			}
		}
		s.mu.Unlock()
		select {
		case <-s.noticed:
		case <-timeout:
			s.t.Fatalf("no notice with %q in %q", text, s.notices)
		}
	}
}

// lateOf waits for the late reports of a change.
func lateOf(t *testing.T, e *editor) (late []*lsp.Report) {
	t.Helper()
	for ctx := in(t); late == nil && ctx.Err() == nil; {
		late = e.Late()
	}
	return late
}
