package main

import (
	"context"
	"encoding/base64"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// Every message that gjc sends conforms to the official schema, with closed objects, and to the rules of order: through
// every command of the offline model, every mode and option, loading, cancelling and errors, with an editor that
// supports everything and with one that supports nothing.
func TestConformance(t *testing.T) {
	testenv.NeedsInterop(t)
	t.Parallel()
	for _, tt := range []struct {
		name         string
		capabilities *acp.ClientCapabilities
		// kinds are the kinds of messages that must occur.
		kinds []string
	}{
		{"full editor", nil, []string{
			"notice", "fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output", "terminal/wait_for_exit",
			"terminal/kill", "terminal/release", "elicitation/create", "compaction_update", "compaction_summary_chunk",
		}},
		{"unstable editor", acptest.UnstableCapabilities(), []string{"plan_update", "subagent_update"}},
		{"bare editor", &acp.ClientCapabilities{}, []string{"plan"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := startScenario(t, tt.capabilities)
			s.turns()
			s.modesAndOptions()
			s.errors()
			s.manage()
			s.reopen()
			s.stop()
			for _, kind := range append(
				tt.kinds,
				"initialize", "authenticate", "session/new", "session/list", "session/load", "session/resume", "session/prompt",
				"session/close", "session/set_mode", "session/set_config_option", "error", "session/request_permission",
				"$/cancel_request",
				"user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update",
				"session/fork", "session/archive", "session/unarchive", "session/status", "session/set_title", "session/delete",
				"auth/status", "logout", "providers/list", "providers/set", "providers/disable",
				"available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update",
			) {
				if s.check.seen(kind) == 0 {
					t.Errorf("no %s was sent: the test does not cover it", kind)
				}
			}
		})
	}
}

// scenario is a whole session with an acptest editor over a real pipe.
type scenario struct {
	*acptest.Agent
	t     *testing.T
	ctx   context.Context
	check *wireCheck
	work  string
	id    acp.SessionID
	// answer is the user's answer to the next questions; empty for none.
	answer acp.PermissionOptionID
}

func startScenario(t *testing.T, capabilities *acp.ClientCapabilities) *scenario {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*hang, errors.New("the scenario hangs"))
	t.Cleanup(cancel)
	home := tempDir(t)
	// A file with a mistake makes gjc send a notice.
	writeFile(t, filepath.Join(home, ".gjc", "agent", "models.yml"), "providers: 7\n")
	s := &scenario{t: t, ctx: ctx, check: newWireCheck(t), work: tempDir(t), answer: "allow_once"}
	var err error
	s.Agent, err = acptest.Start(ctx, acptest.ProcessOptions{Path: self(t), Args: []string{"acp"}, Dir: home, Env: environment(home)}, acptest.EditorOptions{
		Capabilities: capabilities, Trace: s.check.trace,
		Permission: func(ctx context.Context, _ *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			if s.answer == "" {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			return acptest.Choose(s.answer), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Process.Kill()
		_ = s.Close()
		if t.Failed() {
			t.Logf("stderr: %s", s.Process.Stderr())
		}
	})
	if _, err := s.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	must(s, acp.MethodAuthenticate, &acp.AuthenticateRequest{MethodID: "agent"})
	s.id = must(s, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: s.work, MCPServers: []acp.MCPServer{
		&acp.MCPServerStdio{Name: "docs", Command: "/nonexistent/docs"},
	}}).SessionID
	return s
}

// must calls a method that must succeed.
func must[P, R any](s *scenario, m acp.RequestMethod[P, R], p *P) *R {
	s.t.Helper()
	r, err := m.Call(s.ctx, s.Conn, p)
	if err != nil {
		s.t.Fatalf("%s: %v", m.Name, err)
	}
	return r
}

// wantError calls a method that must fail with a code.
func wantError[P, R any](s *scenario, m acp.RequestMethod[P, R], p *P, code acp.ErrorCode) {
	s.t.Helper()
	_, err := m.Call(s.ctx, s.Conn, p)
	if e, ok := errors.AsType[*acp.Error](err); !ok || e.Code != code {
		s.t.Errorf("%s: got %v, want code %d", m.Name, err, code)
	}
}

// say prompts; the turn must end with stop.
func (s *scenario) say(stop acp.StopReason, blocks ...acp.ContentBlock) {
	s.t.Helper()
	r := must(s, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: s.id, Prompt: blocks})
	if r.StopReason != stop {
		s.t.Errorf("%v stopped with %s, want %s", blocks[0], r.StopReason, stop)
	}
}

func textBlock(t string) acp.ContentBlock { return &acp.TextContent{Text: t} }

func (s *scenario) turns() {
	writeFile(s.t, filepath.Join(s.work, "a.txt"), "one\ntwo\nthree\n")
	writeFile(s.t, filepath.Join(s.work, "AGENTS.md"), "Be brief.\n")
	outside := filepath.Join(tempDir(s.t), "outside.txt")
	writeFile(s.t, outside, "outside\n")
	for _, prompt := range []string{
		"hello", "/help", "/session", "/nosuch thing",
		"!think deep\n!say words", "!say 500", "!plan a; b; c",
		"!read a.txt", "!read a.txt:2+1", "!read missing.txt", "!read " + outside, "!read .",
		"!write new/b.txt hello", "!edit a.txt two => 2", "!edit a.txt nothing => x", "!search t.o", "!search [", "!find **/*.txt",
		"!bash echo out; echo err >&2", "!bash exit 3", "!bash printf '\\377\\000\\033[31mred'", "!bash yes | head -c 300000",
		"!ask Which? | A | B", "!mcp docs_x {}", "!lsp hover", "!nonsense",
		"!read a.txt\n!read AGENTS.md\n!bash cat a.txt\n!plan d",
	} {
		s.say(acp.StopReasonEndTurn, textBlock(prompt))
	}
	s.say(
		acp.StopReasonEndTurn,
		textBlock("look at these"),
		&acp.ImageContent{MIMEType: "image/png", Data: base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))},
		&acp.ResourceLink{Name: "a.txt", URI: "file://" + filepath.ToSlash(s.work) + "/a.txt"},
		&acp.EmbeddedResource{Resource: &acp.TextResourceContents{URI: "file:///x/y.txt", Text: "embedded"}},
	)
	s.say(acp.StopReasonMaxTokens, textBlock("!stop length"))
	s.say(acp.StopReasonRefusal, textBlock("!stop refusal"))
	s.answer = "reject_once"
	s.say(acp.StopReasonEndTurn, textBlock("!bash rm -rf /nonexistent"))
	s.answer = "allow_once"

	s.cancelled("!think first\n!wait", acptest.Update[*acp.AgentThoughtChunk](nil))
	begun := acptest.Update(func(u *acp.ToolCallUpdate) bool { return u.Status.Or("") == acp.ToolCallStatusInProgress })
	if n := count(s.Calls(), acp.MethodTerminalWaitForExit.Name); n > 0 {
		begun = acptest.Called(acp.MethodTerminalWaitForExit.Name, n+1)
	}
	s.cancelled("!bash sleep 600", begun)
	s.answer = ""
	s.cancelled("!bash touch never", acptest.Called(acp.MethodSessionRequestPermission.Name, count(s.Calls(), acp.MethodSessionRequestPermission.Name)+1))
	s.answer = "allow_once"
}

// cancelled cancels a turn once an expectation is met in it.
func (s *scenario) cancelled(prompt string, when acptest.Expectation) {
	s.t.Helper()
	seen := len(s.Updates(s.id))
	done := make(chan error, 1)
	go func() {
		r, err := s.Prompt(s.ctx, s.id, prompt)
		if err == nil && r.StopReason != acp.StopReasonCancelled {
			err = errors.New("stopped with " + string(r.StopReason))
		}
		done <- err
	}()
	err := s.Await(s.ctx, s.id, func(updates []acp.SessionUpdate, calls []string) bool {
		return when(updates[seen:], calls)
	})
	if err != nil {
		s.t.Fatalf("%s: %v", prompt, err)
	}
	if err := acp.MethodSessionCancel.Notify(s.ctx, s.Conn, &acp.CancelNotification{SessionID: s.id}); err != nil {
		s.t.Fatal(err)
	}
	if err := <-done; err != nil {
		s.t.Errorf("%s: %v", prompt, err)
	}
}

func (s *scenario) modesAndOptions() {
	live := must(s, acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: s.id, Cwd: s.work})
	for _, mode := range live.Modes.AvailableModes {
		must(s, acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: s.id, ModeID: mode.ID})
		s.say(acp.StopReasonEndTurn, textBlock("!edit a.txt one => one\n!bash true\n!read a.txt"))
	}
	for _, option := range live.ConfigOptions {
		if _, isSwitch := option.Kind.(*acp.SessionConfigBoolean); isSwitch {
			for _, on := range []bool{false, true} {
				r := must(s, acp.MethodSessionSetConfigOption, &acp.SetSessionConfigOptionRequest{SessionID: s.id, ConfigID: option.ID, Value: acp.SessionConfigBoolValue(on)})
				for _, o := range r.ConfigOptions {
					if b, ok := o.Kind.(*acp.SessionConfigBoolean); ok && o.ID == option.ID && b.CurrentValue != on {
						s.t.Errorf("%s = %v after it was set to %v", o.ID, b.CurrentValue, on)
					}
				}
			}
			continue
		}
		for _, value := range option.Kind.(*acp.SessionConfigSelect).Options.(acp.SessionConfigUngroupedOptions) {
			r := must(s, acp.MethodSessionSetConfigOption, &acp.SetSessionConfigOptionRequest{SessionID: s.id, ConfigID: option.ID, Value: value.Value})
			for _, o := range r.ConfigOptions {
				if sel, ok := o.Kind.(*acp.SessionConfigSelect); ok && o.ID == option.ID && sel.CurrentValue != value.Value {
					s.t.Errorf("%s = %s after it was set to %s", o.ID, sel.CurrentValue, value.Value)
				}
			}
		}
	}
	must(s, acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: s.id, ModeID: "default"})
}

func (s *scenario) errors() {
	for _, kind := range []string{"auth", "quota", "invalid_request", "model"} {
		code := acp.ErrorCodeInternalError
		if kind == "auth" {
			code = acp.ErrorCodeAuthenticationRequired
		}
		wantError(s, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: s.id, Prompt: []acp.ContentBlock{textBlock("!fail " + kind)}}, code)
	}
	s.say(acp.StopReasonEndTurn, textBlock("!fail context_overflow")) // the conversation is compacted then
	wantError(s, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: "nobody", Prompt: []acp.ContentBlock{textBlock("x")}}, acp.ErrorCodeResourceNotFound)
	wantError(s, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: s.id}, acp.ErrorCodeInvalidParams)
	wantError(s, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: "relative"}, acp.ErrorCodeInvalidParams)
	wantError(s, acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: "nobody", Cwd: s.work}, acp.ErrorCodeResourceNotFound)
	wantError(s, acp.MethodSessionResume, &acp.ResumeSessionRequest{SessionID: "nobody", Cwd: s.work}, acp.ErrorCodeResourceNotFound)
	wantError(s, acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: s.id, ModeID: "x"}, acp.ErrorCodeInvalidParams)
	wantError(s, acp.MethodSessionList, &acp.ListSessionsRequest{Cursor: "x"}, acp.ErrorCodeInvalidParams)
	wantError(s, acp.MethodAuthenticate, &acp.AuthenticateRequest{MethodID: "x"}, acp.ErrorCodeInvalidParams)
	wantError(s, acp.MethodSessionFork, &acp.ForkSessionRequest{SessionID: "nobody", Cwd: s.work}, acp.ErrorCodeResourceNotFound)
}

// manage tests the methods for whole sessions, and every slash command.
func (s *scenario) manage() {
	for _, command := range []string{
		"help", "model", "model offline/demo", "model none/such", "mode", "mode plan", "mode default", "mode x", "thinking", "thinking high", "thinking x",
		"plan", "mode default", "context", "usage", "session", "rename A new name", "rename", "fork", "tree", "tree all", "tree find x", "tree go x", "tree label x", "handoff the tests", "mcp select all", "export out.md", "export out.html", "export out.md",
		"dump", "todo", "mcp", "mcp tools", "mcp x", "lsp", "debug", "jobs", "compact", "clear", "compact", "dump", "nothing-like-it",
	} {
		s.say(acp.StopReasonEndTurn, textBlock("/"+command))
	}
	s.say(acp.StopReasonEndTurn, textBlock("!ask Which? | A | B"))
	s.say(acp.StopReasonEndTurn, textBlock("!task !read a.txt"))
	s.say(acp.StopReasonEndTurn, textBlock("!say to fork"))
	fork := must(s, acp.MethodSessionFork, &acp.ForkSessionRequest{SessionID: s.id, Cwd: s.work})
	must(s, acp.MethodSessionStatus, &acp.SessionStatusRequest{SessionID: fork.SessionID})
	must(s, acp.MethodSessionSetTitle, &acp.SetSessionTitleRequest{SessionID: fork.SessionID, Title: "The fork"})
	must(s, acp.MethodSessionArchive, &acp.ArchiveSessionRequest{SessionID: fork.SessionID})
	must(s, acp.MethodSessionUnarchive, &acp.UnarchiveSessionRequest{SessionID: fork.SessionID})
	for _, info := range must(s, acp.MethodSessionList, &acp.ListSessionsRequest{Archived: acp.SessionArchiveFilterInclude}).Sessions {
		if info.SessionID != s.id {
			must(s, acp.MethodSessionDelete, &acp.DeleteSessionRequest{SessionID: info.SessionID})
		}
	}
	must(s, acp.MethodAuthStatus, &acp.AuthStatusRequest{})
	must(s, acp.MethodLogout, &acp.LogoutRequest{})
	for _, p := range must(s, acp.MethodProvidersList, &acp.ListProvidersRequest{}).Providers {
		if !p.Required {
			must(s, acp.MethodProvidersSet, &acp.SetProviderRequest{ProviderID: p.ProviderID, ApiType: p.Supported[0], BaseURL: "http://127.0.0.1:1"})
			must(s, acp.MethodProvidersDisable, &acp.DisableProviderRequest{ProviderID: p.ProviderID})
		}
	}
}

func (s *scenario) reopen() {
	end := func() {
		must(s, acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: s.id})
		must(s, acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: s.id}) // repeating it is not an error
	}
	other := must(s, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: s.work, AdditionalDirectories: []string{tempDir(s.t)}})
	list := must(s, acp.MethodSessionList, &acp.ListSessionsRequest{})
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != s.id {
		s.t.Errorf("the list has %+v; the session %s without a message does not belong there", list.Sessions, other.SessionID)
	}
	if list := must(s, acp.MethodSessionList, &acp.ListSessionsRequest{Cwd: tempDir(s.t)}); len(list.Sessions) != 0 {
		s.t.Errorf("another directory has %+v", list.Sessions)
	}
	end()
	wantError(s, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: s.id, Prompt: []acp.ContentBlock{textBlock("x")}}, acp.ErrorCodeResourceNotFound)
	must(s, acp.MethodSessionResume, &acp.ResumeSessionRequest{SessionID: s.id, Cwd: s.work})
	s.say(acp.StopReasonEndTurn, textBlock("!say resumed"))
	end()
	must(s, acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: s.id, Cwd: s.work})
	s.say(acp.StopReasonEndTurn, textBlock("!say loaded"))
}

func (s *scenario) stop() {
	s.t.Helper()
	if n := s.OpenTerminals(); n != 0 {
		s.t.Errorf("%d terminals are not released", n)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), hang)
	defer cancel()
	begin := time.Now()
	state, err := s.Stop(ctx)
	if err != nil || !state.Success() {
		s.t.Errorf("gjc ended with %v, %v", state, err)
	}
	wantExitInTime(s.t, time.Since(begin))
}

func count(all []string, one string) int {
	n := 0
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}
