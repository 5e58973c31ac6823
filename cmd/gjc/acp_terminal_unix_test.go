//go:build unix

package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/proc"
)

// On a terminal gjc acp explains itself, works as usual, and ends with its input. Over an editor's pipes it prints no
// explanation.
func TestACP_OnATerminal(t *testing.T) {
	t.Parallel()
	screen := &typescript{changed: make(chan struct{})}
	home := tempDir(t)
	p, err := proc.Start(t.Context(), &proc.Options{
		Path: self(t), Args: []string{"acp"}, Dir: home, PTY: true, Stdin: true, Stdout: screen, Env: append(environment(home), "TERM=dumb"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	screen.await(t, "Run gjc demo to see what it does")
	if _, err := io.WriteString(p.Stdin(), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+"\r"); err != nil {
		t.Fatal(err)
	}
	screen.await(t, `"agentInfo"`)
	if _, err := io.WriteString(p.Stdin(), "\x04"); err != nil { // Ctrl-D
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	if state, err := p.Wait(ctx); err != nil || !state.Success() {
		t.Errorf("it ended with %v, %v", state, err)
	}
	e := startPeer(t, peerOptions{home: home})
	e.initialize(nil)
	e.stop()
	if stderr := e.stderrText.String(); strings.Contains(stderr, "gjc demo") {
		t.Errorf("an editor received %q", stderr)
	}
}
