package server_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
)

// The extension methods report what exists, and no secrets.
func TestExtensions(t *testing.T) {
	e := start(t, func(c *config) {
		c.server.Sessions.UserDir = c.agent
		put(t, filepath.Join(c.agent, "commands", "mine.md"), "---\ndescription: My own\n---\nDo it")
		put(t, filepath.Join(c.agent, "skills", "poet", "SKILL.md"), "---\nname: poet\ndescription: Writes poems\n---\nWrite.")
	})
	put(t, filepath.Join(e.dir, ".gjc", "commands", "ours.md"), "Do this")
	a, b := e.session(), e.session()
	e.say(a, "!say one", acp.StopReasonEndTurn)
	e.say(b, "!say two", acp.StopReasonEndTurn)
	elsewhere := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": t.TempDir(), "mcpServers": []any{}}).SessionID
	e.say(elsewhere, "!say three", acp.StopReasonEndTurn)
	ask := func(method string, params any) string {
		t.Helper()
		raw, err := json.Marshal(call[map[string]any](e, method, params))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, tt := range []struct {
		method string
		params any
		want   []string
		not    []string
	}{
		{"_gjc/sessions/listAll", obj{}, []string{string(a), string(b), string(elsewhere), `"total":3`, `"messageCount":2`}, nil},
		{"_gjc/sessions/listAll", obj{"limit": 1}, []string{string(elsewhere), `"total":3`}, []string{string(a)}},
		{"_gjc/chats/byCwd", obj{"cwd": e.dir}, []string{string(a), string(b)}, []string{string(elsewhere)}},
		{"_gjc/chats/byCwd", obj{"cwd": e.dir, "limit": 1}, []string{string(b)}, []string{string(a)}},
		{"_gjc/projects/list", obj{}, []string{`"totalSessions":3`, `"sessionCount":2`, `"lastTitle":"!say two"`, e.dir}, nil},
		{"_gjc/usage", obj{}, []string{string(a), `"model":"offline/demo"`, `"size":200000`}, nil},
		{"_gjc/extensions", obj{}, []string{`"mine"`, `"My own"`, `"skill:poet"`}, []string{"ours"}},
		{"_gjc/extensions", obj{"cwd": e.dir}, []string{`"mine"`, `"ours"`}, nil},
	} {
		got := ask(tt.method, tt.params)
		if !containsAll(got, tt.want...) {
			t.Errorf("%s %v: %s, want %q in it", tt.method, tt.params, got, tt.want)
		}
		for _, n := range tt.not {
			if strings.Contains(got, n) {
				t.Errorf("%s %v: %s has %q", tt.method, tt.params, got, n)
			}
		}
	}
	// A command that is switched off is removed from every session.
	has := func(want bool) acptest.Expectation {
		return acptest.Update(func(u *acp.AvailableCommandsUpdate) bool {
			return want == slices.ContainsFunc(u.AvailableCommands, func(c acp.AvailableCommand) bool { return c.Name == "mine" })
		})
	}
	e.await(a, has(true))
	from := len(e.Updates(a))
	if got := ask("_gjc/extensions/toggle", obj{"providerId": "mine", "enabled": false}); got != `{"enabled":false}` {
		t.Errorf("toggled: %s", got)
	}
	e.await(a, has(false))
	for _, u := range e.Updates(a)[from:] {
		if u, ok := u.(*acp.AvailableCommandsUpdate); ok && slices.ContainsFunc(u.AvailableCommands, func(c acp.AvailableCommand) bool { return c.Name == "mine" }) {
			t.Error("it is still advertised")
		}
	}
	if got := ask("_gjc/extensions", obj{}); !strings.Contains(got, `"enabled":false`) {
		t.Errorf("extensions: %s", got)
	}
	ask("_gjc/extensions/toggle", obj{"providerId": "mine", "enabled": true})
	if got := ask("_gjc/extensions", obj{}); strings.Contains(got, `"enabled":false`) {
		t.Errorf("extensions: %s", got)
	}
}
