package permissions_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/permissions"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The user's own settings of Codex may be elsewhere, and then those in the home directory do not count.
func TestSuggest_CodexHome(t *testing.T) {
	home, codex := t.TempDir(), t.TempDir()
	put(t, filepath.Join(home, ".codex/config.toml"), "sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nnetwork_access = true\n")
	put(t, filepath.Join(codex, "config.toml"), "sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nwritable_roots = [\"/cache\"]\n")
	got := strings.Join(permissions.Describe(permissions.Suggest(t.TempDir(), home, codex)), "\n")
	if !strings.HasPrefix(got, filepath.Join(codex, "config.toml")) || strings.Contains(got, "Network") {
		t.Errorf("%s", got)
	}
}

func TestSuggest(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	put(t, filepath.Join(root, ".claude/settings.json"), `{"permissions":{
		"allow":["Bash(npm run test:*)","Bash(git diff:*)","Read(./docs/**)","WebFetch(domain:example.com)","mcp__issues__list","mcp__issues","Bash","Skill(x)"],
		"ask":["Bash(git push:*)"],"deny":["Read(./.env)","Edit(//etc/**)","Write(/src/gen/**)","Read(~/.zshrc)"]}}`)
	put(t, filepath.Join(root, ".codex/config.toml"), "sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nwritable_roots = [\"/cache\"]\nnetwork_access = true\n")
	put(t, filepath.Join(home, ".claude/settings.json"), `{"permissions":{"deny":["Bash(rm:*)"]}}`)
	got := strings.NewReplacer(root, "ROOT", home, "HOME").Replace(strings.Join(permissions.Describe(permissions.Suggest(root, home, "")), "\n"))
	want := `ROOT/.claude/settings.json:
  permissions.allow: bash(npm run test *)
  permissions.allow: bash(git diff *)
  permissions.allow: read(docs/**)
  permissions.allow: network(example.com)
  permissions.allow: mcp__issues_list
  permissions.allow: mcp__issues_*
  permissions.allow: bash
  permissions.ask: bash(git push *)
  permissions.deny: read(.env)
  permissions.deny: edit(/etc/**)
  permissions.deny: edit(src/gen/**)
  permissions.deny: read(~/.zshrc)
  (no equivalent: Skill(x))
ROOT/.codex/config.toml:
  bash.sandboxWrite: ["/cache"]
  bash.sandboxNetwork: true
HOME/.claude/settings.json:
  permissions.deny: bash(rm *)`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestSuggest_BadFiles(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"permissions":[]}`, `{"permissions":{"allow":[1]}}`, "\x00", "sandbox_mode = 1", strings.Repeat("#", 2<<20)} {
		root := t.TempDir()
		put(t, filepath.Join(root, ".claude/settings.json"), text)
		put(t, filepath.Join(root, ".codex/config.toml"), text)
		if got := permissions.Suggest(root, "", ""); len(got) > 0 {
			t.Errorf("%.40q: %v", text, got)
		}
	}
}

// Suggestions have no effect until they are adopted, and are shown once, and again when they change.
func TestStore_Adopt(t *testing.T) {
	store, root := permissions.Open(t.TempDir()), t.TempDir()
	settings := filepath.Join(root, ".claude/settings.json")
	put(t, settings, `{"permissions":{"deny":["Bash(rm:*)"]}}`)
	show := func() bool {
		t.Helper()
		first, err := store.Show(t.Context(), root, permissions.Suggest(root, "", ""))
		if err != nil {
			t.Fatal(err)
		}
		return first
	}
	if !show() || show() || len(store.Rules(root)) > 0 {
		t.Error("suggestions are not shown once, or have an effect")
	}
	put(t, settings, `{"permissions":{"deny":["Bash(rm:*)","Bash(dd)"]}}`)
	if !show() || show() {
		t.Error("changed suggestions are not shown once")
	}
	if n, err := store.Adopt(t.Context(), root, permissions.Suggest(root, "", "")); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	rules := store.Rules(root)
	if len(rules) != 2 || rules[0].Text != "bash(rm *)" || len(store.Rules(t.TempDir())) > 0 {
		t.Errorf("%v", rules)
	}
	if n, err := store.Revoke(t.Context(), root, nil); n != 2 || err != nil || len(store.Rules(root)) > 0 {
		t.Errorf("%d, %v, %v", n, err, store.Rules(root))
	}
	if show() {
		t.Error("revoking shows the suggestions again")
	}
}

// The notice about the boundary is shown once for a workspace, and again when it changes. It is no answer that could be revoked.
func TestStore_Introduce(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	introduce := func(root, boundary string) bool {
		t.Helper()
		first, err := permissions.Open(dir).Introduce(t.Context(), root, boundary)
		if err != nil {
			t.Fatal(err)
		}
		return first
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	if !introduce(root, "off") || introduce(link, "off") || !introduce(t.TempDir(), "off") {
		t.Error("it is not shown once for each workspace")
	}
	if !introduce(root, "auto bubblewrap") || introduce(root, "auto bubblewrap") {
		t.Error("a change is not shown once")
	}
	if n, err := permissions.Open(dir).Revoke(t.Context(), root, nil); n != 0 || err != nil || introduce(root, "auto bubblewrap") {
		t.Errorf("revoking has an effect: %d, %v", n, err)
	}
	put(t, filepath.Join(dir, permissions.Name), "{")
	if first, err := permissions.Open(dir).Introduce(t.Context(), root, "off"); first || err == nil {
		t.Errorf("an unreadable file: %v, %v", first, err)
	}
}

func FuzzSuggest(f *testing.F) {
	f.Add(`{"permissions":{"allow":["Bash(a:*)"]}}`, "sandbox_mode = \"read-only\"")
	f.Fuzz(func(t *testing.T, claude, codex string) {
		root := t.TempDir()
		put(t, filepath.Join(root, ".claude/settings.json"), claude)
		put(t, filepath.Join(root, ".codex/config.toml"), codex)
		permissions.Describe(permissions.Suggest(root, "", ""))
	})
}
