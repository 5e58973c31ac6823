package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
)

// Each invalid entry is reported in a line, and the valid one works.
func TestMCP_BadEntries(t *testing.T) {
	t.Parallel()
	h := startMCPHost(t, tempDir(t))
	both := h.fakeServer("both")
	both["url"] = "http://127.0.0.1:1/mcp"
	id := h.open(
		h.fakeServer("good"), h.fakeServer("good"), h.fakeServer(""), both,
		object{"name": "nowhere", "command": "/nonexistent/program", "args": []any{}, "env": []any{}},
		object{"type": "http", "name": "closed", "url": "http://127.0.0.1:1/mcp", "headers": []any{}},
		object{"type": "http", "name": "odd", "url": "ftp://127.0.0.1/x", "headers": []any{}},
		object{"type": "pigeon", "name": "pigeon", "url": "http://127.0.0.1:1/"},
		object{"type": "acp", "name": "inside", "serverId": "s1"},
	)
	h.connected(id, "good")
	if call := h.prompt(id, "!mcp mcp__good_who {}").only(t); call.Status != "completed" {
		t.Errorf("the good server: %+v", call)
	}
	h.awaitNotice(id, "duplicate server name", "good")
	h.awaitNotice(id, "no name")
	h.awaitNotice(id, "both", "a command and a URL")
	h.awaitNotice(id, "nowhere")
	h.awaitNotice(id, "closed")
	h.awaitNotice(id, "odd", "http://")
	h.awaitNotice(id, "pigeon")
	h.awaitNotice(id, "inside")
	h.alive(id)
	for name, servers := range map[string]any{
		"a string": "x", "an object": object{"name": "x"}, "a list of strings": []any{"x"}, "a name alone": []any{object{"name": "x"}},
	} {
		err := h.Conn.Call(h.ctx, "session/new", object{"cwd": h.work, "mcpServers": servers}, nil)
		if e, ok := errors.AsType[*acp.Error](err); !ok || e.Code != acp.ErrorCodeInvalidParams || !strings.Contains(e.Message, "mcpServers") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Some clients omit the list.
	var resp acp.NewSessionResponse
	if err := h.Conn.Call(h.ctx, "session/new", object{"cwd": h.work}, &resp); err != nil {
		t.Error(err)
	} else {
		h.alive(resp.SessionID)
	}
	h.stop()
}

// Each misbehaving server, in a session of its own, causes a notice or a failed call, and the session continues.
func TestMCP_BadServers(t *testing.T) {
	t.Parallel()
	h := startMCPHost(t, tempDir(t))
	fine := func(id acp.SessionID, tool, want string) {
		t.Helper()
		if call := h.prompt(id, "!mcp "+tool+" {}").only(t); call.Status != "completed" || !strings.Contains(call.Text, want) {
			t.Errorf("%s: %+v, want %q", tool, call, want)
		}
	}
	broken := func(id acp.SessionID, tool string, parts ...string) {
		t.Helper()
		call := h.prompt(id, "!mcp "+tool+" {}").only(t)
		for _, part := range append(parts, "") {
			if call.Status != "failed" || !strings.Contains(call.Text, part) {
				t.Errorf("%s: %s %.500q, want a failure with %q", tool, call.Status, call.Text, part)
			}
		}
	}

	// The model waits for a server's start only briefly, which may be too short on a busy machine.
	open := func(name string, others ...any) acp.SessionID {
		t.Helper()
		id := h.open(append(others, h.fakeServer(name))...)
		h.connected(id, name)
		return id
	}
	junk := open("junk")
	fine(junk, "run", "ran run")
	h.awaitNotice(junk, "junk", "prints text that is not an MCP message")
	h.alive(junk)

	// Calls wait for a server that hangs, with a limit, and it delays nothing else.
	hangs := open("good", h.fakeServer("hang"))
	fine(hangs, "run", "ran run")
	if o := h.prompt(hangs, "/mcp"); !strings.Contains(o.words, "hang (stdio): connecting") {
		t.Errorf("/mcp says %q", o.words)
	}
	h.alive(hangs)
	h.close(hangs)

	dies := open("die")
	broken(dies, "run", "lost during the call", "exited with code 7", "out of cheese")
	h.awaitNotice(dies, "die", "not available")
	h.awaitNotice(dies, "die", "connected again")
	fine(dies, "who", "pid")
	h.alive(dies)

	huge := open("huge")
	broken(huge, "run", "over the limit", "ask for less at once")
	fine(huge, "who", "pid")
	h.alive(huge)

	liar := open("liar")
	fine(liar, "run", "ran run")
	fine(liar, "list", "ran list")
	fine(liar, "wrong", "ran wrong")
	fine(liar, "promise", "many")
	h.awaitNotice(liar, "liar", "offers tools with faults")
	h.awaitNotice(liar, "promise", "do not match its output schema")
	h.alive(liar)

	grows := open("grow")
	if o := h.prompt(grows, "!mcp grown {}"); len(o.calls) != 0 || !strings.Contains(o.words, "no tool called grown") {
		t.Errorf("before it has grown: %+v", o)
	}
	fine(grows, "run", "grew")
	// The new list arrives after the notification, so a few requests may not show it yet.
	for o := h.prompt(grows, "/mcp tools"); !strings.Contains(o.words, "grown"); o = h.prompt(grows, "/mcp tools") {
	}
	fine(grows, "grown", "grew")
	if o := h.prompt(grows, "!mcp run {}"); len(o.calls) != 0 {
		t.Errorf("a tool that is gone was called: %+v", o)
	}
	h.alive(grows)

	// 15,000 changes of its tools, which are listed at a pace.
	restless := open("restless", h.fakeServer("good"))
	for range 5 {
		call := h.prompt(restless, "!mcp mcp__restless_run {}").only(t)
		var lists int
		if _, err := fmt.Sscanf(call.Text, "listed %d times", &lists); err != nil || lists > 500 {
			t.Errorf("restless: %s %.500q", call.Status, call.Text)
		}
		fine(restless, "mcp__good_run", "ran run")
	}
	h.alive(restless)

	nags := open("nag", h.fakeServer("good"))
	fine(nags, "mcp__nag_run", "too many questions during one call (limit 20)")
	h.awaitNotice(nags, "nag", "asked 20 questions during one call")
	fine(nags, "mcp__good_run", "ran run")
	h.alive(nags)

	waits := open("wait")
	h.stopsCall(waits, "!mcp run {}")
	fine(waits, "who", "pid")
	h.alive(waits)
	h.stop()
}

// A server that has failed offers nothing, with a notice that says what to do. It is back after a reload.
func TestMCP_FailedServerComesBack(t *testing.T) {
	t.Parallel()
	h := startMCPHost(t, tempDir(t))
	program := filepath.Join(h.work, "server"+filepath.Ext(self(t)))
	late := h.fakeServer("late")
	late["command"] = program
	id := h.open(h.fakeServer("good"), late)
	h.awaitNotice(id, "late", "giving up", "/mcp reconnect late", "server")
	if o := h.prompt(id, "!mcp mcp__late_who {}"); len(o.calls) != 0 || !strings.Contains(o.words, "no tool called") {
		t.Errorf("a tool of the server: %+v", o)
	}
	if call := h.prompt(id, "!mcp mcp__good_who {}").only(t); call.Status != "completed" {
		t.Errorf("the other server: %+v", call)
	}
	if err := os.Link(self(t), program); err != nil {
		if err := os.Symlink(self(t), program); err != nil {
			t.Skip(err)
		}
	}
	h.prompt(id, "/mcp reload")
	h.connected(id, "late")
	if call := h.prompt(id, "!mcp mcp__late_who {}").only(t); call.Status != "completed" || !strings.Contains(call.Text, "pid") {
		t.Errorf("after the reload: %+v", call)
	}
	h.alive(id)
	h.stop()
}
