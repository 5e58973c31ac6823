//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/providers/providertest"
)

// typescript records a terminal's output, and waits for words on it.
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

// loginTerminal is a login on a terminal.
type loginTerminal struct {
	*testing.T
	dir    string
	screen *typescript
	p      *proc.Process
}

func startLogin(t *testing.T, env ...string) *loginTerminal {
	t.Helper()
	l := &loginTerminal{T: t, dir: t.TempDir(), screen: &typescript{changed: make(chan struct{})}}
	p, err := proc.Start(t.Context(), &proc.Options{
		Path: self(t), Args: []string{"acp", "--acp-terminal-auth"}, Dir: l.dir, PTY: true, Stdin: true, Stdout: l.screen,
		Env: append(environment(l.dir, "GJC_CODING_AGENT_DIR="+filepath.Join(l.dir, "agent"), "TERM=dumb"), env...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	l.p = p
	return l
}

// answer waits for a question and types the answer.
func (l *loginTerminal) answer(question, text string) {
	l.Helper()
	l.screen.await(l.T, question)
	if _, err := io.WriteString(l.p.Stdin(), text+"\r"); err != nil {
		l.Fatal(err)
	}
}

// end waits for the end of the login and returns the screen and the contents of auth.json.
func (l *loginTerminal) end(success bool) (screen, stored string) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), hang)
	defer cancel()
	state, err := l.p.Wait(ctx)
	if err != nil || state.Success() != success {
		l.Fatalf("the login ended with %v, %v", state, err)
	}
	data, err := os.ReadFile(filepath.Join(l.dir, "agent", "auth.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.Fatal(err)
	}
	l.screen.mu.Lock()
	defer l.screen.mu.Unlock()
	return l.screen.text.String(), string(data)
}

// On a terminal the login asks for the provider, then for the key, which it does not show, and tests it only if the
// user agrees.
func TestLogin_OnATerminal(t *testing.T) {
	l := startLogin(t)
	l.answer("Provider [anthropic]: ", "openai")
	l.answer("API key for openai: ", "sk-typed-in-the-dark")
	l.answer("Test the key with one small request? [Y/n] ", "n")
	screen, stored := l.end(true)
	if !strings.Contains(screen, "The key for openai is stored.") || strings.Contains(screen, "in-the-dark") {
		t.Errorf("the screen shows:\n%s", screen)
	}
	if !strings.Contains(stored, "sk-typed-in-the-dark") {
		t.Errorf("auth.json has %s", stored)
	}
}

func TestLogin_TestsTheKey(t *testing.T) {
	const key = "sk-ant-typed-in-the-dark"
	for name, test := range map[string]struct {
		step    providertest.Step
		all     string // the answer to storing it anyway, if that is asked
		success bool
		shown   string
	}{
		"good":            {providertest.Step{providertest.Text("OK")}, "", true, "The key works."},
		"refused":         {providertest.Step{providertest.Status(401, `{"error":{"type":"authentication_error","message":"invalid x-api-key `+key+`"}}`, nil)}, "", false, "The test failed"},
		"refused, stored": {providertest.Step{providertest.Status(401, `{"error":{"type":"authentication_error","message":"no"}}`, nil)}, "y", true, "The test failed"},
	} {
		t.Run(name, func(t *testing.T) {
			model := providertest.NewServer(test.step)
			defer model.Close()
			l := startLogin(t, "ANTHROPIC_BASE_URL="+model.AnthropicURL())
			l.answer("Provider [anthropic]: ", "")
			l.answer("API key for anthropic: ", key)
			l.answer("[Y/n] ", "")
			if test.shown != "The key works." {
				l.answer("Store the key anyway? [y/N] ", test.all)
			}
			screen, stored := l.end(test.success)
			if !strings.Contains(screen, test.shown) || strings.Contains(screen, "in-the-dark") {
				t.Errorf("the screen shows:\n%s", screen)
			}
			if strings.Contains(stored, key) != test.success {
				t.Errorf("auth.json has %q", stored)
			}
			if r := model.Requests(); len(r) != 1 || r[0].Header.Get("X-Api-Key") != key || len(r[0].Body) > 1000 {
				t.Errorf("the model was asked %d times", len(r))
			}
		})
	}
}
