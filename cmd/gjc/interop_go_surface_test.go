package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"
)

// goAsker is a goClient that also answers forms, with the given actions in order.
type goAsker struct {
	*goClient
	mu     sync.Mutex // guards the fields below
	forms  []string
	action []string
}

func (a *goAsker) UnstableCreateElicitation(_ context.Context, p sdk.UnstableCreateElicitationRequest) (sdk.UnstableCreateElicitationResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.Form == nil {
		return sdk.UnstableCreateElicitationResponse{}, errors.New("not a form")
	}
	a.forms = append(a.forms, p.Form.Message)
	action := a.action[0]
	a.action = a.action[1:]
	switch action {
	case "accept":
		return sdk.UnstableCreateElicitationResponse{Accept: &sdk.UnstableCreateElicitationAccept{Action: action, Content: map[string]any{"value": "right"}}}, nil
	case "decline":
		return sdk.UnstableCreateElicitationResponse{Decline: &sdk.UnstableCreateElicitationDecline{Action: action}}, nil
	default:
		return sdk.UnstableCreateElicitationResponse{Cancel: &sdk.UnstableCreateElicitationCancel{Action: action}}, nil
	}
}

func (*goAsker) UnstableCompleteElicitation(context.Context, sdk.UnstableCompleteElicitationNotification) error {
	return nil
}

// The rest of coder's Go SDK: forms, additional directories, resuming, steering, providers, deleting, logging out.
func TestInterop_GoSDK_Surface(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*hang)
	defer cancel()
	home, work, further := tempDir(t), tempDir(t), tempDir(t)
	log := filepath.Join(home, "rpc.log")
	writeFile(t, filepath.Join(further, "far.txt"), "far\n")
	writeFile(t, filepath.Join(home, ".gjc", "agent", "auth.json"), `{"anthropic":{"type":"api_key","key":"sk-ant-interop"}}`)
	asker := &goAsker{action: []string{"accept", "decline", "cancel"}}
	c, conn, stop := startGoClient(t, home, sdk.PermissionOptionKindAllowOnce, func(c *goClient) sdk.Client {
		asker.goClient = c
		return asker
	}, "--rpc-log", log)
	fatal := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	init, err := conn.Initialize(ctx, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientCapabilities: sdk.ClientCapabilities{
			Fs: sdk.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}, Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.ElicitationFormCapabilities{}},
		},
	})
	fatal("initialize", err)
	if can := init.AgentCapabilities; can.Auth.Logout == nil || can.SessionCapabilities.AdditionalDirectories == nil || can.SessionCapabilities.Resume == nil {
		t.Errorf("the SDK reads the capabilities as %+v", can)
	}
	_, err = conn.Logout(ctx, sdk.LogoutRequest{})
	fatal("logout", err)
	_, err = conn.Authenticate(ctx, sdk.AuthenticateRequest{MethodId: "agent"})
	fatal("authenticate", err)

	session, err := conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: work, McpServers: []sdk.McpServer{}, AdditionalDirectories: []string{further}})
	fatal("session/new", err)
	id := session.SessionId
	prompt := func(text string) (sdk.StopReason, []string, string) {
		t.Helper()
		c.take()
		r, err := conn.Prompt(ctx, sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
		fatal(text, err)
		tools, said := goTools(c.take())
		return r.StopReason, tools, said
	}
	_, tools, _ := prompt("!read " + filepath.Join(further, "far.txt"))
	same(t, "a file of a further directory", tools, []string{"Read " + filepath.Join(further, "far.txt") + " completed"})
	same(t, "questions about it", c.asked, 0)
	for _, want := range []string{"completed", "failed", "failed"} {
		_, tools, _ := prompt("!ask Which way? | left | right")
		same(t, "form", tools, []string{"Ask: Which way? " + want})
	}
	same(t, "forms", asker.forms, []string{"Which way?", "Which way?", "Which way?"})

	raw, err := conn.CallExtension(ctx, "_session/steering", map[string]any{
		"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": "!say x"}},
		"_meta": map[string]any{"steering": map[string]any{"idleBehavior": "promptRequired"}},
	})
	fatal("steering", err)
	if !strings.Contains(string(raw), `"promptRequired"`) {
		t.Errorf("steering while nothing runs: %s", raw)
	}
	providers, err := conn.UnstableListProviders(ctx, sdk.UnstableListProvidersRequest{})
	fatal("providers/list", err)
	if len(providers.Providers) == 0 {
		t.Error("there are no providers")
	}

	_, err = conn.CloseSession(ctx, sdk.CloseSessionRequest{SessionId: id})
	fatal("session/close", err)
	c.take()
	_, err = conn.ResumeSession(ctx, sdk.ResumeSessionRequest{SessionId: id, Cwd: work})
	fatal("session/resume", err)
	if tools, said := goTools(c.take()); len(tools) > 0 || said != "" {
		t.Errorf("the resume replays %v and %q", tools, said)
	}
	if _, _, said := prompt("!say back"); !strings.Contains(said, "back") {
		t.Errorf("after the resume it said %q", said)
	}
	_, err = conn.UnstableDeleteSession(ctx, sdk.UnstableDeleteSessionRequest{SessionId: id})
	fatal("session/delete", err)
	list, err := conn.ListSessions(ctx, sdk.ListSessionsRequest{Cwd: &work})
	fatal("session/list", err)
	if d := cmp.Diff([]sdk.SessionInfo{}, list.Sessions); d != "" {
		t.Errorf("after the deletion (-want +got):\n%s", d)
	}
	stop()
	newWireCheck(t).replay(log)
}
