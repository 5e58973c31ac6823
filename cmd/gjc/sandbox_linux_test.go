package main

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
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

// refusing returns the messages of a turn in which the user allows nothing.
func (p *peer) refusing(prompt string) string {
	p.t.Helper()
	var all []string
	for {
		m, before := p.until("the response to "+prompt, func(m message) bool {
			return m.Method == "session/request_permission" || m.isResponse() && string(m.ID) == prompt
		})
		all = append(all, lines(before)...)
		if m.Method == "" {
			return strings.Join(all, "\n")
		}
		all = append(all, m.line)
		p.reply(m, `{"outcome":{"outcome":"selected","optionId":"reject_once"}}`)
	}
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
	does := func(command string) string { return p.refusing(p.prompt(id, "!bash "+command)) }
	if output := does(`python3 -c 'import os; open(os.environ["HOME"] + "/evil", "w")'`); !notWritten(output) || !strings.Contains(output, "It needs to write ") || !strings.Contains(output, "The sandbox did not let the command write ") {
		t.Errorf("writing to HOME: %s", output)
	}
	if _, err := os.Stat(filepath.Join(outside, "evil")); err == nil {
		t.Error("a command in the sandbox has written to HOME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	connect := python + ` -c 'import socket; socket.create_connection(("127.0.0.1", ` + port + `))'`
	if output := does(connect); !strings.Contains(output, "Permission denied") && !strings.Contains(output, "Connection refused") {
		t.Errorf("connecting to a server of the machine: %s", output)
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	code := "import socket\nsocket.create_connection(('127.0.0.1', " + strconv.Itoa(l.Addr().(*net.TCPAddr).Port) + "))"
	if output := p.python(id, object{"code": code}); !strings.Contains(output, "Permission denied") && !strings.Contains(output, "Connection refused") {
		t.Errorf("connecting to a server of the machine: %s", output)
	}
	p.stop()
	wantNoneLeft(t, mark)
}

// The program of a tool that a file describes can change only what the file declares.
func TestSandbox_Tool(t *testing.T) {
	t.Parallel()
	p, home, mark := sandboxedPeer(t, "")
	writeFile(t, filepath.Join(home, "agent", "tools", "touches.yml"), `name: touches
description: Changes files.
command: 'touch out/a b 2>&1; cat c; echo "ended"'
effects: {read: [c], write: [out]}
`)
	writeFile(t, filepath.Join(p.work, "c"), "this is c")
	writeFile(t, filepath.Join(p.work, "out", "old"), "")
	id := p.session("auto")
	output := p.refusing(p.prompt(id, "!mcp touches {}"))
	if !notWritten(output) || !strings.Contains(output, "this is c") || !strings.Contains(output, "ended") {
		t.Errorf("the tool says %s", output)
	}
	if _, err := os.Stat(filepath.Join(p.work, "b")); err == nil {
		t.Error("the program has changed what its file does not declare")
	}
	if _, err := os.Stat(filepath.Join(p.work, "out", "a")); err != nil {
		t.Errorf("the program could not change what its file declares: %v", err)
	}
	p.stop()
	wantNoneLeft(t, mark)
}
