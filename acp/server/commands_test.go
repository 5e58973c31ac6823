package server_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers/providertest"
)

// put writes a file and creates its directories.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// after prompts and returns the text and the updates that follow.
func (e *env) after(id acp.SessionID, prompt string) (text string, updates []acp.SessionUpdate) {
	e.t.Helper()
	from := len(e.Updates(id))
	before := e.Text(id)
	e.say(id, prompt, acp.StopReasonEndTurn)
	return strings.TrimPrefix(e.Text(id), before), e.Updates(id)[from:]
}

func TestCommands(t *testing.T) {
	e := start(t)
	id := e.session()
	empty := []struct{ prompt, want string }{
		{"/dump", "no messages yet"},
		{"/export", "no messages yet"},
		{"/compact", "nothing to compact yet"},
		{"/fork", "nothing to fork yet"},
		{"/todo", "There is no plan."},
	}
	for _, tt := range empty {
		if got, _ := e.after(id, tt.prompt); !strings.Contains(got, tt.want) {
			t.Errorf("%s of an empty session: %q, want %q in it", tt.prompt, got, tt.want)
		}
	}
	e.say(id, "!say hello there\n!plan first; second", acp.StopReasonEndTurn)
	out := filepath.Join(e.dir, "sub", "talk.md")
	for _, tt := range []struct {
		prompt string
		want   []string
		kinds  []string // updates besides the text
	}{
		{"/help", []string{"`/model [provider/id[:level]]`", "- plan:", "/export"}, nil},
		{"/model", []string{"`offline/demo`", "The models are"}, nil},
		{"/model none/such", []string{"none/such"}, nil},
		{"/model offline/demo", []string{"now `offline/demo`"}, nil},
		{"/mode", []string{"The mode is default", "- strict:"}, nil},
		{"/mode strict", []string{"now strict"}, []string{"current_mode_update", "config_option_update"}},
		{"/mode sideways", []string{"sideways", "default, strict, plan, auto"}, nil},
		{"/thinking", []string{"Thinking is off", "off, low"}, nil},
		{"/thinking high", []string{"now high"}, []string{"config_option_update"}},
		{"/thinking loud", []string{"loud", "off, low"}, nil},
		{"/plan", []string{"now plan"}, []string{"current_mode_update", "config_option_update"}},
		{"/mode default", []string{"now default"}, []string{"current_mode_update", "config_option_update"}},
		{"/context", []string{"of 200000 tokens", "System prompt", "Tools", "Conversation"}, nil},
		{"/usage", []string{"Model calls: 2", "Output:"}, nil},
		{"/session", []string{string(id), e.dir, "Title: !say hello there", "offline/demo"}, nil},
		{"/rename   A better\tname", []string{"Session renamed to A better name."}, []string{"session_info_update"}},
		{"/rename", []string{"/rename <title>"}, nil},
		{"/todo", []string{"[ ] first", "[ ] second"}, nil},
		{"/dump", []string{"hello there"}, nil},
		{"/export sub/talk.md", []string{"Session exported to: " + out}, nil},
		{"/export sub/talk.md", []string{"exists; name another file"}, nil},
		{"/mcp", []string{"no MCP servers"}, nil},
		{"/lsp", []string{"This session has no language servers"}, nil},
		{"/debug", []string{"no debugger"}, nil},
		{"/jobs", []string{"no background jobs"}, nil},
		{"/fork", []string{"Forked into session"}, nil},
		{"/clear", []string{"starts over"}, []string{"plan", "usage_update"}},
		{"/dump", []string{"no messages yet"}, nil},
	} {
		got, updates := e.after(id, tt.prompt)
		if !containsAll(got, tt.want...) {
			t.Errorf("%s: %q, want %q in it", tt.prompt, got, tt.want)
		}
		for _, k := range tt.kinds {
			if !slices.Contains(kinds(updates), k) {
				t.Errorf("%s sent %v, want %s too", tt.prompt, kinds(updates), k)
			}
		}
	}
	data, err := os.ReadFile(out)
	if text, ok := e.Buffer(out); ok { // the editor has written the file
		data, err = []byte(text), nil
	}
	if err != nil || !strings.Contains(string(data), "hello there") {
		t.Errorf("the exported file has %q, %v", data, err)
	}
	if n := len(call[acp.ListSessionsResponse](e, "session/list", obj{}).Sessions); n != 2 {
		t.Errorf("%d sessions after /fork, want 2", n)
	}
}

// A command begins at the very start of the first text block. A path is not a command.
func TestCommands_OnlyAtTheStart(t *testing.T) {
	var script *providertest.Script
	steps := []providertest.Step{{providertest.Text("a")}, {providertest.Text("b")}, {providertest.Text("c")}, {providertest.Text("d")}}
	e := start(t, scripted(steps...), func(c *config) { script = c.server.Models.Models.(*models).list[0].(*providertest.Script) })
	id := e.session()
	prompts := [][]any{
		{obj{"type": "text", "text": "please /help me"}},
		{obj{"type": "text", "text": "/usr/bin/env is a file"}},
		{obj{"type": "resource_link", "name": "a", "uri": "file:///a"}, obj{"type": "text", "text": "/help"}},
		{obj{"type": "text", "text": "/no-such-command at all"}},
	}
	for _, p := range prompts {
		call[acp.PromptResponse](e, "session/prompt", obj{"sessionId": id, "prompt": p})
	}
	if n := len(script.Requests()); n != len(prompts) {
		t.Errorf("the model was asked %d times, want %d", n, len(prompts))
	}
	if got := script.Requests()[3].Messages; got[len(got)-1].Text() != "/no-such-command at all" {
		t.Errorf("an unknown command came to the model as %q", got[len(got)-1].Text())
	}
}

// Command files of the user and of the workspace, and skills, are commands. A changed file is read at its next use and
// advertised again.
func TestCommands_Files(t *testing.T) {
	var script *providertest.Script
	steps := make([]providertest.Step, 8)
	for i := range steps {
		steps[i] = providertest.Step{providertest.Text("ok")}
	}
	e := start(t, scripted(steps...), func(c *config) {
		script = c.server.Models.Models.(*models).list[0].(*providertest.Script)
		c.server.Sessions.UserDir = c.agent
		put(t, filepath.Join(c.agent, "commands", "review.md"), "---\ndescription: Reviews a file\n---\nReview $1 for $ARGUMENTS\n")
		put(t, filepath.Join(c.agent, "commands", "shared.md"), "the user's")
		put(t, filepath.Join(c.agent, "commands", "help.md"), "never used: the name is gjc's own")
		put(t, filepath.Join(c.agent, "skills", "poet", "SKILL.md"), "---\nname: poet\ndescription: Writes poems\n---\nWrite in verse.\n")
	})
	put(t, filepath.Join(e.dir, ".gjc", "commands", "shared.md"), "the project's")
	id := e.session()
	has := func(want ...string) acptest.Expectation {
		return acptest.Update(func(u *acp.AvailableCommandsUpdate) bool {
			for _, w := range want {
				if !slices.ContainsFunc(u.AvailableCommands, func(c acp.AvailableCommand) bool { return c.Name == w }) {
					return false
				}
			}
			return true
		})
	}
	e.await(id, has("help", "review", "shared", "skill:poet"))
	e.say(id, "hello", acp.StopReasonEndTurn)
	asked := func() string {
		reqs := script.Requests()
		m := reqs[len(reqs)-1].Messages
		return m[len(m)-1].Text()
	}
	e.say(id, "/review main.go bugs", acp.StopReasonEndTurn)
	if got := strings.TrimSpace(asked()); got != "Review main.go for main.go bugs" {
		t.Errorf("/review asked %q", got)
	}
	e.say(id, "/shared", acp.StopReasonEndTurn)
	if got := strings.TrimSpace(asked()); got != "the project's" {
		t.Errorf("/shared asked %q", got)
	}
	e.say(id, "/skill:poet about Go", acp.StopReasonEndTurn)
	if got := asked(); !containsAll(got, "Write in verse.", "SKILL.md", "User: about Go") {
		t.Errorf("/skill:poet asked %q", got)
	}
	if got, _ := e.after(id, "/help"); strings.Contains(got, "never used") || !strings.Contains(got, "Writes poems") {
		t.Errorf("/help said %q", got)
	}
	put(t, filepath.Join(e.dir, ".gjc", "commands", "fresh.md"), "a new one with $1")
	e.say(id, "/fresh start", acp.StopReasonEndTurn)
	if got := strings.TrimSpace(asked()); got != "a new one with start" {
		t.Errorf("/fresh asked %q", got)
	}
	e.await(id, has("fresh"))
	// A loaded session shows what was typed, not the expanded prompt.
	call[struct{}](e, "session/close", obj{"sessionId": id})
	from := len(e.Updates(id))
	call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	var said []string
	for _, u := range e.Updates(id)[from:] {
		if c, ok := u.(*acp.UserMessageChunk); ok {
			said = append(said, c.Content.(*acp.TextContent).Text)
		}
	}
	want := []string{"hello", "/review main.go bugs", "/shared", "/skill:poet about Go", "/fresh start"}
	if !slices.Equal(said, want) {
		t.Errorf("replayed %q, want %q", said, want)
	}
}

// The user is warned once of a command file that cannot be used.
func TestCommands_BadFile(t *testing.T) {
	e := start(t, func(c *config) { c.server.Sessions.UserDir = c.agent })
	put(t, filepath.Join(e.dir, ".gjc", "commands", "bad.md"), strings.Repeat("x", 100<<10))
	id := e.session()
	e.say(id, "!say x", acp.StopReasonEndTurn)
	bad := func(u *acp.Notice) bool { return strings.Contains(u.Description, "bad.md") }
	e.await(id, acptest.Update(bad))
	e.say(id, "!say x", acp.StopReasonEndTurn)
	e.say(id, "/nothing", acp.StopReasonEndTurn)
	n := 0
	for _, u := range e.Updates(id) {
		if u, ok := u.(*acp.Notice); ok && bad(u) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("shown %d times", n)
	}
}
