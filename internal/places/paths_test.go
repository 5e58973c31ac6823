package places_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/places"
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
	below := &places.Paths{Roots: []string{"/x/.git/worktree"}}
	if below.Protected("/x/.git/worktree/a.go") != "" || below.Protected("/x/.git/worktree/.git/a") == "" {
		t.Error("a workspace below a directory .git")
	}
}

// A link inside a root that leads out of it does not make its target a part of the root.
func TestOutside_FollowsLinks(t *testing.T) {
	real := func(p string) string {
		if rest, ok := strings.CutPrefix(p, "/w/p"); ok {
			p = "/mnt/p" + rest // the root itself may be reached through a link
		}
		if rest, ok := strings.CutPrefix(p, "/mnt/p/link"); ok {
			p = "/etc" + rest
		}
		return p
	}
	paths := &places.Paths{Roots: []string{"/w/p"}, RealRoots: []string{"/mnt/p"}, Real: real}
	for path, want := range map[string]bool{"/w/p/a.go": false, "/w/p/link/passwd": true, "/mnt/p/a.go": true, "/etc/passwd": true} {
		if got := paths.Outside(path); got != want {
			t.Errorf("%s: outside = %v, want %v", path, got, want)
		}
	}
}

func testPaths(t testing.TB) *places.Paths {
	t.Helper()
	return &places.Paths{Roots: []string{"/w", "/more"}, Home: "/home/u", Own: []string{"/home/u/.gjc/agent"}}
}
