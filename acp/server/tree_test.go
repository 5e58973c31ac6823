package server_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// replayed loads a session and returns the text of both sides.
func (e *env) replayed(id acp.SessionID) []string {
	e.t.Helper()
	if _, err := acp.MethodSessionClose.Call(e.t.Context(), e.Conn, &acp.CloseSessionRequest{SessionID: id}); err != nil {
		e.t.Fatal(err)
	}
	from := len(e.Updates(id))
	call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	var all []string
	for _, u := range e.Updates(id)[from:] {
		switch u := u.(type) {
		case *acp.UserMessageChunk:
			all = append(all, "user: "+u.Content.(*acp.TextContent).Text)
		case *acp.AgentMessageChunk:
			all = append(all, "agent: "+u.Content.(*acp.TextContent).Text)
		}
	}
	return all
}

var entryID = regexp.MustCompile(`[0-9a-f]{8}`)

// idOf returns the ID in the line of a tree with text.
func idOf(t *testing.T, tree, text string) string {
	t.Helper()
	for line := range strings.Lines(tree) {
		if strings.Contains(line, text) {
			return entryID.FindString(line)
		}
	}
	t.Fatalf("the tree has no %q:\n%s", text, tree)
	return ""
}

// drawn returns a tree without its IDs.
func drawn(tree string) []string {
	var all []string
	for line := range strings.Lines(tree) {
		if !strings.HasPrefix(line, "```") && strings.TrimSpace(line) != "" {
			all = append(all, strings.TrimRight(entryID.ReplaceAllString(line, "-"), "\n"))
		}
	}
	return all
}

func answers(texts ...string) func(*config) {
	var steps []providertest.Step
	for _, text := range texts {
		steps = append(steps, providertest.Step{providertest.Text(text)})
	}
	return scripted(steps...)
}

func TestTree(t *testing.T) {
	e := start(t, answers("two", "four", "six"))
	id := e.session()
	if got, _ := e.after(id, "/tree"); !strings.Contains(got, "No entries match") {
		t.Errorf("of an empty session: %q", got)
	}
	e.say(id, "one", acp.StopReasonEndTurn)
	e.say(id, "three", acp.StopReasonEndTurn)
	tree, _ := e.after(id, "/tree")
	two, three := idOf(t, tree, "agent: two"), idOf(t, tree, "user: three")
	if diff := cmp.Diff([]string{"- user: one", "- agent: two", "- user: three", "- agent: four  ← here"}, drawn(tree)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	if got, _ := e.after(id, "/tree label "+two+" good so far"); !strings.Contains(got, "good so far") {
		t.Errorf("label: %q", got)
	}
	got, _ := e.after(id, "/tree go "+three)
	if !strings.Contains(got, "continues after "+two) || !strings.Contains(got, "> three") {
		t.Errorf("go: %q", got)
	}
	e.say(id, "five", acp.StopReasonEndTurn)
	tree, _ = e.after(id, "/tree")
	if diff := cmp.Diff([]string{
		"- user: one", "- agent: two <good so far>", "├─ - user: three", "│  - agent: four", "- user: five", "- agent: six  ← here",
	}, drawn(tree)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	for prompt, want := range map[string][]string{
		"/tree user":      {"├─ - user: three", "- user: five"},
		"/tree labels":    {"- agent: two <good so far>"},
		"/tree find ER:":  {"- user: one", "├─ - user: three", "- user: five"},
		"/tree find xyz":  {"No entries match."},
		"/tree go":        {"Use /tree"},
		"/tree go xyz":    {`there is no entry "xyz"`},
		"/tree label xyz": {`there is no entry "xyz"`},
	} {
		got, _ := e.after(id, prompt)
		lines := strings.Join(drawn(got), "\n")
		for _, line := range want {
			if !strings.Contains(lines, line) {
				t.Errorf("%s: no %q in\n%s", prompt, line, lines)
			}
		}
	}
	if got, _ := e.after(id, "/tree all"); !strings.Contains(got, "gjc.rewind") || !strings.Contains(got, "label of "+two) {
		t.Errorf("all: %s", got)
	}
	if diff := cmp.Diff([]string{"user: one", "agent: two", "user: five", "agent: six"}, e.replayed(id)); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
}

type branched struct {
	Moved   bool      `json:"moved"`
	LeafID  *string   `json:"leafId"`
	Left    int       `json:"left"`
	Summary string    `json:"summary"`
	Prompt  []message `json:"prompt"`
}

type message struct {
	Text string `json:"text"`
}

func TestBranch_ForClients(t *testing.T) {
	e := start(t, answers("two", "four", "They spoke of three.", "six"))
	id := e.session()
	e.say(id, "one", acp.StopReasonEndTurn)
	e.say(id, "three", acp.StopReasonEndTurn)
	tree, _ := e.after(id, "/tree")
	three := idOf(t, tree, "user: three")
	done := call[branched](e, "_gjc/session/branch", obj{"sessionId": id, "entryId": three, "summarize": true})
	if !done.Moved || done.LeafID == nil || *done.LeafID != idOf(t, tree, "agent: two") || done.Left < 2 ||
		!strings.Contains(done.Summary, "They spoke of three.") || len(done.Prompt) != 1 || done.Prompt[0].Text != "three" {
		t.Errorf("branch: %+v", done)
	}
	e.say(id, "five", acp.StopReasonEndTurn)
	words := strings.Join(e.replayed(id), "\n")
	if !strings.Contains(words, "They spoke of three.") || strings.Contains(words, "user: three") || !strings.HasSuffix(words, "user: five\nagent: six") {
		t.Errorf("loaded:\n%s", words)
	}
	for _, params := range []obj{
		{"sessionId": id}, {"sessionId": id, "entryId": "x", "messageId": "y"},
	} {
		_, err := tryCall[branched](e, "_gjc/session/branch", params)
		wantCode(t, err, acp.ErrorCodeInvalidParams, "entryId or messageId")
	}
	for _, params := range []obj{{"sessionId": id, "entryId": "nowhere"}, {"sessionId": id, "messageId": "nowhere"}, {"sessionId": "none", "entryId": "x"}} {
		_, err := tryCall[branched](e, "_gjc/session/branch", params)
		wantCode(t, err, acp.ErrorCodeResourceNotFound)
	}
	// Use the client's ID of the message.
	first := firstMessage(e, id)
	if done := call[branched](e, "_gjc/session/branch", obj{"sessionId": id, "messageId": first}); !done.Moved || done.LeafID == nil || done.Left == 0 {
		t.Errorf("to the first answer: %+v", done)
	}
	if diff := cmp.Diff([]string{"user: one", "agent: two"}, e.replayed(id)); diff != "" {
		t.Errorf("then loaded (-want +got):\n%s", diff)
	}
}

// firstMessage returns the ID of the agent's first message.
func firstMessage(e *env, id acp.SessionID) acp.MessageID {
	for _, u := range e.Updates(id) {
		if c, ok := u.(*acp.AgentMessageChunk); ok {
			return c.MessageID
		}
	}
	return ""
}

func TestFork_AtAMessage(t *testing.T) {
	e := start(t, scripted(
		providertest.Step{providertest.Call("c1", "read", `{"path":"a.txt"}`)},
		providertest.Step{providertest.Text("two")},
		providertest.Step{providertest.Text("four")},
		providertest.Step{providertest.Text("six")},
	))
	e.write("a.txt", "hello")
	id := e.session()
	e.say(id, "one", acp.StopReasonEndTurn)
	e.say(id, "three", acp.StopReasonEndTurn)
	e.replayed(id) // the replay reveals the IDs of the user's messages
	ids := make(map[string]acp.MessageID)
	for _, u := range e.Updates(id) {
		switch u := u.(type) {
		case *acp.UserMessageChunk:
			ids[u.Content.(*acp.TextContent).Text] = u.MessageID
		case *acp.AgentMessageChunk:
			ids[u.Content.(*acp.TextContent).Text] = u.MessageID
		}
	}
	for at, want := range map[string]struct {
		words  []string
		prompt string
	}{
		"two":   {[]string{"user: one", "agent: two"}, ""},
		"three": {[]string{"user: one", "agent: two"}, "three"},
		"four":  {[]string{"user: one", "agent: two", "user: three", "agent: four"}, ""},
	} {
		fork := call[acp.ForkSessionResponse](e, "session/fork", obj{"sessionId": id, "cwd": e.dir, "_meta": obj{"messageId": ids[at]}})
		var prompt []message
		if ok, err := fork.Meta.Get("prompt", &prompt); ok != (want.prompt != "") || err != nil || ok && prompt[0].Text != want.prompt {
			t.Errorf("at %q: prompt %v, %v", at, prompt, err)
		}
		if diff := cmp.Diff(want.words, e.replayed(fork.SessionID)); diff != "" {
			t.Errorf("at %q (-want +got):\n%s", at, diff)
		}
	}
	// A fork before the first message has no history.
	fork := call[acp.ForkSessionResponse](e, "session/fork", obj{"sessionId": id, "cwd": e.dir, "_meta": obj{"messageId": ids["one"]}})
	e.say(fork.SessionID, "five", acp.StopReasonEndTurn)
	if diff := cmp.Diff([]string{"user: five", "agent: six"}, e.replayed(fork.SessionID)); diff != "" {
		t.Errorf("at the beginning (-want +got):\n%s", diff)
	}
	for meta, code := range map[string]acp.ErrorCode{"nowhere": acp.ErrorCodeResourceNotFound, "": acp.ErrorCodeInvalidParams} {
		_, err := tryCall[acp.ForkSessionResponse](e, "session/fork", obj{"sessionId": id, "cwd": e.dir, "_meta": obj{"messageId": meta}})
		wantCode(t, err, code)
	}
}

func TestHandoff(t *testing.T) {
	e := start(t, scripted(
		providertest.Step{providertest.Text("two")},
		providertest.Step{providertest.Check(func(req *providers.Request) {
			if last := req.Messages[len(req.Messages)-1].Text(); !strings.Contains(last, "the tests") || len(req.Messages) != 3 {
				t.Errorf("the request for the document has %d messages and ends %q", len(req.Messages), last)
			}
		}), providertest.Text("# Handoff\nDo the rest.")},
		providertest.Step{providertest.Check(func(req *providers.Request) {
			if first := req.Messages[0].Text(); !strings.Contains(first, "<handoff-context>") || !strings.Contains(first, "Do the rest.") {
				t.Errorf("the new session begins %q", first)
			}
		}), providertest.Text("I go on.")},
	))
	id := e.session()
	if got, _ := e.after(id, "/handoff"); !strings.Contains(got, "Nothing to hand off") {
		t.Errorf("of an empty session: %q", got)
	}
	e.say(id, "one", acp.StopReasonEndTurn)
	e.say(id, "/mode plan", acp.StopReasonEndTurn)
	got, _ := e.after(id, "/handoff the tests")
	words := strings.Fields(got)
	if !strings.HasPrefix(got, "Session ") || !strings.Contains(got, "Do the rest.") {
		t.Fatalf("handoff: %q", got)
	}
	next := acp.SessionID(words[1])
	// It is listed although it has no prompt.
	if list := call[acp.ListSessionsResponse](e, "session/list", obj{}); len(list.Sessions) != 2 ||
		!slices.ContainsFunc(list.Sessions, func(i acp.SessionInfo) bool { return i.SessionID == next }) {
		t.Errorf("listed: %+v", list.Sessions)
	}
	resp := call[acp.LoadSessionResponse](e, "session/load", obj{"sessionId": next, "cwd": e.dir, "mcpServers": []any{}})
	if resp.Modes == nil || resp.Modes.CurrentModeID != "plan" {
		t.Errorf("the new session is in %+v", resp.Modes)
	}
	e.say(next, "go on", acp.StopReasonEndTurn)
	if words := strings.Join(e.replayed(id), "\n"); strings.Contains(words, "Do the rest") {
		t.Errorf("the old session has changed:\n%s", words)
	}
	list := call[acp.ListSessionsResponse](e, "session/list", obj{})
	if len(list.Sessions) != 2 || list.Sessions[0].Title != "Handoff: one" && list.Sessions[1].Title != "Handoff: one" {
		t.Errorf("listed: %+v", list.Sessions)
	}
}

func TestSettings_ReachTheSession(t *testing.T) {
	set := &server.Settings{Agent: server.DefaultSettings().Agent, Model: "test/plain"}
	e := start(t, scripted(), func(c *config) {
		c.server.Sessions.Settings = func(string) (*server.Settings, error) { return set, nil }
	})
	resp, err := e.NewSession(t.Context(), e.dir)
	if err != nil {
		t.Fatal(err)
	}
	var model acp.SessionConfigValueID
	for _, o := range resp.ConfigOptions {
		if sel, ok := o.Kind.(*acp.SessionConfigSelect); ok && o.ID == "model" {
			model = sel.CurrentValue
		}
	}
	if model != "test/plain" {
		t.Errorf("the model is %q", model)
	}
}

func TestSettings_ErrorIsShown(t *testing.T) {
	e := start(t, answers("fine"), func(c *config) {
		c.server.Sessions.Settings = func(string) (*server.Settings, error) { return nil, errors.New("config.yml:3: what is this") }
	})
	id := e.session()
	got, _ := e.after(id, "hello")
	if told := e.notices(id); !strings.Contains(told, "config.yml:3: what is this") || !strings.Contains(got, "fine") {
		t.Errorf("the session said %q and showed %q", got, told)
	}
}

// notices returns the notices of a session.
func (e *env) notices(id acp.SessionID) string {
	var all strings.Builder
	for _, u := range e.Updates(id) {
		if n, ok := u.(*acp.Notice); ok {
			all.WriteString(n.Title + " " + n.Description + "\n")
		}
	}
	return all.String()
}

// Failed model calls are retried according to the settings, and the user sees it.
func TestSettings_Retry(t *testing.T) {
	fails := providertest.Step{providertest.Fail(&providers.Error{Kind: providers.KindOverloaded, Message: "busy"})}
	set := server.DefaultSettings()
	set.Retry = providers.RetryPolicy{Attempts: 2, Base: time.Millisecond}
	e := start(t, scripted(fails, providertest.Step{providertest.Text("at last")}, fails, fails), func(c *config) {
		c.server.Sessions.Settings = func(string) (*server.Settings, error) { return set, nil }
	})
	id := e.session()
	if got, _ := e.after(id, "one"); !strings.Contains(got, "at last") || !strings.Contains(e.notices(id), "trying again") {
		t.Errorf("said %q and showed %q", got, e.notices(id))
	}
	_, err := e.Prompt(t.Context(), id, "two")
	wantCode(t, err, acp.ErrorCodeInternalError, "busy")
}
