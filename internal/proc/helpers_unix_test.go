//go:build unix

package proc_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
)

// patience is the time for which a test waits for an expected event before it fails.
const patience = time.Minute

// start starts a fake for the test. The process and its goroutines have ended when the test ends.
func start(t *testing.T, fake string, o proc.Options) *proc.Process {
	t.Helper()
	o.Path = self()
	if o.Env == nil {
		o.Env = fakeEnv(fake)
	}
	p, err := proc.Start(t.Context(), &o)
	if err != nil {
		t.Fatalf("starting %s: %v", fake, err)
	}
	t.Cleanup(func() {
		p.Kill()
		if err := p.Shutdown(context.Background(), nil); err != nil {
			t.Error(err)
		}
		if p.Stdout() != nil {
			_ = p.Stdout().Close()
		}
	})
	return p
}

// wait returns how p ended.
func wait(t *testing.T, p *proc.Process) proc.ExitState {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	state, err := p.Wait(ctx)
	if err != nil {
		t.Fatalf("process %d did not end: %v", p.PID(), err)
	}
	return state
}

// readLine returns the next line of p's stdout without its newline.
func readLine(t *testing.T, r io.Reader) string {
	t.Helper()
	var line []byte
	var b [1]byte
	for {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			t.Fatalf("reading a line, after %q: %v", line, err)
		}
		if b[0] == '\n' {
			return strings.TrimSpace(string(line))
		}
		line = append(line, b[0])
	}
}

// sink collects output, and records writes that are late or concurrent.
type sink struct {
	mu     sync.Mutex
	b      strings.Builder
	closed bool
	late   bool
	lines  chan string // gets the text whenever it ends a line; may be nil
}

func (s *sink) Write(p []byte) (int, error) {
	if !s.mu.TryLock() {
		panic("two writes at once")
	}
	defer s.mu.Unlock()
	s.late = s.late || s.closed
	s.b.Write(p)
	if s.lines != nil && strings.HasSuffix(s.b.String(), "\n") {
		select {
		case s.lines <- s.b.String():
		default:
		}
	}
	return len(p), nil
}

// close returns the collected text. Later writes are late.
func (s *sink) close() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.b.String()
}

func noLeaks(t *testing.T) { testenv.NoLeaks(t) }
