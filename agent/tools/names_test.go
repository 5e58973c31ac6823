package tools_test

import (
	"slices"
	"testing"

	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/internal/webclient"
)

// Names lists the name of every tool that can be configured, and no other.
func TestNames(t *testing.T) {
	have := map[string]bool{"mcp_resources": true, "eval": true} // needs MCP servers; not on Windows
	for _, mode := range files.EditModes() {
		for _, tool := range tools.All(&tools.Settings{
			Edit: files.EditSettings{Mode: mode}, SSH: []shell.SSHHost{{Name: "x", Address: "x"}},
			WebSearch: webclient.SearchOptions{SearXNG: "http://127.0.0.1:1"},
		}) {
			have[tool.Spec().Name] = true
		}
	}
	for name := range have {
		if !slices.Contains(tools.Names(), name) {
			t.Errorf("%s is missing", name)
		}
	}
	for _, name := range tools.Names() {
		if !have[name] {
			t.Errorf("there is no tool %s", name)
		}
	}
}
