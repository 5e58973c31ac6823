package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// The other tests run the test binary as gjc. This one builds the program like a release, stripped and without paths,
// and runs a short session with it.
func TestRelease(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program")
	}
	program := filepath.Join(t.TempDir(), "gjc")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "go"), "build", "-trimpath", "-ldflags", "-s -w -X main.release=v9.8.7", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	version, err := exec.CommandContext(t.Context(), program, "version").Output()
	if err != nil || !strings.HasPrefix(string(version), "gjc v9.8.7 (") {
		t.Errorf("version: %s, %v", version, err)
	}
	p := startPeer(t, peerOptions{path: program})
	p.initialize(nil)
	id := p.session("auto")
	m, before := p.answer(p.prompt(id, "!write a.txt hello\n!read a.txt\n!search hel+o\n!bash echo from the shell"))
	if m.Error != nil || strings.Contains(strings.Join(lines(before), "\n"), `"status":"failed"`) {
		t.Errorf("the prompt got %s after %v", m.line, lines(before))
	}
	p.call("session/close", object{"sessionId": id})
	_, replay := p.answer(p.request("session/load", object{"sessionId": id, "cwd": p.work, "mcpServers": []any{}}))
	if !strings.Contains(strings.Join(lines(replay), "\n"), "from the shell") {
		t.Errorf("the session was not replayed: %v", lines(replay))
	}
	p.stop()
}
