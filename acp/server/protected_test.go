package server_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// H8: each kind of file that a program runs or follows by itself asks when it is made and when it is edited, in default mode.
func TestProtected_Edits(t *testing.T) {
	text, err := os.ReadFile("../../internal/places/protected.txt")
	if err != nil {
		t.Fatal(err)
	}
	asks := map[string]bool{ // further ones are made from the table's patterns
		".vscode/mcp.json": true, "my.code-workspace": true, ".idea/runConfigurations/x.xml": true, ".cargo/config.toml": true, ".githooks/pre-commit": true, "lefthook.yml": true, ".codex/config.toml": true,
		"AGENTS.md": true, "sub/CLAUDE.md": true, ".clinerules": true, ".git/hooks/x": true, "scripts/hooks/pre-commit": true, "lsp.json": true, ".gjc/rules/x.md": true, ".unknown/x": true,
		"main.go": false, ".github/workflows/ci.yml": false, ".vscode/extensions.json": false, "docs/agents.txt": false, ".idea/misc.xml": false, ".eslintrc.json": false, "src/.env.example": false,
	}
	for line := range strings.Lines(string(text)) {
		pattern, why, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") || why == "-" {
			continue
		}
		name := strings.ReplaceAll(pattern, "*", "x")
		if strings.HasSuffix(name, "/") {
			name += "x"
		}
		asks[name] = true
	}
	if len(asks) < 100 {
		t.Fatalf("there are %d files", len(asks))
	}
	dir := t.TempDir()
	var asked []string
	e := start(t, func(c *config) {
		c.server.Sessions.Policy = func(string) approval.Policy {
			return approval.Policy{Home: t.TempDir(), Loaded: []string{"lsp.json"}, Followed: func(root string) []string { return []string{filepath.Join(root, "scripts", "hooks")} }}
		}
		c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			asked = append(asked, contentText(p.ToolCall.Content.Or(nil)))
			return acptest.Choose("allow_once"), nil
		}
	})
	s, err := e.NewSession(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range asks {
		for _, step := range []string{"make", "change"} {
			asked = nil
			input, err := jsonx.Marshal(map[string]string{"path": name, "content": step + "\n"})
			if err != nil {
				t.Fatal(err)
			}
			e.say(s.SessionID, "!mcp write "+string(input), acp.StopReasonEndTurn)
			if (len(asked) > 0) != want {
				t.Errorf("%s %s: asked %q, want %v", step, name, asked, want)
			}
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("%s %s: %v", step, name, err)
			}
		}
		// The next name may need a directory in its place.
		top, _, _ := strings.Cut(name, "/")
		if err := os.RemoveAll(filepath.Join(dir, top)); err != nil {
			t.Fatal(err)
		}
	}
}
