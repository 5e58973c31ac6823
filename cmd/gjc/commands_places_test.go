package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// A session in a directory of a repository has the commands, skills and helper agents of all directories up to the
// repository's root, including those of other agents' directories. gjc's own come first, then the nearest.
func TestCommands_Places(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	p := startPeer(t, peerOptions{home: home})
	repo := filepath.Join(p.work, "repo")
	sub := filepath.Join(repo, "services", "api")
	writeFile(t, filepath.Join(repo, ".git", "HEAD"), "ref: refs/heads/main\n")
	for path, text := range map[string]string{
		filepath.Join(sub, ".claude", "commands", "near.md"):          "near of claude",
		filepath.Join(repo, ".gjc", "commands", "near.md"):            "near of gjc",
		filepath.Join(repo, ".gjc", "commands", "top.md"):             "top of the repository",
		filepath.Join(repo, "services", ".gjc", "commands", "top.md"): "top of services",
		filepath.Join(repo, ".codex", "commands", "dex.md"):           "dex of codex",
		filepath.Join(repo, ".agents", "skills", "pdf", "SKILL.md"):   "---\nname: pdf\ndescription: Reads PDFs\n---\npdf of agents",
		filepath.Join(home, ".claude", "skills", "doc", "SKILL.md"):   "---\nname: doc\ndescription: Writes docs\n---\ndoc of home",
		filepath.Join(home, ".claude", "commands", "own.md"):          "own of home",
		filepath.Join(p.work, ".gjc", "commands", "outside.md"):       "outside of the repository",
		filepath.Join(p.work, ".claude", "commands", "outside2.md"):   "outside of the repository",
		filepath.Join(repo, ".gjc", "agents", "scout.md"):             "---\nname: scout\ndescription: Looks around\n---\nYou look around.",
		filepath.Join(home, ".claude", "commands", "b a d.md"):        "cannot be a command, and is not the user's mistake",
	} {
		writeFile(t, path, text)
	}
	p.initialize(nil)
	m, _ := p.answer(p.request("session/new", object{"cwd": sub, "mcpServers": []any{}}))
	var made struct{ SessionID string }
	if err := json.Unmarshal(m.Result, &made); err != nil {
		t.Fatal(err)
	}
	listed, before := p.until("the commands of files", func(m message) bool {
		return strings.Contains(m.line, "available_commands_update") && strings.Contains(m.line, `"dex"`)
	})
	if all := strings.Join(lines(before), "\n"); strings.Contains(all, "cannot be used") {
		t.Errorf("other programs' files are the user's mistakes:\n%s", all)
	}
	for _, want := range []string{
		`"near","description":"near of gjc"`, `"top","description":"top of services"`, `"dex","description":"dex of codex"`, `"own","description":"own of home"`,
		`"skill:pdf","description":"Reads PDFs"`, `"skill:doc","description":"Writes docs"`,
	} {
		if !strings.Contains(listed.line, want) {
			t.Errorf("%s is missing in %s", want, listed.line)
		}
	}
	if strings.Contains(listed.line, "outside") {
		t.Errorf("a command outside of the repository: %s", listed.line)
	}
	if m, _ := p.answer(p.prompt(made.SessionID, "/dex")); m.Error != nil {
		t.Errorf("the command fails: %s", m.line)
	}
	p.stop()
}
