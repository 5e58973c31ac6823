package shell_test

import (
	"testing"

	"github.com/gajae-code/gjc/agent/approval/shell"
)

func TestPaths(t *testing.T) {
	p := testPaths(t)
	for path, want := range map[string]string{
		"/w/.env": "secret", "/w/a/.ENV": "secret", "/w/.env.local": "secret", "/w/.env.example": "", "/w/prod.env": "secret", "/w/example.env": "",
		"/w/x.pem": "secret", "/w/id_rsa": "secret", "/w/id_rsa.pub": "", "/home/u/.ssh/id_foo": "secret", "/home/u/.ssh/known_hosts": "",
		"/home/u/.aws/credentials": "secret", "/w/.npmrc": "secret", "/w/secrets.yml": "secret", "/w/environment.go": "", "/w/.env/x.py": "",
		"/w/key.go": "", "/w/.e\u200bnv": "secret", "/w/.env. ": "secret", "/w/keys/.key": "",
	} {
		if got := p.Secret(path); got != (want == "secret") {
			t.Errorf("Secret(%q) = %v", path, got)
		}
	}
	for path, want := range map[string]bool{
		"/w/.git/config": true, "/w/.GIT/hooks/x": true, "/w/sub/.git/config": true, "/w/git~1/config": true, "/w/.g\u200cit/config": true,
		"/w/.github/workflows/x.yml": false, "/w/.gitignore": false, "/w/.gjc/hooks.yml": true, "/w/.bashrc": true, "/w/.vscode/settings.json": true,
		"/w/.vscode/notes.txt": false, "/w/.husky/pre-commit": true, "/home/u/.gjc/agent/config.yml": true, "/w/a.go": false, "/w/.git": true, "/w/.git./config": true,
	} {
		if got := p.Protected(path) != ""; got != want {
			t.Errorf("Protected(%q) = %v", path, got)
		}
	}
	below := &shell.Paths{Roots: []string{"/x/.git/worktree"}}
	if below.Protected("/x/.git/worktree/a.go") != "" || below.Protected("/x/.git/worktree/.git/a") == "" {
		t.Error("a workspace below a directory .git")
	}
}
