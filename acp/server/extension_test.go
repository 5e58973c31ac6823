package server_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/sessions"
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

// gatedFS waits in each write that has a text until a gate is open.
type gatedFS struct {
	sessions.FileSystem
	text    string
	reached chan struct{} // receives a value for each write that waits
	gate    chan struct{}
}

func (f *gatedFS) OpenFile(name string, flag int, perm fs.FileMode) (sessions.File, error) {
	file, err := f.FileSystem.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &gatedFile{file, f}, nil
}

type gatedFile struct {
	sessions.File
	fs *gatedFS
}

func (f *gatedFile) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(f.fs.text)) {
		f.fs.reached <- struct{}{}
		<-f.fs.gate
	}
	return f.File.Write(p)
}

// A hub is shown that a prompt is stored before it is shown that anything else is, and its request to be shown all that is stored is not
// answered in between. Other clients do not receive that.
func TestPromptStored(t *testing.T) {
	for _, declared := range []bool{true, false} {
		gated := &gatedFS{FileSystem: sessions.Disk(), text: "!say one", reached: make(chan struct{}, 10), gate: make(chan struct{})}
		var mu sync.Mutex
		var got []string
		e := start(t, func(c *config) {
			c.store.FS = gated
			c.editor.Capabilities = acptest.AllCapabilities()
			if declared {
				if err := c.editor.Capabilities.Meta.Set("gjc/elsewhere", true); err != nil {
					t.Fatal(err)
				}
			}
			c.editor.Trace = func(sent bool, line []byte) {
				mu.Lock()
				defer mu.Unlock()
				for _, part := range []string{`"gjc/message":"own"`, `"result":{}`, `agent_message_chunk`} {
					if !sent && bytes.Contains(line, []byte(part)) && !slices.Contains(got, part) {
						got = append(got, part)
					}
				}
			}
		})
		id := e.session()
		mu.Lock()
		got = nil
		mu.Unlock()
		answered := make(chan error, 1)
		go func() {
			_, err := tryCall[obj](e, "session/prompt", obj{"sessionId": id, "prompt": []obj{{"type": "text", "text": "!say one"}}, "_meta": obj{"gjc/message": "own"}})
			answered <- err
		}()
		<-gated.reached
		stored := make(chan error, 1)
		go func() {
			_, err := tryCall[obj](e, "_gjc/elsewhere/stored", obj{"sessionId": id})
			stored <- err
		}()
		if _, err := tryCall[obj](e, "_gjc/chats/byCwd", obj{"cwd": e.dir}); err != nil { // in the meantime, the other request is read
			t.Fatal(err)
		}
		close(gated.gate)
		for _, ch := range []chan error{answered, stored} {
			if err := <-ch; err != nil {
				t.Error(err)
			}
		}
		_, err := tryCall[obj](e, "_gjc/elsewhere/stored", obj{"sessionId": "unknown"})
		wantCode(t, err, acp.ErrorCodeResourceNotFound, "unknown")
		mu.Lock()
		if want := []string{`"gjc/message":"own"`, `"result":{}`, `agent_message_chunk`}; !declared {
			want = want[1:]
			if !slices.Equal(got, want) && !slices.Equal(got, []string{want[1], want[0]}) {
				t.Errorf("another client receives %q", got)
			}
		} else if !slices.Equal(got, want) && !slices.Equal(got, []string{want[0], want[2], want[1]}) {
			t.Errorf("a hub receives %q", got)
		}
		mu.Unlock()
	}
}
