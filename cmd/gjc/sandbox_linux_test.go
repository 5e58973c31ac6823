package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// A command in the sandbox cannot write to HOME, nor open a socket; in the workspace and among temporary files it works as ever.
func TestSandbox(t *testing.T) {
	t.Parallel()
	if _, err := findSandbox(); err != nil {
		testenv.Skip(t, "%v", err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		testenv.Skip(t, "python3 is not installed")
	}
	home, agentDir := tempDir(t), tempDir(t)
	writeFile(t, filepath.Join(agentDir, "config.yml"), "bash:\n  sandbox: require\n")
	// What is below the directory for temporary files may be written, and this test's home is.
	temp := filepath.Join(home, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	outside, err := os.MkdirTemp(cache, "gjc-sandboxed-home-") //nolint:usetesting // what t.TempDir gives may be written in the sandbox
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(outside) })
	p := startPeer(t, peerOptions{home: outside, args: []string{"--agent-dir", agentDir}, env: []string{"TMPDIR=" + temp}})
	p.initialize(nil)
	id := p.session("auto")
	does := func(command string) string {
		prompt := p.prompt(id, "!bash "+command)
		_, before := p.answer(prompt)
		return strings.Join(lines(before), "\n")
	}
	if told := does(`python3 -c 'import os; open(os.environ["HOME"] + "/evil", "w")'`); !strings.Contains(told, "Permission denied") || !strings.Contains(told, "run in a sandbox") {
		t.Errorf("writing to HOME: %s", told)
	}
	if _, err := os.Stat(filepath.Join(outside, "evil")); err == nil {
		t.Error("a command in the sandbox has written to HOME")
	}
	if told := does(python + ` -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM)'`); !strings.Contains(told, "Permission denied") {
		t.Errorf("opening a socket: %s", told)
	}
	if told := does(`echo fine > inside && cat inside && mktemp && echo $$ > /dev/null && cat /etc/hostname && echo done`); !strings.Contains(told, "fine") || !strings.Contains(told, `done`) || strings.Contains(told, `"failed"`) {
		t.Errorf("what is allowed: %s", told)
	}
	does("export KEPT=yes")
	if told := does("echo it is $KEPT"); !strings.Contains(told, "it is yes") {
		t.Errorf("the state of the shell: %s", told)
	}
	p.stop()
}
