package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers/providertest"
)

// call sends a request whose params and result are maps.
func call[R any](e *env, method string, params any) R {
	e.t.Helper()
	result, err := tryCall[R](e, method, params)
	if err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
	return result
}

func tryCall[R any](e *env, method string, params any) (result R, err error) {
	err = e.Conn.Call(e.t.Context(), method, params, &result)
	return result, err
}

type obj map[string]any

func (e *env) listed(archived string) []string {
	e.t.Helper()
	var ids []string
	params := obj{}
	if archived != "" {
		params["archived"] = archived
	}
	for _, s := range call[acp.ListSessionsResponse](e, "session/list", params).Sessions {
		ids = append(ids, string(s.SessionID))
	}
	slices.Sort(ids)
	return ids
}

func TestDeleteSession_IsIdempotent(t *testing.T) {
	e := start(t)
	id := e.session()
	e.say(id, "!say hello", acp.StopReasonEndTurn)
	for range 2 {
		call[struct{}](e, "session/delete", obj{"sessionId": id})
	}
	call[struct{}](e, "session/delete", obj{"sessionId": "never-was"})
	if ids := e.listed("include"); len(ids) > 0 {
		t.Errorf("deleted sessions are listed: %v", ids)
	}
	_, err := e.Prompt(t.Context(), id, "still there?")
	wantCode(t, err, acp.ErrorCodeResourceNotFound)
	err = e.Conn.Call(t.Context(), "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}}, nil)
	wantCode(t, err, acp.ErrorCodeResourceNotFound)
}

// Deleting a session ends its turn as session/cancel does.
func TestDeleteSession_DuringATurn(t *testing.T) {
	e := start(t)
	id := e.session()
	stop := make(chan acp.StopReason, 1)
	go func() {
		resp, err := e.Prompt(t.Context(), id, "!say begun\n!wait")
		if err != nil {
			t.Error(err)
			resp = new(acp.PromptResponse)
		}
		stop <- resp.StopReason
	}()
	e.await(id, acptest.Update(func(u *acp.AgentMessageChunk) bool { return true }))
	call[struct{}](e, "session/delete", obj{"sessionId": id})
	if got := <-stop; got != acp.StopReasonCancelled {
		t.Errorf("the turn ended with %s", got)
	}
	if ids := e.listed("include"); len(ids) > 0 {
		t.Errorf("listed: %v", ids)
	}
}

func TestArchive_AndUnarchive(t *testing.T) {
	e := start(t)
	a, b := e.session(), e.session()
	e.say(a, "!say one", acp.StopReasonEndTurn)
	e.say(b, "!say two", acp.StopReasonEndTurn)
	both := []string{string(a), string(b)}
	slices.Sort(both)
	for range 2 {
		call[struct{}](e, "session/archive", obj{"sessionId": a})
	}
	for filter, want := range map[string][]string{"": {string(b)}, "exclude": {string(b)}, "only": {string(a)}, "include": both} {
		if d := cmp.Diff(want, e.listed(filter)); d != "" {
			t.Errorf("archived %q (-want +got):\n%s", filter, d)
		}
	}
	if st := call[acp.SessionStatusResponse](e, "session/status", obj{"sessionId": a}); st.Status != acp.SessionStatusSaved {
		t.Errorf("an archived session is %s, want it closed", st.Status)
	}
	for range 2 {
		call[struct{}](e, "session/unarchive", obj{"sessionId": a})
	}
	if d := cmp.Diff(both, e.listed("")); d != "" {
		t.Errorf("after unarchive (-want +got):\n%s", d)
	}
	for _, s := range call[acp.ListSessionsResponse](e, "session/list", obj{}).Sessions {
		if s.Archived == nil || *s.Archived {
			t.Errorf("session %s does not say that it is not archived", s.SessionID)
		}
	}
}

func TestSessionStatus(t *testing.T) {
	e := start(t)
	id := e.session()
	e.say(id, "!say x", acp.StopReasonEndTurn)
	status := func() acp.SessionStatus {
		return call[acp.SessionStatusResponse](e, "session/status", obj{"sessionId": id}).Status
	}
	if got := status(); got != acp.SessionStatusOpen {
		t.Errorf("a live session is %s", got)
	}
	call[struct{}](e, "session/close", obj{"sessionId": id})
	if got := status(); got != acp.SessionStatusSaved {
		t.Errorf("a closed session is %s", got)
	}
}

// An automatic title never replaces a title from the user. The user's title is normalized whether the session is open or not.
func TestSetTitle(t *testing.T) {
	e := start(t)
	id := e.session()
	title := func(want, got string) {
		t.Helper()
		if r := call[acp.SetSessionTitleResponse](e, "session/set_title", obj{"sessionId": id, "title": want}); r.Title != got {
			t.Errorf("title %q was stored as %q, want %q", want, r.Title, got)
		}
		if list := call[acp.ListSessionsResponse](e, "session/list", obj{}).Sessions; len(list) == 1 && list[0].Title != got {
			t.Errorf("listed as %q, want %q", list[0].Title, got)
		}
	}
	title("  My\n session ", "My session")
	e.say(id, "!say something else", acp.StopReasonEndTurn)
	if list := call[acp.ListSessionsResponse](e, "session/list", obj{}).Sessions; len(list) != 1 || list[0].Title != "My session" {
		t.Errorf("after a prompt: %+v", list)
	}
	call[struct{}](e, "session/close", obj{"sessionId": id})
	title("closed\tone", "closed one")
	long := strings.Repeat("ü", 300)
	title(long, strings.Repeat("ü", 199)+"…")
}

func TestFork_IsIndependent(t *testing.T) {
	e := start(t)
	id := e.session()
	e.say(id, "!say first", acp.StopReasonEndTurn)
	fork := call[acp.ForkSessionResponse](e, "session/fork", obj{"sessionId": id, "cwd": e.dir})
	if fork.SessionID == id || fork.SessionID == "" || fork.Modes == nil || len(fork.ConfigOptions) == 0 {
		t.Fatalf("fork: %+v", fork)
	}
	for _, u := range e.Updates(fork.SessionID) {
		if _, ok := u.(*acp.AgentMessageChunk); ok {
			t.Error("the fork replays")
		}
	}
	e.await(fork.SessionID, acptest.Update(func(*acp.AvailableCommandsUpdate) bool { return true }))
	e.say(fork.SessionID, "!say second", acp.StopReasonEndTurn)
	call[struct{}](e, "session/close", obj{"sessionId": fork.SessionID})
	call[struct{}](e, "session/close", obj{"sessionId": id})
	replayed := func(id acp.SessionID) string {
		from := len(e.Updates(id))
		call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
		var text strings.Builder
		for _, u := range e.Updates(id)[from:] {
			if c, ok := u.(*acp.UserMessageChunk); ok {
				text.WriteString(c.Content.(*acp.TextContent).Text + ";")
			}
		}
		return text.String()
	}
	if got := replayed(id); got != "!say first;" {
		t.Errorf("the source has %q", got)
	}
	if got := replayed(fork.SessionID); got != "!say first;!say second;" {
		t.Errorf("the fork has %q", got)
	}
}

// A session and its listing have the directories of the last load. Without the member there are none.
func TestAdditionalDirectories_FollowTheLastRequest(t *testing.T) {
	e := start(t)
	more := t.TempDir()
	resp := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{}, "additionalDirectories": []string{more}})
	id := resp.SessionID
	e.say(id, "!find "+more+"/*", acp.StopReasonEndTurn)
	if n := len(e.Calls()); n > 0 && slices.Contains(e.Calls(), "session/request_permission") {
		t.Error("reading in an additional directory asks")
	}
	listed := func() []string {
		return call[acp.ListSessionsResponse](e, "session/list", obj{}).Sessions[0].AdditionalDirectories
	}
	if d := cmp.Diff([]string{more}, listed()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	call[struct{}](e, "session/close", obj{"sessionId": id})
	call[struct{}](e, "session/resume", obj{"sessionId": id, "cwd": e.dir})
	if got := listed(); len(got) > 0 {
		t.Errorf("after a resume without directories: %v", got)
	}
	e.say(id, "!find "+more+"/*", acp.StopReasonEndTurn)
	if !slices.Contains(e.Calls(), "session/request_permission") {
		t.Error("reading in a directory that is no root any more does not ask")
	}
}

// The client's system prompt reaches the model and is stored with the session.
func TestSystemPrompt(t *testing.T) {
	for _, mode := range []string{"append", "override"} {
		t.Run(mode, func(t *testing.T) {
			var script *providertest.Script
			e := start(t, scripted(providertest.Step{providertest.Text("a")}, providertest.Step{providertest.Text("b")}), func(c *config) {
				script = c.server.Models.Models.(*models).list[0].(*providertest.Script)
			})
			params := obj{"cwd": e.dir, "mcpServers": []any{}, "systemPrompt": obj{"mode": mode, "content": []any{obj{"type": "text", "text": "Speak like a pirate."}}}}
			id := call[acp.NewSessionResponse](e, "session/new", params).SessionID
			e.say(id, "hello", acp.StopReasonEndTurn)
			call[struct{}](e, "session/close", obj{"sessionId": id})
			call[struct{}](e, "session/resume", obj{"sessionId": id, "cwd": e.dir})
			e.say(id, "again", acp.StopReasonEndTurn)
			for i, req := range script.Requests() {
				own := strings.Contains(req.System, "You are gjc")
				if !strings.Contains(req.System, "Speak like a pirate.") || !strings.Contains(req.System, e.dir) || own == (mode == "override") {
					t.Errorf("request %d of mode %s has the system prompt:\n%s", i, mode, req.System)
				}
			}
		})
	}
}

func TestPromptUsage(t *testing.T) {
	e := start(t)
	id := e.session()
	resp, err := e.Prompt(t.Context(), id, "!say 40")
	if err != nil {
		t.Fatal(err)
	}
	u := resp.Usage
	if u == nil || u.OutputTokens == 0 || u.InputTokens == 0 || u.TotalTokens < u.InputTokens+u.OutputTokens {
		t.Errorf("usage %+v", u)
	}
	resp, err = e.Prompt(t.Context(), id, "/session")
	if err != nil || resp.Usage != nil {
		t.Errorf("a command without a model used %+v, %v", resp.Usage, err)
	}
}
