package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
)

// answerTrust answers questions about trust with the option of a kind, and returns their titles and texts.
func (h *mcpHost) answerTrust(kind acp.PermissionOptionKind) func() string {
	h.t.Helper()
	asked := new(buffer)
	h.answer = func(p *acp.RequestPermissionRequest) acp.PermissionOptionID {
		parts, _ := p.ToolCall.Content.Get()
		for _, part := range parts {
			if c, ok := part.(*acp.Content); ok {
				if text, ok := c.Content.(*acp.TextContent); ok {
					_, _ = asked.Write([]byte(p.ToolCall.Title.Or("") + "\n" + text.Text + "\n"))
				}
			}
		}
		for _, o := range p.Options {
			if o.Kind == kind {
				return o.OptionID
			}
		}
		return ""
	}
	return asked.String
}

// The first prompt asks about the workspace's file, once, and the model has the servers' tools in the same turn.
func TestMCP_Workspace(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	h := startMCPHost(t, home)
	file := filepath.Join(h.work, ".mcp.json")
	define := func(who string) {
		text, err := json.Marshal(object{"mcpServers": object{"local": object{"command": self(t), "args": []string{"it"}, "env": object{asMCP: "plain", "WHO": who}}}})
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, file, string(text))
	}
	define("one")
	asked := h.answerTrust(acp.PermissionOptionKindAllowAlways)
	id := h.open()
	if o := h.prompt(id, "!mcp mcp__local_who {}"); !strings.HasSuffix(o.calls[len(o.calls)-1].Text, "who one") {
		t.Errorf("%+v", o)
	}
	if got := asked(); strings.Count(got, "Trust the MCP servers in ") != 1 || !strings.Contains(got, "  local: "+self(t)+" it\n") {
		t.Errorf("asked: %s", got)
	}
	status := h.prompt(id, "/mcp").words
	if !strings.Contains(status, "- local (stdio): connected, 2 tools") || !strings.Contains(status, file) {
		t.Errorf("/mcp: %s", status)
	}
	// Another content is another question; the change counts without a new session.
	define("two")
	if o := h.prompt(id, "!mcp mcp__local_who {}"); !strings.HasSuffix(o.calls[len(o.calls)-1].Text, "who two") {
		t.Errorf("%+v", o)
	}
	if got := asked(); strings.Count(got, "Trust the MCP servers in ") != 2 || !strings.Contains(got, ".mcp.json (changed since you were asked)") {
		t.Errorf("asked: %s", got)
	}
	// The verbs of gjc mcp work in a session.
	if got := h.prompt(id, "/mcp disable local").words; !strings.Contains(got, "local is disabled in ") {
		t.Errorf("%q", got)
	}
	if got := h.prompt(id, "/mcp").words; !strings.Contains(got, "- local: disabled") {
		t.Errorf("%q", got)
	}
	own := "GJC_MCP_ADDED=1"
	if got := h.prompt(id, "/mcp add mine --env "+asMCP+"=plain --env WHO=me --env "+own+" -- "+self(t)).words; !strings.Contains(got, "Added mine to ") {
		t.Errorf("%q", got)
	}
	h.connected(id, "mine")
	if got := h.prompt(id, "/mcp test mine").words; !strings.Contains(got, "2 tools: run, who") {
		t.Errorf("%q", got)
	}
	if got := h.prompt(id, "/mcp get none").words; !strings.Contains(got, "unknown MCP server: none") {
		t.Errorf("%q", got)
	}
	if data, err := os.ReadFile(filepath.Join(home, ".gjc", "agent", "mcp.json")); err != nil || !strings.Contains(string(data), own[:13]) {
		t.Errorf("%v: %s", err, data)
	}
	h.alive(id)
	h.stop()
}

// A field without effect is shown in the session, once, and by the commands. A session does not show those of servers that it does not use.
func TestMCP_FieldsWithoutEffect(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	h := startMCPHost(t, home)
	own := filepath.Join(agentDir(home), "mcp.json")
	define := func(more object) {
		servers := object{
			"mine": object{"command": self(t), "env": object{asMCP: "plain"}, "auth": object{"type": "oauth"}},
			"off":  object{"command": "x", "enabled": false, "auth": 1},
		}
		maps.Copy(servers, more)
		text, err := json.Marshal(object{"mcpServers": servers})
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, own, string(text))
	}
	define(nil)
	writeFile(t, filepath.Join(h.work, ".gemini", "settings.json"), `{"mcpServers": {"theirs": {"command": "no-such-program", "trust": true}}}`)
	h.answerTrust(acp.PermissionOptionKindAllowOnce)
	id := h.open()
	h.alive(id)
	const mine, theirs, later = "mcpServers.mine.auth: ignored; gjc signs in with OAuth", "mcpServers.theirs.trust: ignored; gjc asks before calls", "mcpServers.later.auth: ignored"
	h.awaitNotice(id, "no effect", mine)
	h.awaitNotice(id, "no effect", theirs)
	define(object{"later": object{"command": self(t), "env": object{asMCP: "plain"}, "auth": 1}})
	h.alive(id)
	h.awaitNotice(id, later)
	all, err := json.Marshal(h.Updates(id))
	if err != nil {
		t.Fatal(err)
	}
	for text, n := range map[string]int{mine: 1, theirs: 1, later: 1, "mcpServers.off.auth": 0} {
		if got := strings.Count(string(all), text); got != n {
			t.Errorf("%q is shown %d times, want %d", text, got, n)
		}
	}
	h.stop()

	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"mcp", "list"}, []string{mine, "mcpServers.off.auth: ignored"}},
		{[]string{"mcp", "list", "--json"}, []string{mine}},
		{[]string{"mcp", "get", "mine"}, []string{mine}},
		{[]string{"mcp", "get", "mine", "--json"}, []string{mine}},
		{[]string{"doctor"}, []string{mine, "warning"}},
	} {
		cmd := exec.CommandContext(t.Context(), self(t), tt.args...)
		cmd.Dir, cmd.Env = h.work, environment(home)
		out, _ := cmd.CombinedOutput() // doctor finds other problems
		for _, want := range tt.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%q: no %q in\n%s", tt.args, want, out)
			}
		}
	}
}

// A no keeps the servers from starting, and is not asked about again in the session.
func TestMCP_WorkspaceRefused(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	marker := filepath.Join(home, "started")
	h := startMCPHost(t, home)
	text, err := json.Marshal(object{"servers": object{"local": object{"command": "/bin/sh", "args": []string{"-c", "touch " + marker}}}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(h.work, ".vscode", "mcp.json"), string(text))
	asked := h.answerTrust(acp.PermissionOptionKindRejectOnce)
	id := h.open()
	h.alive(id)
	h.alive(id)
	if got := asked(); strings.Count(got, "Trust the MCP servers in ") != 1 {
		t.Errorf("asked: %s", got)
	}
	if got := h.prompt(id, "/mcp").words; !strings.Contains(got, "- local: not trusted (gjc trust add "+h.work+")") {
		t.Errorf("/mcp: %s", got)
	}
	wantEmpty(t, marker)
	h.alive(id)
	h.stop()
}
