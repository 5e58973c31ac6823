package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
)

// A real server over all three transports, and another one, in one session.
func TestMCP_RealServers(t *testing.T) {
	t.Parallel()
	program, everything := mcpServer(t, "server-everything")
	_, files := mcpServer(t, "server-filesystem")
	home := tempDir(t)
	writeFile(t, filepath.Join(home, ".gjc", "agent", "config.yml"), "tools: {discovery: \"off\"}\n") // they are more than 40 tools
	h := startMCPHost(t, home)
	shared := tempDir(t)
	writeFile(t, filepath.Join(shared, "a.txt"), "of the server's own directory")
	id := h.open(
		stdioServer("pipe", program, []string{everything, "stdio"}, "WHO=by pipe"),
		object{"type": "http", "name": "web", "url": serveMCP(t, program, everything, "streamableHttp") + "/mcp", "headers": []any{}},
		object{"type": "sse", "name": "events", "url": serveMCP(t, program, everything, "sse") + "/sse", "headers": []any{}},
		stdioServer("files", program, []string{files, shared}),
	)
	for _, name := range []string{"pipe", "web", "events"} {
		h.connected(id, name)
		tool := func(name string) string { return "!mcp mcp__" + name }
		call := h.prompt(id, tool(name+`_echo {"message":"hello"}`)).only(t)
		same(t, name, []string{call.Title, call.Kind, call.Status, call.Text}, []string{name + ": echo (Echo Tool)", "read", "completed", "Echo: hello"})
		if call = h.prompt(id, tool(name+`_get_sum {"a":2,"b":"three"}`)).only(t); call.Status != "failed" {
			t.Errorf("%s: arguments that do not fit the schema: %+v", name, call)
		}
		if call = h.prompt(id, tool(name+"_get_tiny_image {}")).only(t); !slices.Contains(call.types, "image") {
			t.Errorf("%s: content %v", name, call.types)
		}
		if call = h.prompt(id, "!mcpres "+name+" demo://resource/static/document/features.md").only(t); call.Status != "completed" || call.Text == "" {
			t.Errorf("%s: resource %+v", name, call)
		}
		h.stopsCall(id, tool(name+`_trigger_long_running_operation {"duration":600,"steps":60000}`))
		if call = h.prompt(id, tool(name+`_echo {"message":"still here"}`)).only(t); call.Text != "Echo: still here" {
			t.Errorf("%s after the cancelled call: %+v", name, call)
		}
	}
	if call := h.prompt(id, "!mcp mcp__pipe_get_env {}").only(t); !strings.Contains(call.Text, "by pipe") {
		t.Errorf("the environment is %s", call.Text)
	}
	h.connected(id, "files")
	if call := h.prompt(id, `!mcp read_text_file {"path":"`+filepath.ToSlash(filepath.Join(h.work, "none.txt"))+`"}`).only(t); call.Status != "failed" {
		t.Errorf("a file that is not there: %+v", call)
	}
	// The session's directory is the server's root, and replaces the one of its command line.
	writeFile(t, filepath.Join(h.work, "b.txt"), "of the session")
	if call := h.prompt(id, `!mcp read_text_file {"path":"`+filepath.ToSlash(filepath.Join(h.work, "b.txt"))+`"}`).only(t); call.Text != "of the session" {
		t.Errorf("a file of the session: %+v", call)
	}
	// The servers' prompts are slash commands.
	err := h.Await(h.ctx, id, acptest.Update(func(u *acp.AvailableCommandsUpdate) bool {
		return slices.ContainsFunc(u.AvailableCommands, func(c acp.AvailableCommand) bool { return strings.Contains(c.Name, "simple-prompt") })
	}))
	if err != nil {
		t.Error(err)
	}
	asked := count(h.Calls(), acp.MethodSessionRequestPermission.Name)
	h.prompt(id, `!mcp write_file {"path":"`+filepath.ToSlash(filepath.Join(h.work, "c.txt"))+`","content":"x"}`)
	if count(h.Calls(), acp.MethodSessionRequestPermission.Name) != asked+1 {
		t.Error("a tool that writes does not ask")
	}
	h.stop()
}

// stopsCall cancels a turn when its tool call has reported progress.
func (h *mcpHost) stopsCall(id acp.SessionID, prompt string) {
	h.t.Helper()
	h.id = id
	h.cancelled(prompt, acptest.Update(func(u *acp.ToolCallUpdate) bool {
		content, _ := u.Content.Get()
		return len(content) > 0
	}))
}
