package main

import (
	"encoding/json"
	"os"
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
