package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

// buildAttempts is the script of a project that a server runs which builds it. It writes its results to the file built.
const buildAttempts = `{
echo of the project 2>/dev/null > "$HOME/of-the-project" && echo home written || echo home kept
cat "$HOME/.ssh/id_test" 2>/dev/null || echo secret hidden
kill -0 $1 2>/dev/null && echo client seen || echo client hidden
cat /tmp/of-bash 2>/dev/null || echo no file of bash
echo of the server > /tmp/of-server
} > built
if [ -e makes ]; then mkdir -p .vscode; echo "{}" > .vscode/tasks.json; fi
`

// A server that builds the project runs inside the boundary, with the session's commands: they see the same files in /tmp, and what the
// project makes it do changes nothing outside. A user can except a server.
func TestLanguages_Inside(t *testing.T) {
	t.Parallel()
	if s, err := findSandbox(); err != nil || s.Kind != sandbox.Bubblewrap {
		testenv.Skip(t, "bubblewrap is not there: %v", err)
	}
	program := copyOutsideTemp(t, self(t))
	for _, tt := range []struct {
		name, member, config string
		built                []string
		inside               bool
	}{
		{"inside", "", "", []string{"home kept", "secret hidden", "client hidden", "of bash"}, true},
		{"excepted", `, "sandbox": false`, "", []string{"home written", "a key", "client seen"}, false},
		{"no sandbox", "", "bash: {sandbox: off}", []string{"home written", "a key", "client seen"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			command, err := jsonx.Marshal(program)
			if err != nil {
				t.Fatal(err)
			}
			home, mark := testenv.DirOutsideTemp(t), markOf(t)
			writeFile(t, filepath.Join(home, ".gjc", "agent", "lsp.json"), `{"servers": {"fake": {"command": `+string(command)+`, "args": ["`+fakeLanguageServer+
				`", "builds"], "fileTypes": [".txt"], "rootMarkers": ["root.mark"]`+tt.member+`}}}`)
			writeFile(t, filepath.Join(home, ".gjc", "agent", "config.yml"), tt.config)
			writeFile(t, filepath.Join(home, ".ssh", "id_test"), "a key")
			var mu sync.Mutex
			var asked []string
			h := startLanguagesAt(t, home, nil, func(p *acp.RequestPermissionRequest) acp.PermissionOptionID {
				mu.Lock()
				defer mu.Unlock()
				if title := p.ToolCall.Title.Or(""); !strings.HasPrefix(title, "echo ") { // which asks where there is no sandbox
					asked = append(asked, title)
				}
				return "reject_once"
			}, mark).mark()
			questions := func() []string {
				mu.Lock()
				defer mu.Unlock()
				all := asked
				asked = nil
				return all
			}
			writeFile(t, filepath.Join(h.work, "build.sh"), buildAttempts)
			id := h.open()
			if _, err := acp.MethodSessionSetMode.Call(t.Context(), h.Conn, &acp.SetSessionModeRequest{SessionID: id, ModeID: acp.SessionModeID(approval.ModeAuto)}); err != nil {
				t.Fatal(err)
			}
			h.prompt(id, "!bash echo of bash > /tmp/of-bash")
			h.ask(t, id, "!write a.txt BUG", languageAsk{want: []string{"a bug"}})
			built, err := os.ReadFile(filepath.Join(h.work, "built"))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.built {
				if !strings.Contains(string(built), want) {
					t.Errorf("no %q in %s", want, built)
				}
			}
			if o := h.prompt(id, "/lsp"); strings.Contains(o.words, "in the sandbox") != tt.inside {
				t.Errorf("/lsp: %s", o.words)
			}
			if tt.inside {
				h.ask(t, id, "!bash cat /tmp/of-server", languageAsk{want: []string{"of the server"}})
				if q := questions(); len(q) > 0 {
					t.Errorf("asked %q", q)
				}
				// What programs run by themselves asks with the next command, and the server goes on.
				writeFile(t, filepath.Join(h.work, "makes"), "")
				h.ask(t, id, "!write a.txt fine", languageAsk{want: []string{"no problems"}})
				h.ask(t, id, "!bash true", languageAsk{want: []string{"did not want to keep"}})
				if q := questions(); len(q) != 1 || !strings.Contains(q[0], "tasks.json") {
					t.Errorf("asked %q", q)
				}
				if _, err := os.Lstat(filepath.Join(h.work, ".vscode", "tasks.json")); err == nil {
					t.Error("tasks.json is there though the user did not want it")
				}
				if err := os.Remove(filepath.Join(h.work, "makes")); err != nil {
					t.Fatal(err)
				}
				h.ask(t, id, "!write a.txt BUG", languageAsk{want: []string{"a bug"}})
				if o := h.prompt(id, "/lsp"); strings.Contains(o.words, "restarted") {
					t.Errorf("/lsp: %s", o.words)
				}
			}
			h.stop()
			wantNoneLeft(t, mark)
		})
	}
}

// copyOutsideTemp copies a program to where the sandbox has it.
func copyOutsideTemp(t *testing.T, program string) string {
	t.Helper()
	from, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	path := filepath.Join(testenv.DirOutsideTemp(t), filepath.Base(program))
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
