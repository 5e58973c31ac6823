package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// The user's own servers on disk are used unless the configuration disables that, and the editor's win on a clash.
func TestMCP_Discovery(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, config string
		found        bool
		notice       string
	}{
		{name: "without a configuration", found: true},
		{name: "off", config: "mcp: {discover: false}\n"},
		{name: "on", config: "mcp: {discover: true}\n", found: true},
		{name: "malformed", config: "mcp: {discover: perhaps}\n", notice: "configuration has errors"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := tempDir(t)
			dir := filepath.Join(home, ".gjc", "agent")
			entry := func(who string) object {
				return object{"command": self(t), "args": []string{}, "env": object{asMCP: "plain", "WHO": who}}
			}
			own, err := json.Marshal(object{"mcpServers": object{"shared": entry("of the disk"), "own": entry("of the user")}})
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(dir, "mcp.json"), string(own))
			if tt.config != "" {
				writeFile(t, filepath.Join(dir, "config.yml"), tt.config)
			}
			h := startMCPHost(t, home)
			id := h.open(stdioServer("shared", self(t), []string{}, asMCP+"=plain", "WHO=of the editor"))
			h.connected(id, "shared")
			if tt.found {
				h.connected(id, "own")
			}
			if call := h.prompt(id, "!mcp mcp__shared_who {}").only(t); !strings.HasSuffix(call.Text, "who of the editor") {
				t.Errorf("shared: %+v", call)
			}
			o := h.prompt(id, "!mcp mcp__own_who {}")
			if found := len(o.calls) == 1 && strings.HasSuffix(o.calls[0].Text, "who of the user"); found != tt.found {
				t.Errorf("own: %+v", o)
			}
			if tt.notice != "" {
				h.awaitNotice(id, tt.notice)
			}
			h.alive(id)
			h.stop()
		})
	}
}
