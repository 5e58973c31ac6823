package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// sandboxedPeer is a gjc that requires the sandbox, with a home directory among temporary files, and a mark for its
// processes. temp is its directory for temporary files; empty for the parent of home.
func sandboxedPeer(t *testing.T, temp string) (p *peer, home, mark string) {
	t.Helper()
	if _, err := findSandbox(); err != nil {
		testenv.Skip(t, "%v", err)
	}
	home = tempDir(t)
	agentDir := filepath.Join(home, "agent")
	writeFile(t, filepath.Join(agentDir, "config.yml"), "bash:\n  sandbox: require\n")
	if temp == "" {
		temp = filepath.Dir(home)
	}
	mark = markOf(t)
	p = startPeer(t, peerOptions{home: home, args: []string{"--agent-dir", agentDir}, env: []string{"TMPDIR=" + temp, mark}})
	p.initialize(nil)
	return p, home, mark
}

// notWritten reports whether a text says that a file could not be written: Landlock refuses, and bubblewrap's file
// systems are read-only.
func notWritten(output string) bool {
	return strings.Contains(output, "Permission denied") || strings.Contains(output, "Read-only file system")
}

// A command in the sandbox cannot write to HOME, nor open a socket; in the workspace and among temporary files it works
// as usual.
func TestSandbox(t *testing.T) {
	t.Parallel()
	python := testenv.NeedsTool(t, "python3")
	for name, temp := range map[string]string{"temporary files elsewhere": tempDir(t), "home among temporary files": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testSandbox(t, python, temp)
		})
	}
}

func testSandbox(t *testing.T, python, temp string) {
	p, outside, _ := sandboxedPeer(t, temp)
	id := p.session("auto")
	does := func(command string) string {
		prompt := p.prompt(id, "!bash "+command)
		_, before := p.answer(prompt)
		return strings.Join(lines(before), "\n")
	}
	if output := does(`python3 -c 'import os; open(os.environ["HOME"] + "/evil", "w")'`); !notWritten(output) || !strings.Contains(output, "run in a sandbox") {
		t.Errorf("writing to HOME: %s", output)
	}
	if _, err := os.Stat(filepath.Join(outside, "evil")); err == nil {
		t.Error("a command in the sandbox has written to HOME")
	}
	if output := does(python + ` -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM)'`); !strings.Contains(output, "Permission denied") {
		t.Errorf("opening a socket: %s", output)
	}
	if output := does(`echo fine > inside && cat inside && mktemp && echo $$ > /dev/null && cat /etc/hostname && echo done`); !strings.Contains(output, "fine") || !strings.Contains(output, `done`) || strings.Contains(output, `"failed"`) {
		t.Errorf("what is allowed: %s", output)
	}
	does("export KEPT=yes")
	if output := does("echo it is $KEPT"); !strings.Contains(output, "it is yes") {
		t.Errorf("the state of the shell: %s", output)
	}
	p.stop()
}

// The same holds for the interpreter of eval, for its whole life.
func TestSandbox_Eval(t *testing.T) {
	t.Parallel()
	testenv.NeedsTool(t, "python3")
	p, outside, mark := sandboxedPeer(t, "")
	id := p.session("auto")
	if output := p.python(id, object{"code": "import tempfile\nopen('inside', 'w').write('fine')\nopen('inside').read() + str(tempfile.TemporaryFile().fileno() > 0)"}); !strings.Contains(output, "'fineTrue'") {
		t.Errorf("what is allowed: %s", output)
	}
	if output := p.python(id, object{"code": "import os\nopen(os.environ['HOME'] + '/evil', 'w')"}); !notWritten(output) {
		t.Errorf("writing to HOME: %s", output)
	}
	if output := p.python(id, object{"code": "import subprocess\nsubprocess.run(['touch', os.environ['HOME'] + '/evil'])"}); !notWritten(output) {
		t.Errorf("a child that writes to HOME: %s", output)
	}
	if _, err := os.Stat(filepath.Join(outside, "evil")); err == nil {
		t.Error("code in the sandbox has written to HOME")
	}
	for _, family := range []string{"AF_INET", "AF_UNIX"} {
		if output := p.python(id, object{"code": "import socket\nsocket.socket(socket." + family + ", socket.SOCK_STREAM)"}); !strings.Contains(output, "Permission denied") {
			t.Errorf("opening a socket of %s: %s", family, output)
		}
	}
	p.stop()
	wantNoneLeft(t, mark)
}
