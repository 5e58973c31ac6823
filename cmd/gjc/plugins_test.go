package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
)

// requirePlugin writes a plugin below a workspace, and the list that requires it.
func requirePlugin(t *testing.T, work, who string) {
	t.Helper()
	text, err := json.Marshal(object{"mcpServers": object{"local": object{"command": self(t), "args": []string{"it"}, "env": object{asMCP: "plain", "WHO": who}}}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(work, "kit", ".mcp.json"), string(text))
	writeFile(t, filepath.Join(work, "kit", ".gjc-plugin.yml"), "name: kit\n")
	writeFile(t, filepath.Join(work, "kit", "commands", "say.md"), "!say 2\n")
	writeFile(t, filepath.Join(work, ".gjc", "plugins.yml"), "plugins: [./kit]\n")
}

// The first prompt asks whether to install what the project requires, and then about the programs of it; the model has the server's
// tools in the same turn.
func TestPlugins_Required(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	h := startMCPHost(t, home)
	requirePlugin(t, h.work, "kit")
	asked := h.answerTrust(acp.PermissionOptionKindAllowAlways)
	id := h.open()
	if o := h.prompt(id, "!mcp mcp__local_who {}"); !strings.HasSuffix(o.calls[len(o.calls)-1].Text, "who kit") {
		t.Errorf("%+v", o)
	}
	got := asked()
	first, second := strings.Index(got, "Install the plugins that this project requires?"), strings.Index(got, "Use the plugin kit?")
	if first < 0 || second < first || !strings.Contains(got, "  installs "+filepath.Join(h.work, "kit")+"\n") || !strings.Contains(got, "  MCP server local: "+self(t)+" it\n") {
		t.Errorf("asked: %s", got)
	}
	if o := h.prompt(id, "/kit:say"); o.words != "This text \nDone." {
		t.Errorf("/kit:say: %+v", o)
	}
	// The installed copy counts, not the directory in the project, and both answers are kept.
	requirePlugin(t, h.work, "other")
	if o := h.prompt(h.open(), "!mcp mcp__local_who {}"); !strings.HasSuffix(o.calls[len(o.calls)-1].Text, "who kit") {
		t.Errorf("%+v", o)
	}
	if again := asked(); again != got {
		t.Errorf("asked again: %s", strings.TrimPrefix(again, got))
	}
	// A changed copy is not used any more.
	dirs, err := filepath.Glob(filepath.Join(home, ".gjc", "agent", "plugins", "kit", "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%v: %v", err, dirs)
	}
	writeFile(t, filepath.Join(dirs[0], "commands", "say.md"), "!say 9\n")
	if o := h.prompt(h.open(), "/kit:say"); strings.HasPrefix(o.words, "This") {
		t.Errorf("the changed command ran: %+v", o)
	}
	h.alive(id)
	h.stop()
}

// Without the user's yes, nothing is installed, and nothing is asked twice.
func TestPlugins_Refused(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	h := startMCPHost(t, home)
	requirePlugin(t, h.work, "kit")
	asked := h.answerTrust(acp.PermissionOptionKindRejectOnce)
	id := h.open()
	h.alive(id)
	h.alive(id)
	if got := asked(); strings.Count(got, "Install the plugins") != 1 || strings.Contains(got, "Use the plugin") {
		t.Errorf("asked: %s", got)
	}
	if _, err := os.Stat(filepath.Join(home, ".gjc", "agent", "plugins")); !os.IsNotExist(err) {
		t.Errorf("plugins: %v", err)
	}
	h.alive(id)
	h.stop()
}
