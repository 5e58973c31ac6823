package server_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// terminalKinds are the editors with and without terminals.
var terminalKinds = []struct {
	name         string
	capabilities *acp.ClientCapabilities
}{
	{"terminals of the editor", &acp.ClientCapabilities{Terminal: true}},
	{"own terminals", &acp.ClientCapabilities{}},
}

// inAuto starts a session in mode auto whose commands run inside the boundary. asked gets the titles of questions, which are rejected.
func inAuto(t *testing.T, capabilities *acp.ClientCapabilities, asked *[]string, dir string, extra ...func(*config)) (*env, acp.SessionID) {
	t.Helper()
	needsBoundary(t)
	e := start(t, append(extra, as(capabilities), func(c *config) {
		c.server.Sessions.Policy = func(string) approval.Policy {
			return approval.Policy{Boundary: testBoundary(), Home: t.TempDir()}
		}
		c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			*asked = append(*asked, p.ToolCall.Title.Or(""))
			return acptest.Choose("reject_once"), nil
		}
	})...)
	s, err := e.NewSession(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := acp.MethodSessionSetMode.Call(t.Context(), e.Conn, &acp.SetSessionModeRequest{SessionID: s.SessionID, ModeID: acp.SessionModeID(approval.ModeAuto)}); err != nil {
		t.Fatal(err)
	}
	return e, s.SessionID
}

// A program that a command has left running may make files that programs run by themselves while no command runs. The next command's end
// asks about them; what the user's own hands have made does not ask. A refusal ends the program, which could make them again.
func TestLingering_MakesFiles(t *testing.T) {
	for _, kind := range terminalKinds {
		for _, tt := range []struct {
			name, first string
			asks        int
		}{
			{"a program", `mkfifo go made started; setsid sh -c 'echo > started; read x < go; mkdir .vscode; echo {} > .vscode/tasks.json; echo > made; exec sleep 600' >/dev/null 2>&1 & read x < started`, 1},
			{"the user", "true", 0},
		} {
			t.Run(kind.name+"/"+tt.name, func(t *testing.T) {
				var asked []string
				dir := t.TempDir()
				e, id := inAuto(t, kind.capabilities, &asked, dir)
				e.say(id, "!bash "+tt.first, acp.StopReasonEndTurn)
				tasks := filepath.Join(dir, ".vscode", "tasks.json")
				if tt.asks == 0 {
					if err := os.Mkdir(filepath.Dir(tasks), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(tasks, []byte("{}"), 0o644); err != nil {
						t.Fatal(err)
					}
				} else {
					if err := os.WriteFile(filepath.Join(dir, "go"), []byte("\n"), 0); err != nil { // a pipe
						t.Fatal(err)
					}
					if _, err := os.ReadFile(filepath.Join(dir, "made")); err != nil {
						t.Fatal(err)
					}
				}
				e.say(id, "!bash echo next", acp.StopReasonEndTurn)
				if len(asked) != tt.asks || tt.asks > 0 && !strings.Contains(asked[0], "tasks.json") {
					t.Errorf("asked %q", asked)
				}
				if _, err := os.Lstat(tasks); (err == nil) != (tt.asks == 0) {
					t.Errorf("tasks.json: %v", err)
				}
				if got, _ := e.after(id, "!bash ! pgrep -x sleep"); !strings.Contains(got, "all of them succeeded") {
					t.Errorf("the program runs on after the refusal:\n%s", got)
				}
			})
		}
	}
}

// A program that makes a refused file again and again is ended by the refusal: the next command finds no such file, and does not ask.
func TestLingering_MakesFilesAgain(t *testing.T) {
	for _, kind := range terminalKinds {
		t.Run(kind.name, func(t *testing.T) {
			var asked []string
			dir := t.TempDir()
			e, id := inAuto(t, kind.capabilities, &asked, dir)
			e.say(id, `!bash mkfifo started; setsid env -i PATH="$PATH" sh -c 'echo a > .envrc; echo > started; while :; do echo a > .envrc; done' >/dev/null 2>&1 & read x < started`, acp.StopReasonEndTurn)
			e.say(id, "!bash echo next", acp.StopReasonEndTurn)
			if len(asked) != 1 || !strings.Contains(asked[0], ".envrc") {
				t.Errorf("asked %q", asked)
			}
			if _, err := os.Lstat(filepath.Join(dir, ".envrc")); err == nil {
				t.Error(".envrc is there again")
			}
		})
	}
}

// A command reaches the server that an earlier one has started, as a job or in a session of its own.
func TestLingering_ServerIsReached(t *testing.T) {
	python := testenv.NeedsTool(t, "python3")
	const server = ` -c '
import http.server, os
s = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
open("port.new", "w").write(str(s.server_port))
os.rename("port.new", "port")
s.serve_forever()'`
	const get = ` -c '
import os, time, urllib.request
while not os.path.exists("port"): time.sleep(0.01)
print(urllib.request.urlopen("http://127.0.0.1:" + open("port").read() + "/page").read().decode())'`
	for _, kind := range terminalKinds {
		for _, tt := range []struct {
			name  string
			first map[string]any
		}{
			{"session of its own", map[string]any{"command": "setsid " + python + server + " >/dev/null 2>&1 &"}},
			{"job", map[string]any{"command": python + server, "async": true}},
		} {
			t.Run(kind.name+"/"+tt.name, func(t *testing.T) {
				var asked []string
				var result string
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "page"), []byte("hello from the server"), 0o644); err != nil {
					t.Fatal(err)
				}
				e, id := inAuto(t, kind.capabilities, &asked, dir, scripted(
					providertest.Step{providertest.Call("c1", "bash", callInput(t, tt.first))},
					providertest.Step{providertest.Text("It runs.")},
					providertest.Step{providertest.Call("c2", "bash", callInput(t, map[string]any{"command": python + get}))},
					providertest.Step{providertest.Check(func(req *providers.Request) {
						result = req.Messages[len(req.Messages)-1].Text()
					}), providertest.Text("I see.")},
				))
				e.say(id, "start the server", acp.StopReasonEndTurn)
				e.say(id, "ask it", acp.StopReasonEndTurn)
				if len(asked) > 0 || !strings.Contains(result, "hello from the server") {
					t.Errorf("asked %q; the second command's result:\n%s", asked, result)
				}
			})
		}
	}
}

func callInput(t *testing.T, input map[string]any) string {
	t.Helper()
	data, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
