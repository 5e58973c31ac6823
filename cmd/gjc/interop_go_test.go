package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"
)

// goClient is an editor on coder's Go SDK.
type goClient struct {
	t *testing.T

	mu        sync.Mutex // guards the fields below
	answer    sdk.PermissionOptionKind
	asked     int
	updates   []sdk.SessionUpdate
	terminals map[string]*goTerminal
	// waiting is closed at the next wait for a terminal.
	waiting chan struct{}
}

type goTerminal struct {
	cmd      *exec.Cmd
	output   buffer
	exited   chan struct{}
	released bool
}

var _ sdk.Client = (*goClient)(nil)

func (c *goClient) SessionUpdate(_ context.Context, p sdk.SessionNotification) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates = append(c.updates, p.Update)
	return nil
}

func (c *goClient) RequestPermission(_ context.Context, p sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	for _, o := range p.Options {
		if o.Kind == c.answer {
			return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
		}
	}
	return sdk.RequestPermissionResponse{}, fmt.Errorf("there is no option of the kind %s", c.answer)
}

func (c *goClient) ReadTextFile(_ context.Context, p sdk.ReadTextFileRequest) (sdk.ReadTextFileResponse, error) {
	data, err := os.ReadFile(p.Path)
	return sdk.ReadTextFileResponse{Content: string(data)}, err
}

func (c *goClient) WriteTextFile(_ context.Context, p sdk.WriteTextFileRequest) (sdk.WriteTextFileResponse, error) {
	return sdk.WriteTextFileResponse{}, os.WriteFile(p.Path, []byte(p.Content), 0o644)
}

func (c *goClient) CreateTerminal(_ context.Context, p sdk.CreateTerminalRequest) (sdk.CreateTerminalResponse, error) {
	t := &goTerminal{exited: make(chan struct{})}
	t.cmd = exec.Command(p.Command, p.Args...)
	t.cmd.Dir, t.cmd.Stdout, t.cmd.Stderr, t.cmd.WaitDelay = *p.Cwd, &t.output, &t.output, hang
	if err := t.cmd.Start(); err != nil {
		return sdk.CreateTerminalResponse{}, err
	}
	go func() { // ends with the command
		_ = t.cmd.Wait()
		close(t.exited)
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	id := fmt.Sprintf("go-%d", len(c.terminals)+1)
	c.terminals[id] = t
	return sdk.CreateTerminalResponse{TerminalId: id}, nil
}

func (c *goClient) terminal(id string) *goTerminal {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.terminals[id]
}

func (c *goClient) WaitForTerminalExit(ctx context.Context, p sdk.WaitForTerminalExitRequest) (sdk.WaitForTerminalExitResponse, error) {
	t := c.terminal(p.TerminalId)
	c.mu.Lock()
	if c.waiting != nil {
		close(c.waiting)
		c.waiting = nil
	}
	c.mu.Unlock()
	select {
	case <-t.exited:
	case <-ctx.Done():
		return sdk.WaitForTerminalExitResponse{}, ctx.Err()
	}
	if code := t.cmd.ProcessState.ExitCode(); code >= 0 {
		return sdk.WaitForTerminalExitResponse{ExitCode: &code}, nil
	}
	return sdk.WaitForTerminalExitResponse{Signal: new("SIGKILL")}, nil
}

func (c *goClient) TerminalOutput(_ context.Context, p sdk.TerminalOutputRequest) (sdk.TerminalOutputResponse, error) {
	return sdk.TerminalOutputResponse{Output: c.terminal(p.TerminalId).output.String()}, nil
}

func (c *goClient) KillTerminal(_ context.Context, p sdk.KillTerminalRequest) (sdk.KillTerminalResponse, error) {
	return sdk.KillTerminalResponse{}, c.terminal(p.TerminalId).cmd.Process.Kill()
}

func (c *goClient) ReleaseTerminal(_ context.Context, p sdk.ReleaseTerminalRequest) (sdk.ReleaseTerminalResponse, error) {
	t := c.terminal(p.TerminalId)
	_ = t.cmd.Process.Kill() // it has usually ended
	c.mu.Lock()
	defer c.mu.Unlock()
	t.released = true
	return sdk.ReleaseTerminalResponse{}, nil
}

// take returns the updates since its last call.
func (c *goClient) take() []sdk.SessionUpdate {
	c.mu.Lock()
	defer c.mu.Unlock()
	updates := c.updates
	c.updates = nil
	return updates
}

// goTools returns the tool calls of updates, as "title status", and the agent's text.
func goTools(updates []sdk.SessionUpdate) (tools []string, text string) {
	at := make(map[sdk.ToolCallId]int)
	var titles []string
	for _, u := range updates {
		switch {
		case u.ToolCall != nil:
			at[u.ToolCall.ToolCallId] = len(tools)
			titles = append(titles, u.ToolCall.Title)
			tools = append(tools, u.ToolCall.Title+" "+string(u.ToolCall.Status))
		case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
			i := at[u.ToolCallUpdate.ToolCallId]
			tools[i] = titles[i] + " " + string(*u.ToolCallUpdate.Status)
		case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
			text += u.AgentMessageChunk.Content.Text.Text
		}
	}
	return tools, text
}

// startGoClient starts gjc with an editor on it. client, if not nil, wraps the handler of gjc's calls; stop closes
// stdin and expects gjc to end successfully.
func startGoClient(
	t *testing.T, home string, answer sdk.PermissionOptionKind, client func(*goClient) sdk.Client, args ...string,
) (c *goClient, conn *sdk.ClientSideConnection, stop func()) {
	t.Helper()
	stderr := new(buffer)
	cmd := &exec.Cmd{
		Path: self(t), Args: append([]string{"gjc", "acp"}, args...), Env: environment(home), Dir: home, Stderr: stderr, WaitDelay: hang,
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, w := pipe(t)
	cmd.Stdout = w
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = stdout.Close()
		if t.Failed() {
			t.Logf("stderr: %s", stderr)
		}
	})
	c = &goClient{t: t, answer: answer, terminals: make(map[string]*goTerminal)}
	serves := sdk.Client(c)
	if client != nil {
		serves = client(c)
	}
	conn = sdk.NewClientSideConnection(serves, stdin, stdout)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	return c, conn, func() {
		t.Helper()
		if err := stdin.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("gjc ended with %v", err)
		}
		<-conn.Done()
	}
}

// Coder's Go SDK, which uses an older schema, drives the program through a whole session.
func TestInterop_GoSDK(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*hang)
	defer cancel()
	home, work := tempDir(t), tempDir(t)
	introduced(t, home, work)
	log := filepath.Join(home, "rpc.log")
	writeFile(t, filepath.Join(work, "a.txt"), "one\n")

	c, conn, stop := startGoClient(t, home, sdk.PermissionOptionKindAllowOnce, nil, "--rpc-log", log)
	fatal := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	equal := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	wantCode := func(what string, err error, code int) {
		t.Helper()
		if e, ok := errors.AsType[*sdk.RequestError](err); !ok || e.Code != code {
			t.Errorf("%s: got %v, want code %d", what, err, code)
		}
	}

	init, err := conn.Initialize(ctx, sdk.InitializeRequest{
		ProtocolVersion:    sdk.ProtocolVersionNumber,
		ClientCapabilities: sdk.ClientCapabilities{Fs: sdk.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}, Terminal: true},
	})
	fatal("initialize", err)
	if init.ProtocolVersion != sdk.ProtocolVersionNumber || init.AgentInfo == nil || init.AgentInfo.Name != "gjc" || !init.AgentCapabilities.LoadSession {
		t.Errorf("initialize answered %+v", init)
	}
	session, err := conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: work, McpServers: []sdk.McpServer{}})
	fatal("session/new", err)
	id := session.SessionId
	if session.Modes == nil || session.Modes.CurrentModeId != "default" || len(session.ConfigOptions) != 3 {
		t.Errorf("session/new answered %+v", session)
	}
	prompt := func(text string) (sdk.StopReason, []string, string) {
		t.Helper()
		c.take()
		r, err := conn.Prompt(ctx, sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
		fatal(text, err)
		tools, said := goTools(c.take())
		return r.StopReason, tools, said
	}

	reason, tools, said := prompt("!think hm\n!plan look; change\n!read a.txt\n!edit a.txt one => two\n!bash cat a.txt")
	equal("stop reason", reason, sdk.StopReasonEndTurn)
	work1 := []string{"Update the plan completed", "Read a.txt completed", "Edit a.txt completed", "cat a.txt completed"}
	equal("tools", tools, work1)
	if data, err := os.ReadFile(filepath.Join(work, "a.txt")); err != nil || string(data) != "two\n" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	equal("terminal", c.terminal("go-1").output.String(), "two\n")

	c.answer = sdk.PermissionOptionKindRejectOnce
	_, tools, _ = prompt("!bash touch refused.txt")
	equal("refused", tools, []string{"touch refused.txt failed"})
	c.answer = sdk.PermissionOptionKindAllowOnce

	waiting := make(chan struct{})
	c.waiting = waiting
	go func() { // ends with the wait, or the test
		select {
		case <-waiting:
			_ = conn.Cancel(ctx, sdk.CancelNotification{SessionId: id})
		case <-ctx.Done():
		}
	}()
	reason, tools, _ = prompt("!bash exec sleep 600")
	equal("cancelled", reason, sdk.StopReasonCancelled)
	equal("cancelled tools", tools, []string{"exec sleep 600 failed"})

	_, err = conn.SetSessionMode(ctx, sdk.SetSessionModeRequest{SessionId: id, ModeId: "plan"})
	fatal("session/set_mode", err)
	_, tools, _ = prompt("!write b.txt no")
	equal("plan mode", tools, []string{"Write b.txt failed"})
	options, err := conn.SetSessionConfigOption(ctx, sdk.SetSessionConfigOptionRequest{
		ValueId: &sdk.SetSessionConfigOptionValueId{SessionId: id, ConfigId: "mode", Value: "auto"},
	})
	fatal("session/set_config_option", err)
	equal("mode", string(options.ConfigOptions[0].Select.CurrentValue), "auto")

	_, err = conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: "x", McpServers: []sdk.McpServer{}})
	wantCode("relative cwd", err, invalidParams)
	_, err = conn.Prompt(ctx, sdk.PromptRequest{SessionId: "nobody", Prompt: []sdk.ContentBlock{sdk.TextBlock("x")}})
	wantCode("unknown session", err, notFound)
	_, err = conn.UnstableForkSession(ctx, sdk.UnstableForkSessionRequest{SessionId: "nobody", Cwd: work})
	wantCode("fork of an unknown session", err, notFound)
	elsewhere := tempDir(t)
	fork, err := conn.UnstableForkSession(ctx, sdk.UnstableForkSessionRequest{SessionId: id, Cwd: elsewhere})
	fatal("session/fork", err)
	if fork.SessionId == id || fork.SessionId == "" {
		t.Errorf("the fork is %q", fork.SessionId)
	}
	_, err = conn.CallExtension(ctx, "_nobody/has", map[string]any{})
	wantCode("extension", err, methodNotFound)

	_, err = conn.CloseSession(ctx, sdk.CloseSessionRequest{SessionId: id})
	fatal("session/close", err)
	list, err := conn.ListSessions(ctx, sdk.ListSessionsRequest{Cwd: &work})
	fatal("session/list", err)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionId != id || list.Sessions[0].Title == nil {
		t.Errorf("list %+v", list.Sessions)
	}
	c.take()
	_, err = conn.LoadSession(ctx, sdk.LoadSessionRequest{SessionId: id, Cwd: work, McpServers: []sdk.McpServer{}})
	fatal("session/load", err)
	tools, replayed := goTools(c.take())
	equal("replayed tools", tools[:min(len(work1), len(tools))], work1)
	if !strings.HasPrefix(strings.TrimSpace(replayed), strings.TrimSpace(said)) {
		t.Errorf("replayed %q, said %q", replayed, said)
	}
	if _, _, said := prompt("!say again"); !strings.Contains(said, "again") {
		t.Errorf("after the load it said %q", said)
	}

	for id, terminal := range c.terminals {
		if !terminal.released {
			t.Errorf("the terminal %s is not released", id)
		}
		<-terminal.exited
	}
	equal("questions", c.asked, 3)
	stop()
	newWireCheck(t).replay(log)
	wantEmptyExcept(t, work, "a.txt")
}
