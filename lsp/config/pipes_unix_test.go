//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/internal/trust"
)

// TestCatalog_Pipes checks that pipes, devices and loops of links do not block.
func TestCatalog_Pipes(t *testing.T) {
	names := []string{
		"lsp.json", ".gjc/lsp.yaml", ".gemini", "bin", "node_modules", ".venv/bin", "venv", ".git", "prisma", "rust-toolchain",
		"Cargo.toml", "~/bin/gopls", "tools/gopls",
	}
	for _, kind := range []string{"pipe", "circle", "device"} {
		t.Run(kind, func(t *testing.T) {
			m := newMachine(t)
			m.with(map[string]string{"go.mod": "", "package.json": ""})
			for _, name := range names {
				path := m.path(name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				var err error
				switch kind {
				case "pipe":
					err = syscall.Mkfifo(path, 0o666)
				case "circle":
					err = os.Symlink(filepath.Base(path), path)
				case "device":
					err = os.Symlink("/dev/zero", path)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			c := m.openPath("~/bin", "tools/.")
			for _, trusted := range []bool{false, true} {
				if got := m.forFile(c, "x.go"); got != "" {
					t.Errorf("%s is used", got)
				}
				for _, file := range []string{"x.rs", "x.ts", "x.py", "x.prisma"} {
					m.forFile(c, file)
				}
				problems := strings.Join(m.list(c).Problems, "\n")
				want := map[string]string{"pipe": "not a regular file", "circle": "not a regular file but a broken link", "device": "a link out of the workspace"}[kind]
				if !strings.Contains(problems, want) {
					t.Errorf("problems %q", problems)
				}
				if trusted {
					break
				}
				if err := m.trust.Answer(t.Context(), &trust.Subject{Path: m.root, Programs: []string{"any"}}, trust.Trusted, false); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
