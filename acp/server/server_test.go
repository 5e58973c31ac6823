package server_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

func containsAll(s string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

func TestErrors(t *testing.T) {
	e := start(t, scripted(providertest.Step{providertest.Text("fine")}))
	id := e.session()
	ctx := t.Context()
	call := func(method string, params any) error { return e.Conn.Call(ctx, method, params, nil) }
	type m map[string]any
	tests := []struct {
		name   string
		method string
		params any
		code   acp.ErrorCode
		parts  []string
	}{
		{"unknown method", "session/nope", m{}, -32601, []string{"session/nope"}},
		{"unknown extension", "_x/y", m{}, -32601, []string{"_x/y"}},
		{"not served", "nes/start", m{}, -32601, []string{"nes/start"}},
		{"not served as a proxy", "proxy/initialize", m{}, -32601, []string{"proxy/initialize"}},
		{"fork of nothing", "session/fork", m{"sessionId": id, "cwd": e.dir}, -32602, []string{"nothing to fork"}},
		{"fork of an unknown session", "session/fork", m{"sessionId": "none", "cwd": e.dir}, -32002, []string{"none"}},
		{"fork to somewhere relative", "session/fork", m{"sessionId": id, "cwd": "."}, -32602, []string{"absolute"}},
		{"archive of an unknown session", "session/archive", m{"sessionId": "none"}, -32002, []string{"none"}},
		{"unarchive of an unknown session", "session/unarchive", m{"sessionId": "none"}, -32002, []string{"none"}},
		{"status of an unknown session", "session/status", m{"sessionId": "none"}, -32002, []string{"none"}},
		{"title of an unknown session", "session/set_title", m{"sessionId": "none", "title": "x"}, -32002, []string{"none"}},
		{"empty title", "session/set_title", m{"sessionId": id, "title": " \n "}, -32602, []string{"title"}},
		{"no title", "session/set_title", m{"sessionId": id}, -32602, []string{"title"}},
		{"null title", "session/set_title", m{"sessionId": id, "title": nil}, -32602, []string{"title"}},
		{"unknown archive filter", "session/list", m{"archived": "maybe"}, -32602, []string{"maybe", "exclude, include and only"}},
		{"system prompt in an unknown mode", "session/new", m{"cwd": e.dir, "mcpServers": []any{}, "systemPrompt": m{"mode": "prepend", "content": []any{m{"type": "text", "text": "x"}}}}, -32602, []string{"prepend", "append and override"}},
		{"system prompt without content", "session/new", m{"cwd": e.dir, "mcpServers": []any{}, "systemPrompt": m{"mode": "append", "content": []any{}}}, -32602, []string{"content"}},
		{"system prompt of pictures", "session/new", m{"cwd": e.dir, "mcpServers": []any{}, "systemPrompt": m{"mode": "append", "content": []any{m{"type": "image", "data": "", "mimeType": "image/png"}}}}, -32602, []string{"not text"}},
		{"unknown provider", "providers/set", m{"providerId": "none", "apiType": "openai", "baseUrl": "https://example.com"}, -32602, []string{"unknown provider"}},
		{"provider without a host", "providers/set", m{"providerId": "openai", "apiType": "openai", "baseUrl": "/v1"}, -32602, []string{"base URL"}},
		{"steering of an unknown session", "_session/steering", m{"sessionId": "none", "prompt": []any{m{"type": "text", "text": "x"}}}, -32002, []string{"none"}},
		{"steering with nothing", "_session/steering", m{"sessionId": id, "prompt": []any{}}, -32602, []string{"empty"}},
		{"listing too many", "_gjc/sessions/listAll", m{"limit": 5001}, -32602, []string{"5000"}},
		{"chats of a relative directory", "_gjc/chats/byCwd", m{"cwd": "x"}, -32602, []string{"absolute"}},
		{"extension without its underscore", "gjc/usage", m{}, -32601, []string{"gjc/usage"}},
		{"toggle of nothing", "_gjc/extensions/toggle", m{"enabled": true}, -32602, []string{"providerId"}},
		{"toggle to nowhere", "_gjc/extensions/toggle", m{"providerId": "x"}, -32602, []string{"enabled"}},
		{"switch with a word", "session/set_config_option", m{"sessionId": id, "configId": "show_thinking", "value": "yes"}, -32602, []string{"is boolean"}},
		{"service tier that the model lacks", "session/set_config_option", m{"sessionId": id, "configId": "service_tier", "value": "flex"}, -32602, []string{"flex"}},
		{"relative cwd", "session/new", m{"cwd": "src", "mcpServers": []any{}}, -32602, []string{"cwd must be absolute", `"src"`}},
		{"no cwd", "session/new", m{"mcpServers": []any{}}, -32602, []string{"cwd"}},
		{"wrong type", "session/new", m{"cwd": 7, "mcpServers": []any{}}, -32602, []string{"/params/cwd"}},
		{"relative root", "session/new", m{"cwd": e.dir, "mcpServers": []any{}, "additionalDirectories": []string{"x"}}, -32602, []string{"absolute"}},
		{"prompt to an unknown session", "session/prompt", m{"sessionId": "none", "prompt": []any{}}, -32002, []string{`"none"`}},
		{"load nothing", "session/load", m{"sessionId": "none", "cwd": e.dir, "mcpServers": []any{}}, -32002, []string{"none"}},
		{"resume nothing", "session/resume", m{"sessionId": "none", "cwd": e.dir}, -32002, []string{"none"}},
		{"load somewhere relative", "session/load", m{"sessionId": id, "cwd": ".", "mcpServers": []any{}}, -32602, []string{"absolute"}},
		{"load a live one elsewhere", "session/load", m{"sessionId": id, "cwd": "/", "mcpServers": []any{}}, -32602, []string{"is open in"}},
		{"mode of an unknown session", "session/set_mode", m{"sessionId": "none", "modeId": "plan"}, -32002, []string{"none"}},
		{"unknown mode", "session/set_mode", m{"sessionId": id, "modeId": "yolo"}, -32602, []string{`"yolo"`, "default, strict, plan, auto"}},
		{"unknown option", "session/set_config_option", m{"sessionId": id, "configId": "color", "value": "x"}, -32602, []string{`"color"`, "mode, model, thinking"}},
		{"unknown value", "session/set_config_option", m{"sessionId": id, "configId": "mode", "value": "x"}, -32602, []string{`"x"`, "plan"}},
		{"boolean", "session/set_config_option", m{"sessionId": id, "configId": "mode", "value": true, "type": "boolean"}, -32602, []string{"boolean"}},
		{"unknown model", "session/set_config_option", m{"sessionId": id, "configId": "model", "value": "a/b"}, -32602, []string{"a/b"}},
		{"unknown level", "session/set_config_option", m{"sessionId": id, "configId": "thinking", "value": "turbo"}, -32602, []string{"turbo"}},
		{"level that the model lacks", "session/set_config_option", m{"sessionId": id, "configId": "thinking", "value": "minimal"}, -32602, []string{"minimal", "off", "high"}},
		{"bad cursor", "session/list", m{"cursor": "abc"}, -32602, []string{"cursor"}},
		{"relative list", "session/list", m{"cwd": "x"}, -32602, []string{"absolute"}},
		{"empty prompt", "session/prompt", m{"sessionId": id, "prompt": []any{}}, -32602, []string{"empty"}},
		{"audio", "session/prompt", m{"sessionId": id, "prompt": []any{m{"type": "audio", "data": "", "mimeType": "audio/wav"}}}, -32602, []string{"audio"}},
		{"bad image", "session/prompt", m{"sessionId": id, "prompt": []any{m{"type": "image", "data": "!", "mimeType": "image/png"}}}, -32602, []string{"base64"}},
		{"unknown auth", "authenticate", m{"methodId": "terminal"}, -32602, []string{"terminal"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wantCode(t, call(tt.method, tt.params), tt.code, tt.parts...) })
	}
	// The session still works.
	e.say(id, "!say 3", acp.StopReasonEndTurn)
	if err := call("session/close", m{"sessionId": "none"}); err != nil {
		t.Errorf("closing an unknown session: %v", err)
	}
	if err := call("authenticate", m{"methodId": "agent"}); err != nil {
		t.Errorf("authenticate: %v", err)
	}
}

// The updates of a turn precede its response. The updates of a new session follow its response.
func TestOrder(t *testing.T) {
	var wire []string
	e := start(t, func(c *config) {
		c.editor.Trace = func(sent bool, line []byte) {
			if !sent {
				wire = append(wire, kindOf(line))
			}
		}
	})
	id := e.session()
	e.say(id, "!think hm\n!say 5\n!plan a; b", acp.StopReasonEndTurn)
	e.await(id, acptest.Update[*acp.AvailableCommandsUpdate](nil))
	got := strings.Join(wire, " ")
	if !strings.HasPrefix(got, "response response available_commands_update") {
		t.Errorf("the wire begins with %s", got)
	}
	if !strings.HasSuffix(got, "response") || strings.Count(got, "response") != 3 {
		t.Errorf("the last message is not the answer to the prompt: %s", got)
	}
	for _, kind := range []string{"agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "plan", "session_info_update"} {
		if !strings.Contains(got, kind) {
			t.Errorf("no %s in %s", kind, got)
		}
	}
}

func kindOf(line []byte) string {
	var m struct {
		Method string `json:"method"`
		Params struct {
			Update struct {
				SessionUpdate string `json:"sessionUpdate"`
			} `json:"update"`
		} `json:"params"`
	}
	if err := jsonx.Unmarshal(line, &m); err != nil {
		return "junk"
	}
	switch {
	case m.Method == "":
		return "response"
	case m.Params.Update.SessionUpdate != "":
		return m.Params.Update.SessionUpdate
	default:
		return m.Method
	}
}

// The modes are available as modes and as a config option. Both stay in sync, and a client is not notified of its own change.
func TestModesAndOptions(t *testing.T) {
	e := start(t, scripted())
	id := e.session()
	ctx := t.Context()
	e.await(id, acptest.Update[*acp.AvailableCommandsUpdate](nil))
	seen := len(e.Updates(id))
	if _, err := acp.MethodSessionSetMode.Call(ctx, e.Conn, &acp.SetSessionModeRequest{SessionID: id, ModeID: "plan"}); err != nil {
		t.Fatal(err)
	}
	ups := e.Updates(id)[seen:]
	if len(ups) != 1 || current(t, ups[0].(*acp.ConfigOptionUpdate).ConfigOptions, "mode") != "plan" {
		t.Errorf("set_mode sent %d updates", len(ups))
	}
	seen += len(ups)
	set := func(option acp.SessionConfigID, value acp.SessionConfigValueID) []acp.SessionConfigOption {
		resp, err := acp.MethodSessionSetConfigOption.Call(ctx, e.Conn, &acp.SetSessionConfigOptionRequest{SessionID: id, ConfigID: option, Value: value})
		if err != nil {
			t.Fatal(err)
		}
		return resp.ConfigOptions
	}
	if got := current(t, set("mode", "auto"), "mode"); got != "auto" {
		t.Errorf("mode = %s", got)
	}
	ups = e.Updates(id)[seen:]
	if len(ups) != 1 || ups[0].(*acp.CurrentModeUpdate).CurrentModeID != "auto" {
		t.Errorf("the option mode sent %d updates", len(ups))
	}
	seen += len(ups)
	if got := current(t, set("thinking", "high"), "thinking"); got != "high" {
		t.Errorf("thinking = %s", got)
	}
	// Another model has other levels, so the response has all options.
	options := set("model", "test/plain")
	if current(t, options, "model") != "test/plain" || current(t, options, "thinking") != "off" || len(options) != 4 {
		t.Errorf("options %+v", options)
	}
	if ups = e.Updates(id)[seen:]; len(ups) != 0 {
		t.Errorf("the client was notified of its own changes: %d updates", len(ups))
	}
}

func current(t *testing.T, options []acp.SessionConfigOption, id acp.SessionConfigID) string {
	t.Helper()
	for _, o := range options {
		if o.ID == id {
			return string(o.Kind.(*acp.SessionConfigSelect).CurrentValue)
		}
	}
	t.Fatalf("no option %s", id)
	return ""
}

// Unsaved buffers are read, the range is applied once, and edits go through the editor and show the actual old and new text.
func TestFilesThroughTheEditor(t *testing.T) {
	e := start(t)
	path := e.write("a.txt", "disk one\ndisk two\ndisk three\n")
	e.Open(path, "editor one\neditor two\neditor three\n")
	id := e.session()
	e.say(id, "!read a.txt:2+1", acp.StopReasonEndTurn)
	if got := allText(e.Updates(id)); !strings.Contains(got, "editor two") || strings.Contains(got, "disk") {
		t.Errorf("read showed\n%s", got)
	}
	e.say(id, "!edit a.txt editor two => changed two", acp.StopReasonEndTurn)
	var diff *acp.Diff
	for _, d := range diffs(e.Updates(id)) {
		diff = d
	}
	want := "editor one\nchanged two\neditor three\n"
	if diff == nil || diff.Path != path || diff.OldText == nil || *diff.OldText != "editor one\neditor two\neditor three\n" || diff.NewText != want {
		t.Errorf("diff %+v", diff)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != want {
		t.Errorf("the file holds %q (%v)", data, err)
	}
	e.say(id, "!write sub/new.txt hello\\n", acp.StopReasonEndTurn)
	all := diffs(e.Updates(id))
	if last := all[len(all)-1]; last.OldText != nil || last.NewText != "hello\n" {
		t.Errorf("a new file's diff: %+v", last)
	}
	for _, c := range []string{"fs/read_text_file", "fs/write_text_file"} {
		if !acptest.Called(c, 2)(nil, e.Calls()) {
			t.Errorf("%s was called too seldom: %v", c, e.Calls())
		}
	}
}

// A client without files and terminals receives no requests for them.
func TestWithoutCapabilities(t *testing.T) {
	e := start(t, func(c *config) { c.editor.Capabilities = &acp.ClientCapabilities{} })
	e.write("a.txt", "one\n")
	id := e.session()
	e.say(id, "!edit a.txt one => two\n!bash cat a.txt", acp.StopReasonEndTurn)
	if diff := cmp.Diff([]string{"session/request_permission"}, e.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if got := allText(e.Updates(id)); !strings.Contains(got, "two") {
		t.Errorf("no output of the command in\n%s", got)
	}
}

func allText(updates []acp.SessionUpdate) string {
	var s strings.Builder
	for _, u := range updates {
		var content []acp.ToolCallContent
		switch u := u.(type) {
		case *acp.ToolCall:
			content = u.Content
		case *acp.ToolCallUpdate:
			content, _ = u.Content.Get()
		}
		for _, c := range content {
			if c, ok := c.(*acp.Content); ok {
				if t, ok := c.Content.(*acp.TextContent); ok {
					s.WriteString(t.Text + "\n")
				}
			}
		}
	}
	return s.String()
}

func diffs(updates []acp.SessionUpdate) []*acp.Diff {
	var all []*acp.Diff
	for _, u := range updates {
		if u, ok := u.(*acp.ToolCallUpdate); ok {
			content, _ := u.Content.Get()
			for _, c := range content {
				if d, ok := c.(*acp.Diff); ok {
					all = append(all, d)
				}
			}
		}
	}
	return all
}

// An unanswered question does not block a cancellation, and its request is cancelled.
func TestCancel_WithAnOpenQuestion(t *testing.T) {
	e := start(t, func(c *config) {
		c.editor.Permission = func(ctx context.Context, _ *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			<-ctx.Done() // until $/cancel_request comes
			return nil, context.Cause(ctx)
		}
	})
	id := e.session()
	answered := make(chan *acp.PromptResponse, 1)
	go func() {
		resp, err := e.Prompt(t.Context(), id, "!bash ls")
		if err != nil {
			t.Error(err)
		}
		answered <- resp
	}()
	e.await(id, acptest.Called("session/request_permission", 1))
	if err := acp.MethodSessionCancel.Notify(t.Context(), e.Conn, &acp.CancelNotification{SessionID: id}); err != nil {
		t.Fatal(err)
	}
	if resp := <-answered; resp == nil || resp.StopReason != acp.StopReasonCancelled {
		t.Errorf("response %+v", resp)
	}
	e.mu.Lock()
	cancels := e.cancels
	e.mu.Unlock()
	if cancels != 1 {
		t.Errorf("%d $/cancel_request for the open question, want 1", cancels)
	}
	e.say(id, "!say 2", acp.StopReasonEndTurn)
}

// session/cancel and $/cancel_request both kill a running command and release its terminal.
func TestCancel_WithARunningCommand(t *testing.T) {
	for _, byRequest := range []bool{false, true} {
		e := start(t)
		id := e.session()
		ctx, cancel := context.WithCancel(t.Context())
		answered := make(chan error, 1)
		go func() {
			resp, err := e.Prompt(ctx, id, "!bash sleep 600")
			if err == nil && resp.StopReason != acp.StopReasonCancelled {
				err = errors.New("stop reason " + string(resp.StopReason))
			}
			answered <- err
		}()
		e.await(id, acptest.Called("terminal/wait_for_exit", 1))
		if byRequest {
			cancel()
		} else if err := acp.MethodSessionCancel.Notify(t.Context(), e.Conn, &acp.CancelNotification{SessionID: id}); err != nil {
			t.Fatal(err)
		}
		if err := <-answered; err != nil && !byRequest {
			t.Error(err)
		}
		e.await(id, acptest.Called("terminal/release", 1))
		e.say(id, "!say 2", acp.StopReasonEndTurn)
		if n := e.OpenTerminals(); n != 0 {
			t.Errorf("%d terminals left", n)
		}
		for _, u := range e.Updates(id) {
			if call, ok := u.(*acp.ToolCall); ok {
				e.await(id, acptest.Update(func(u *acp.ToolCallUpdate) bool {
					return u.ToolCallID == call.ToolCallID && u.Status.Or("") == acp.ToolCallStatusFailed
				}))
			}
		}
		cancel()
	}
}

// If one of the five terminal requests fails, the tool call fails with its text, the terminal is released, and the session continues.
func TestTerminalFails(t *testing.T) {
	for _, method := range []string{"terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/kill", "terminal/release"} {
		t.Run(filepath.Base(method), func(t *testing.T) {
			broken := true
			e := start(t, func(c *config) {
				c.editor.Requested = func(m string, _ any) error {
					if m == method && broken {
						return &acp.Error{Code: -32603, Message: "the " + filepath.Base(m) + " is broken"}
					}
					return nil
				}
			})
			id := e.session()
			if method == "terminal/kill" {
				e.kill(id)
			} else {
				e.say(id, "!bash echo hi", acp.StopReasonEndTurn)
			}
			failed := acptest.Called("terminal/release", 1)(nil, e.Calls())
			if failed == (method == "terminal/create") {
				t.Errorf("calls: %v", e.Calls())
			}
			if method != "terminal/release" && method != "terminal/kill" && !strings.Contains(allText(e.Updates(id)), "is broken") {
				t.Errorf("the failure is not shown:\n%s", allText(e.Updates(id)))
			}
			broken = false
			e.say(id, "!bash echo again", acp.StopReasonEndTurn)
		})
	}
}

// kill cancels a running command.
func (e *env) kill(id acp.SessionID) {
	done := make(chan error, 1)
	go func() {
		_, err := e.Prompt(e.t.Context(), id, "!bash sleep 600")
		done <- err
	}()
	e.await(id, acptest.Called("terminal/wait_for_exit", 1))
	if err := acp.MethodSessionCancel.Notify(e.t.Context(), e.Conn, &acp.CancelNotification{SessionID: id}); err != nil {
		e.t.Fatal(err)
	}
	if err := <-done; err != nil {
		e.t.Error(err)
	}
}

// If the editor dies during a turn, the server ends, and so does everything that it started.
func TestEditorDies(t *testing.T) {
	for _, prompt := range []string{"!wait", "!bash sleep 600", "!bash trap '' TERM; sleep 600"} {
		e := start(t, func(c *config) { c.editor.Capabilities = &acp.ClientCapabilities{} })
		id := e.session()
		go func() { _, _ = e.Prompt(context.Background(), id, prompt) }()
		if prompt == "!wait" {
			e.await(id, acptest.Update[*acp.SessionInfoUpdate](nil))
		} else {
			e.await(id, acptest.Update(func(u *acp.ToolCallUpdate) bool { return u.Status.Or("") == acp.ToolCallStatusInProgress }))
		}
		begin := time.Now()
		e.stop()
		e.wantServed()
		if d := time.Since(begin); d > 5*time.Second {
			t.Errorf("%s: the server took %v to end", prompt, d)
		}
	}
}

// A full disk fails this prompt and the next one. The session works again when space is available, and other sessions are not
// affected.
func TestDiskFull(t *testing.T) {
	left := 1 << 20
	e := start(t, func(c *config) {
		c.store.FS = limitedDisk{sessions.Disk(), &left}
	})
	id := e.session()
	e.say(id, "!say 2", acp.StopReasonEndTurn)
	left = 10
	for range 2 {
		_, err := e.Prompt(t.Context(), id, "!say 2")
		wantCode(t, err, acp.ErrorCodeInternalError, "the session cannot be saved")
	}
	left = 1 << 20
	other := e.session()
	e.say(other, "!say 2", acp.StopReasonEndTurn)
	e.say(id, "!say 2", acp.StopReasonEndTurn)
	// What was stored before the disk was full is kept.
	if _, err := acp.MethodSessionClose.Call(t.Context(), e.Conn, &acp.CloseSessionRequest{SessionID: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := acp.MethodSessionLoad.Call(t.Context(), e.Conn, &acp.LoadSessionRequest{SessionID: id, Cwd: e.dir}); err != nil {
		t.Fatal(err)
	}
	e.say(id, "!say 2", acp.StopReasonEndTurn)
}

type limitedDisk struct {
	sessions.FileSystem
	left *int
}

func (d limitedDisk) OpenFile(name string, flag int, perm fs.FileMode) (sessions.File, error) {
	f, err := d.FileSystem.OpenFile(name, flag, perm)
	return &limitedFile{File: f, left: d.left}, err
}

type limitedFile struct {
	sessions.File
	left *int
}

func (f *limitedFile) Write(b []byte) (int, error) {
	if len(b) <= *f.left {
		*f.left -= len(b)
		return f.File.Write(b)
	}
	n, _ := f.File.Write(b[:*f.left])
	*f.left = 0
	return n, errors.New("no space left on device")
}

// A session looks the same after it is closed and loaded. A resume replays nothing. Another process cannot open an open session.
func TestLoadAndResume(t *testing.T) {
	agentDir := t.TempDir()
	e := start(t, func(c *config) { c.agent = agentDir })
	e.write("a.txt", "one\n")
	id := e.session()
	e.say(id, "hello\n!think hm\n!edit a.txt one => two\n!bash echo out\n!plan a; b\n!read nope.txt", acp.StopReasonEndTurn)
	live := e.Updates(id)

	other := start(t, func(c *config) { c.agent = agentDir })
	_, err := acp.MethodSessionLoad.Call(t.Context(), other.Conn, &acp.LoadSessionRequest{SessionID: id, Cwd: e.dir})
	wantCode(t, err, acp.ErrorCodeInternalError, "in use by process", strconv.Itoa(os.Getpid()))

	if _, err := acp.MethodSessionClose.Call(t.Context(), e.Conn, &acp.CloseSessionRequest{SessionID: id}); err != nil {
		t.Fatal(err)
	}
	_, err = e.Prompt(t.Context(), id, "!say 1")
	wantCode(t, err, acp.ErrorCodeResourceNotFound)

	list, err := acp.MethodSessionList.Call(t.Context(), other.Conn, &acp.ListSessionsRequest{Cwd: e.dir})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].Title != "hello" || list.Sessions[0].SessionID != id {
		t.Errorf("list %+v, %v", list, err)
	}
	resp, err := acp.MethodSessionLoad.Call(t.Context(), other.Conn, &acp.LoadSessionRequest{SessionID: id, Cwd: e.dir})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Modes == nil || len(resp.ConfigOptions) != 4 {
		t.Errorf("load answered %+v", resp)
	}
	if diff := cmp.Diff(shape(live), shape(other.Updates(id))); diff != "" {
		t.Errorf("the loaded session (-live +loaded):\n%s", diff)
	}
	other.say(id, "!say 2", acp.StopReasonEndTurn)

	// A load of an open session replays the same conversation.
	if _, err := acp.MethodSessionClose.Call(t.Context(), other.Conn, &acp.CloseSessionRequest{SessionID: id}); err != nil {
		t.Fatal(err)
	}
	seen := len(e.Updates(id))
	if _, err := acp.MethodSessionResume.Call(t.Context(), e.Conn, &acp.ResumeSessionRequest{SessionID: id, Cwd: e.dir}); err != nil {
		t.Fatal(err)
	}
	for _, u := range e.Updates(id)[seen:] {
		switch u.(type) {
		case *acp.AvailableCommandsUpdate, *acp.SessionInfoUpdate, *acp.UsageUpdate:
		default:
			t.Errorf("resume replayed a %T", u)
		}
	}
	e.say(id, "!say 2", acp.StopReasonEndTurn)
}

// shape returns the visible conversation: the text, and the beginning and end of each tool call.
func shape(updates []acp.SessionUpdate) []string {
	var lines []string
	add := func(kind, id, text string) {
		if n := len(lines); n > 0 && strings.HasPrefix(lines[n-1], kind+" "+id+": ") {
			lines[n-1] += text
			return
		}
		lines = append(lines, kind+" "+id+": "+text)
	}
	for _, u := range updates {
		switch u := u.(type) {
		case *acp.AgentMessageChunk:
			add("message", string(u.MessageID), u.Content.(*acp.TextContent).Text)
		case *acp.AgentThoughtChunk:
			add("thought", string(u.MessageID), u.Content.(*acp.TextContent).Text)
		case *acp.ToolCall:
			add("start", string(u.ToolCallID), u.Title+" "+string(u.Kind)+" "+string(u.RawInput))
		case *acp.ToolCallUpdate:
			status := u.Status.Or("")
			if status != acp.ToolCallStatusInProgress {
				add("end", string(u.ToolCallID), string(status))
			}
		case *acp.Plan:
			add("plan", "", "")
		}
	}
	return lines
}

// Ten concurrent sessions do not affect each other.
func TestSessionsAreIsolated(t *testing.T) {
	e := start(t)
	type turn struct {
		id  acp.SessionID
		err error
	}
	done := make(chan turn, 10)
	var ids []acp.SessionID
	for range 10 {
		ids = append(ids, e.session())
	}
	for i, id := range ids {
		go func() {
			_, err := e.Prompt(t.Context(), id, "!think session "+string(rune('a'+i))+"\n!say 20")
			done <- turn{id, err}
		}()
	}
	for range ids {
		if r := <-done; r.err != nil {
			t.Error(r.err)
		}
	}
	for i, id := range ids {
		var thought strings.Builder
		for _, u := range e.Updates(id) {
			if c, ok := u.(*acp.AgentThoughtChunk); ok {
				thought.WriteString(c.Content.(*acp.TextContent).Text)
			}
		}
		if want := "session " + string(rune('a'+i)); !strings.Contains(thought.String(), want) {
			t.Errorf("session %d thought %q", i, thought.String())
		}
	}
}

// A provider's error becomes a response with the information that the user and the client need.
func TestProviderErrors(t *testing.T) {
	resets := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	e := start(t, scripted(
		providertest.Step{providertest.Fail(&providers.Error{Kind: providers.KindAuth, Provider: "test", Message: "there is no key"})},
		providertest.Step{providertest.Fail(&providers.Error{Kind: providers.KindAuth, Provider: "test", Message: "the key is wrong", Status: 401})},
		providertest.Step{providertest.Fail(&providers.Error{Kind: providers.KindQuota, Provider: "test", Message: "used up", ResetsAt: resets})},
		providertest.Step{providertest.Text("fine")},
	))
	id := e.session()
	_, err := e.Prompt(t.Context(), id, "none")
	wantCode(t, err, acp.ErrorCodeAuthenticationRequired, "there is no key")
	_, err = e.Prompt(t.Context(), id, "one")
	wantCode(t, err, acp.ErrorCodeAuthenticationRequired, "the key is wrong")
	_, err = e.Prompt(t.Context(), id, "two")
	wantCode(t, err, acp.ErrorCodeInternalError, "used up")
	var data struct {
		Kind      string `json:"kind"`
		Retryable bool   `json:"retryable"`
		ResetsAt  string `json:"resetsAt"`
	}
	if e, ok := errors.AsType[*acp.Error](err); ok {
		if err := jsonx.Unmarshal(e.Data, &data); err != nil || data.Kind != "quota" || data.Retryable || data.ResetsAt != "2030-01-02T03:04:05Z" {
			t.Errorf("data %s (%v)", e.Data, err)
		}
	}
	e.say(id, "three", acp.StopReasonEndTurn)
	if got := e.Text(id); got != "fine" {
		t.Errorf("the agent said %q", got)
	}
}

// A turn makes at most 200 model requests, and its response says so.
func TestMaxTurnRequests(t *testing.T) {
	e := start(t)
	e.write("a.txt", "one\n")
	id := e.session()
	e.say(id, strings.Repeat("!read a.txt\n", 250), acp.StopReasonMaxTurnRequests)
	calls := 0
	for _, u := range e.Updates(id) {
		if _, ok := u.(*acp.ToolCall); ok {
			calls++
		}
	}
	if calls != 200 {
		t.Errorf("the turn made %d requests", calls)
	}
}
