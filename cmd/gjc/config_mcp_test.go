package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// In a session a disabled server does not start, the others get their directory, arguments, environment and computed
// values, and a mistake in one is reported with its line.
func TestMCP_Definitions(t *testing.T) {
	t.Parallel()
	home, place := tempDir(t), tempDir(t)
	dir := filepath.Join(home, ".gjc", "agent")
	marker := filepath.Join(home, "started")
	own, err := json.MarshalIndent(object{"mcpServers": object{
		"place": object{
			"command": "${GJC_TEST_SELF}", "args": []string{"--for=${USER_OF_TEST:-nobody}"}, "cwd": place, "timeout": 60_000,
			"env": object{asMCP: "place", "WHO": "!echo computed by $0"},
		},
		"off":    object{"enabled": false, "command": "/bin/sh", "args": []string{"-c", "touch " + marker}},
		"fails":  object{"command": self(t), "env": object{asMCP: "plain", "X": "!exit 3"}},
		"signed": object{"command": self(t), "oauth": object{"clientId": "x"}},
	}}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "mcp.json"), string(own))
	writeFile(t, filepath.Join(dir, "config.yml"), "mcp: {discover: true}\n")
	h := startMCPHost(t, home, "GJC_TEST_SELF="+self(t))
	id := h.open()
	h.connected(id, "place")
	if call := h.prompt(id, "!mcp mcp__place_run {}").only(t); !strings.HasSuffix(call.Text, "--for=nobody|"+place) {
		t.Errorf("arguments and directory: %+v", call)
	}
	if call := h.prompt(id, "!mcp mcp__place_who {}").only(t); !strings.Contains(call.Text, "who [hidden]") && !strings.Contains(call.Text, "who computed by /bin/sh") {
		t.Errorf("environment: %+v", call)
	}
	h.awaitNotice(id, "mcpServers.fails.env.X: the command for the value failed: ")
	h.awaitNotice(id, "mcpServers.signed.oauth: is for a server with url")
	for _, name := range []string{"off", "fails", "signed"} {
		if o := h.prompt(id, "!mcp mcp__"+name+"_who {}"); len(o.calls) == 1 && strings.Contains(o.calls[0].Text, "who") && strings.Contains(o.calls[0].Text, "pid") {
			t.Errorf("the server %s runs: %+v", name, o)
		}
	}
	wantEmpty(t, marker)
	h.alive(id)
	h.stop()
}
