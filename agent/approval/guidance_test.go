package approval_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/agent/approval"
)

func TestGuidance(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{".env", ".git/config", "docs/AGENTS.md", "keys/id_rsa", "plain.md", ".gjc/rules/own.md"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"AGENTS.md": ".env", ".gjc/rules/a.md": "../../.git/config", ".gjc/rules/b.md": "c.md", ".gjc/rules/c.md": "../../keys/id_rsa",
		".gjc/rules/d.md": "../../docs/AGENTS.md", "CLAUDE.md": "plain.md", ".gjc/skills": "../.git",
	} {
		if err := os.Symlink(to, filepath.Join(root, filepath.FromSlash(link))); err != nil {
			t.Skip(err) // Windows asks for a right
		}
	}
	files := approval.Guidance(root, os.DirFS(root))
	for name, want := range map[string]bool{
		"AGENTS.md": false, ".gjc/rules/a.md": false, ".gjc/rules/b.md": false, ".gjc/rules/c.md": false, ".env": false, ".gjc/skills/config": false,
		".gjc/rules/d.md": true, "CLAUDE.md": true, ".gjc/rules/own.md": true, "docs/AGENTS.md": true,
	} {
		_, serr := fs.Stat(files, name)
		_, rerr := fs.ReadFile(files, name)
		if withheld := errors.Is(serr, approval.ErrWithheld); withheld == want || errors.Is(rerr, approval.ErrWithheld) != withheld {
			t.Errorf("%s: %v and %v, want it read: %t", name, serr, rerr, want)
		}
	}
	if _, err := fs.ReadFile(files, "none.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
