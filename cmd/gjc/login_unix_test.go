//go:build unix

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
)

// typescript is what a terminal shows, and waits for words on it.
type typescript struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{}
}

func (s *typescript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
	return s.text.Write(p)
}

func (s *typescript) await(t *testing.T, words string) {
	t.Helper()
	hangs := time.After(hang)
	for {
		s.mu.Lock()
		text, changed := s.text.String(), s.changed
		s.mu.Unlock()
		if strings.Contains(text, words) {
			return
		}
		select {
		case <-changed:
		case <-hangs:
			t.Fatalf("no %q on the screen:\n%s", words, text)
		}
	}
}

// On a terminal the login asks for the provider, then for the key, which it does not show.
func TestLogin_OnATerminal(t *testing.T) {
	dir := t.TempDir()
	s := &typescript{changed: make(chan struct{})}
	p, err := proc.Start(t.Context(), &proc.Options{
		Path: self(t), Args: []string{"acp", "--acp-terminal-auth"}, Dir: dir, PTY: true, Stdin: true, Stdout: s,
		Env: environment(dir, "GJC_CODING_AGENT_DIR="+filepath.Join(dir, "agent"), "TERM=dumb"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	typed := func(text string) {
		if _, err := io.WriteString(p.Stdin(), text); err != nil {
			t.Fatal(err)
		}
	}
	s.await(t, "Provider [anthropic]: ")
	typed("openai\r")
	s.await(t, "API key for openai: ")
	typed("sk-typed-in-the-dark\r")
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	state, err := p.Wait(ctx)
	if err != nil || !state.Success() {
		t.Fatalf("the login ended with %v, %v", state, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if text := s.text.String(); !strings.Contains(text, "The key for openai is stored.") || strings.Contains(text, "in-the-dark") {
		t.Errorf("the screen shows:\n%s", text)
	}
	data, err := os.ReadFile(filepath.Join(dir, "agent", "auth.json"))
	if err != nil || !strings.Contains(string(data), "sk-typed-in-the-dark") {
		t.Errorf("auth.json has %s, %v", data, err)
	}
}
