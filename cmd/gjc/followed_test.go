package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// What gjc itself reads from a workspace, and what git's configuration makes git run, asks before it is changed.
func TestProtected_Computed(t *testing.T) {
	t.Parallel()
	testenv.NeedsTool(t, "git")
	p := startPeer(t, peerOptions{})
	for _, args := range [][]string{{"init", "-q"}, {"config", "core.hooksPath", "scripts/git"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = p.work
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git: %v: %s", err, out)
		}
	}
	writeFile(t, filepath.Join(p.work, "CLAUDE.md"), "Follow @docs/style.md.\n")
	writeFile(t, filepath.Join(p.work, "docs", "style.md"), "Be brief.\n")
	p.initialize(nil)
	id := p.session("default")
	files := append(loadedFiles(), "scripts/git/pre-commit", "docs/style.md")
	if len(files) < 30 {
		t.Errorf("gjc reads %q", files)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "/") {
			name += "x.md"
		}
		prompt := p.prompt(id, "!write "+name+" text")
		ask := p.called("session/request_permission")
		if !strings.Contains(ask.line, "it always asks") {
			t.Errorf("%s: %s", name, ask.line)
		}
		p.reply(ask, `{"outcome":{"outcome":"selected","optionId":"reject_once"}}`)
		p.answer(prompt)
	}
	p.stop()
}
