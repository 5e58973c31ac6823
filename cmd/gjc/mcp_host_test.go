package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// mcpServer returns the command line of a real MCP server.
func mcpServer(t *testing.T, name string) (node, script string) {
	t.Helper()
	script = filepath.Join(testenv.ModuleRoot(t), "testdata", "mcp", "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		testenv.Skip(t, "no node_modules in testdata/mcp; run npm ci there")
	}
	return testenv.NeedsTool(t, "node"), script
}

// stdioServer returns an entry of session/new. env has NAME=value.
func stdioServer(name, command string, args []string, env ...string) object {
	variables := []any{}
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		variables = append(variables, object{"name": k, "value": v})
	}
	return object{"name": name, "command": command, "args": args, "env": variables}
}

// serveMCP runs a real server on a free port of the loopback and returns its URL.
func serveMCP(t *testing.T, program, script, transport string) string {
	t.Helper()
	port := testenv.FreePort(t)
	cmd := exec.CommandContext(t.Context(), program, script, transport)
	cmd.Env = []string{fmt.Sprintf("PORT=%d", port), "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	cmd.WaitDelay = hang
	up := make(chan struct{})
	said := &signalBuffer{want: "port", seen: up}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	select {
	case <-up:
	case err := <-ended:
		ended <- err
		t.Fatalf("the server ended: %v, %s", err, &said.buffer)
	case <-ctx.Done():
		t.Fatalf("the server does not come up: %s", &said.buffer)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// signalBuffer closes seen once want has been written.
type signalBuffer struct {
	buffer
	want string
	seen chan struct{}
	done bool
}

func (b *signalBuffer) Write(p []byte) (int, error) {
	n, err := b.buffer.Write(p)
	if !b.done && strings.Contains(b.String(), b.want) {
		b.done = true
		close(b.seen)
	}
	return n, err
}

// mcpHost is gjc with an editor that passes MCP servers. Its agent directory is in home.
type mcpHost struct {
	*scenario
	home string
	// answer answers the questions; nil for yes. Set it before a prompt.
	answer func(p *acp.RequestPermissionRequest) acp.PermissionOptionID
}

// startMCPHost starts gjc. Its child processes have env.
func startMCPHost(t *testing.T, home string, env ...string) *mcpHost {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*hang, errors.New("the session hangs"))
	t.Cleanup(cancel)
	h := &mcpHost{home: home, scenario: &scenario{t: t, ctx: ctx, check: newWireCheck(t), work: tempDir(t)}}
	capabilities := acptest.AllCapabilities()
	capabilities.Terminal = false
	var err error
	h.Agent, err = acptest.Start(ctx, acptest.ProcessOptions{Path: self(t), Args: []string{"acp"}, Dir: home, Env: environment(home, env...)}, acptest.EditorOptions{
		Capabilities: capabilities, Trace: h.check.trace,
		Permission: func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			if h.answer == nil {
				return acptest.Choose("allow_once"), nil
			}
			return acptest.Choose(h.answer(p)), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Process.Kill()
		_ = h.Close()
		if t.Failed() {
			t.Logf("stderr: %s", h.Process.Stderr())
		}
	})
	if _, err := h.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	return h
}

// open opens a session with servers.
func (h *mcpHost) open(servers ...any) acp.SessionID {
	h.t.Helper()
	if servers == nil {
		servers = []any{}
	}
	var resp acp.NewSessionResponse
	if err := h.Conn.Call(h.ctx, "session/new", object{"cwd": h.work, "mcpServers": servers}, &resp); err != nil {
		h.t.Fatal(err)
	}
	return resp.SessionID
}

// load loads a session, open or not, with servers.
func (h *mcpHost) load(id acp.SessionID, servers ...any) {
	h.t.Helper()
	if servers == nil {
		servers = []any{}
	}
	if err := h.Conn.Call(h.ctx, "session/load", object{"sessionId": id, "cwd": h.work, "mcpServers": servers}, nil); err != nil {
		h.t.Fatal(err)
	}
}

func (h *mcpHost) close(id acp.SessionID) {
	h.t.Helper()
	must(h.scenario, acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: id})
}

// toolCall is a completed tool call as the user sees it.
type toolCall struct {
	Title, Kind, Status, Text string
	types                     []string
}

// outcome is the result of a prompt.
type outcome struct {
	calls []toolCall
	words string
	stop  acp.StopReason
}

// text returns the text of the only call.
func (o outcome) only(t *testing.T) toolCall {
	t.Helper()
	if len(o.calls) != 1 {
		t.Fatalf("%d tool calls: %+v; it says %q", len(o.calls), o.calls, o.words)
	}
	return o.calls[0]
}

// prompt runs a turn.
func (h *mcpHost) prompt(id acp.SessionID, prompt string) outcome {
	h.t.Helper()
	from := len(h.Updates(id))
	resp, err := h.Prompt(h.ctx, id, prompt)
	if err != nil {
		h.t.Fatalf("%s: %v", prompt, err)
	}
	o := outcomeOf(h.Updates(id)[from:])
	o.stop = resp.StopReason
	return o
}

func outcomeOf(updates []acp.SessionUpdate) (o outcome) {
	at := make(map[acp.ToolCallID]int)
	for _, u := range updates {
		switch u := u.(type) {
		case *acp.ToolCall:
			at[u.ToolCallID] = len(o.calls)
			o.calls = append(o.calls, toolCall{Title: u.Title, Kind: string(u.Kind), Status: string(u.Status)})
		case *acp.ToolCallUpdate:
			i, known := at[u.ToolCallID]
			if !known {
				continue
			}
			c := &o.calls[i]
			c.Title, c.Kind, c.Status = u.Title.Or(c.Title), string(u.Kind.Or(acp.ToolKind(c.Kind))), string(u.Status.Or(acp.ToolCallStatus(c.Status)))
			content, given := u.Content.Get()
			if !given {
				continue
			}
			c.Text, c.types = "", nil
			for _, part := range content {
				inner, ok := part.(*acp.Content)
				if !ok {
					continue
				}
				switch b := inner.Content.(type) {
				case *acp.TextContent:
					c.Text += b.Text
					c.types = append(c.types, "text")
				case *acp.ImageContent:
					c.types = append(c.types, "image")
				default:
					c.types = append(c.types, fmt.Sprintf("%T", b))
				}
			}
		case *acp.AgentMessageChunk:
			if t, ok := u.Content.(*acp.TextContent); ok {
				o.words += t.Text
			}
		}
	}
	return o
}

// alive runs a turn that must work in any state.
func (h *mcpHost) alive(id acp.SessionID) {
	h.t.Helper()
	if o := h.prompt(id, "!say alive"); !strings.Contains(o.words, "alive") || o.stop != acp.StopReasonEndTurn {
		h.t.Errorf("the session is not alive: %+v", o)
	}
}

// awaitNotice waits for a notice for the user that contains all the parts.
func (h *mcpHost) awaitNotice(id acp.SessionID, parts ...string) {
	h.t.Helper()
	err := h.Await(h.ctx, id, acptest.Update(func(n *acp.Notice) bool {
		for _, part := range parts {
			if !strings.Contains(n.Title+"\n"+n.Description, part) {
				return false
			}
		}
		return true
	}))
	if err != nil {
		all, _ := json.Marshal(h.Updates(id))
		h.t.Fatalf("no notice has %q: %v\n%.3000s", parts, err, all)
	}
}

// connected waits until a server of a session is connected, however slow its start is.
func (h *mcpHost) connected(id acp.SessionID, name string) {
	h.t.Helper()
	h.alive(id) // the model waits for the servers' first attempts, /mcp does not
	for line := range strings.Lines(h.prompt(id, "/mcp").words) {
		if strings.HasPrefix(line, "- "+name+" ") && strings.Contains(line, ": connected") {
			return
		}
	}
	if o := h.prompt(id, "/mcp reconnect "+name); !strings.Contains(o.words, "Connected to "+name) {
		h.t.Fatalf("%s: %q", name, o.words)
	}
}
