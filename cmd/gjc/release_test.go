package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
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
	if err != nil || !strings.HasPrefix(string(version), "gjc 9.8.7 (") {
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

func TestBuiltVersion(t *testing.T) {
	t.Parallel()
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, tt := range []struct {
		main     string
		settings []debug.BuildSetting
		want     string
	}{
		{"v0.1.0", nil, "0.1.0"},
		{"v0.1.0", []debug.BuildSetting{revision}, "0.1.0"},
		{"v0.2.0-rc.1", nil, "0.2.0-rc.1"},
		{"v0.1.0+dirty", []debug.BuildSetting{revision, modified}, "0.1.0+dirty"},
		{"v0.0.0-20261125233226-0123456789ab", nil, "0.0.0-dev+g0123456789ab"},
		{"v0.1.1-0.20261125233226-0123456789ab", []debug.BuildSetting{revision}, "0.1.1-dev+g0123456789ab"},
		{"v0.1.1-0.20261125233226-0123456789ab+dirty", []debug.BuildSetting{revision, modified}, "0.1.1-dev+g0123456789ab.dirty"},
		{"v0.2.0-rc.1.0.20261125233226-0123456789ab", nil, "0.2.0-dev+g0123456789ab"},
		{"(devel)", []debug.BuildSetting{revision, modified}, "0.0.0-dev+g0123456789ab.dirty"},
		{"(devel)", nil, "0.0.0-dev"},
		{"", nil, "0.0.0-dev"},
	} {
		if got := builtVersion(&debug.BuildInfo{Main: debug.Module{Version: tt.main}, Settings: tt.settings}); got != tt.want {
			t.Errorf("main module %q, settings %v: %s, want %s", tt.main, tt.settings, got, tt.want)
		}
	}
	if got := builtVersion(nil); got != "0.0.0-dev" {
		t.Errorf("without build information: %s", got)
	}
}
