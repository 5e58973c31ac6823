package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

// insideProgram writes where it may not, and to /tmp.
const insideProgram = `import os

def attempt(path):
    try:
        with open(path, "w") as f:
            f.write("of the program")
        return "written"
    except OSError as e:
        return e.strerror

outside = attempt(os.environ["HOME"] + "/of-the-program")
inside = attempt("/tmp/of-the-program")
print("outside:", outside, "inside:", inside, "from bash:", open("/tmp/of-bash").read().strip())
`

// insideServer waits for a debugger and for a file.
const insideServer = `import os
import time

import debugpy

_, port = debugpy.listen(("127.0.0.1", 0))
with open("/tmp/port", "w") as f:
    f.write(str(port) + "\n")
secret = "of the server"
while not os.path.exists("/tmp/enough"):
    time.sleep(0.01)
`

// In auto mode adapters and their programs run inside the boundary, with the session's commands: they see the same files in /tmp, the
// same processes and the same servers, and change nothing outside.
func TestDebugger_Inside(t *testing.T) {
	t.Parallel()
	if s, err := findSandbox(); err != nil || s.Kind != sandbox.Bubblewrap {
		testenv.Skip(t, "bubblewrap is not there: %v", err)
	}
	env, python := pythonAdapter().env(t), testenv.NeedsDebugpy(t)
	var mu sync.Mutex
	var asked []string
	questions := func() []string {
		mu.Lock()
		defer mu.Unlock()
		all := asked
		asked = nil
		return all
	}
	mark := markOf(t)
	h := &debugHost{saved: make(map[string]string), languageHost: startLanguagesAt(t, tempDir(t), nil, func(p *acp.RequestPermissionRequest) acp.PermissionOptionID {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, p.ToolCall.Title.Or(""))
		return "reject_once"
	}, append(env, mark)...)}
	h.project(map[string]string{"main.py": insideProgram, "server.py": insideServer})
	if _, err := acp.MethodSessionSetMode.Call(t.Context(), h.Conn, &acp.SetSessionModeRequest{SessionID: h.id, ModeID: acp.SessionModeID(approval.ModeAuto)}); err != nil {
		t.Fatal(err)
	}
	bash := func(line string) string {
		t.Helper()
		return h.ask(t, h.id, "!bash "+line, languageAsk{}).Text
	}
	bash("echo from bash > /tmp/of-bash")
	h.all(t, []debugStep{
		does("launch program=main.py timeout=120", "Status: stopped"),
		does("continue timeout=120", "outside: Read-only file system inside: written from bash: from bash"),
	})
	if text := bash("cat /tmp/of-the-program"); !strings.Contains(text, "of the program") {
		t.Errorf("a command does not see the program's file: %s", text)
	}
	if _, err := os.Lstat(filepath.Join(h.home, "of-the-program")); err == nil {
		t.Error("the program has changed the home directory")
	}

	// A server that a command has started.
	bash("setsid " + python + " -Xfrozen_modules=off server.py >/tmp/log 2>&1 & until [ -s /tmp/port ]; do sleep 0.05; done")
	port := regexp.MustCompile(`port=(\d+)`).FindStringSubmatch(bash("sed s/^/port=/ /tmp/port"))
	if port == nil {
		t.Fatal("the server has no port")
	}
	h.all(t, []debugStep{
		does("attach adapter=debugpy port="+port[1]+" timeout=120", "Session: debug-2"),
		does("pause", "server.py"),
		does("evaluate {\"expression\": \"__import__('os').path.exists('/tmp/of-bash')\"}", "True"),
		does("evaluate {\"expression\": \"__import__('os').makedirs('.vscode', exist_ok=True)\"}"),
	})
	if q := questions(); len(q) > 0 {
		t.Errorf("asked %q", q)
	}
	// What programs run by themselves asks, also if a step of the debugger makes it.
	h.do(t, does("evaluate {\"expression\": \"open('.vscode/tasks.json', 'w').write('{}')\"}", "did not want to keep"))
	if q := questions(); len(q) != 1 || !strings.Contains(q[0], "tasks.json") {
		t.Errorf("asked %q", q)
	}
	if _, err := os.Lstat(filepath.Join(h.work, ".vscode", "tasks.json")); err == nil {
		t.Error("tasks.json is there though the user did not want it")
	}
	bash("touch /tmp/enough")
	h.do(t, debugStep{do: "terminate"})
	if q := questions(); len(q) > 0 {
		t.Errorf("asked %q", q)
	}

	// What is outside the boundary asks.
	h.do(t, fails("attach adapter=debugpy port=1 timeout=5", "rejected"))
	if q := questions(); len(q) != 1 {
		t.Errorf("an attach outside asked %q", q)
	}
	h.stop()
	wantNoneLeft(t, mark)
}
