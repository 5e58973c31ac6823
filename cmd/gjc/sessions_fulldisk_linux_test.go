package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// smallDisk is a mount namespace with a file system of two megabytes. It ends with the test.
type smallDisk struct {
	t *testing.T
	// enter is the command that runs another one inside.
	enter []string
}

// newSmallDisk mounts the file system at dir.
func newSmallDisk(t *testing.T, dir string) *smallDisk {
	t.Helper()
	unshare, nsenter := testenv.NeedsTool(t, "unshare"), testenv.NeedsTool(t, "nsenter")
	args, enter := []string{"-m"}, []string{nsenter, "-m"}
	if os.Getuid() != 0 {
		args, enter = []string{"-Urm"}, []string{nsenter, "-U", "-m", "--preserve-credentials"}
	}
	const hold = `mount -t tmpfs -o size=2m tmpfs "$0" && echo mounted && exec cat`
	holder := exec.Command(unshare, append(args, "sh", "-c", hold, dir)...)
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // which ends cat
		_, _ = io.Copy(io.Discard, stdout)
		_ = holder.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "mounted\n" {
		testenv.Skip(t, "no file system can be mounted here: %q, %v", line, err)
	}
	return &smallDisk{t, append(enter, "-t", strconv.Itoa(holder.Process.Pid), "--")}
}

// sh runs a shell line inside.
func (d *smallDisk) sh(line string, args ...string) {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), d.enter[0], append(append(d.enter[1:len(d.enter):len(d.enter)], "sh", "-c", line), args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("%s: %v: %s", line, err, out)
	}
}

// start starts gjc inside.
func (d *smallDisk) start(home string) *peer {
	d.t.Helper()
	script := filepath.Join(d.t.TempDir(), "inside")
	text := fmt.Sprintf("#!/bin/sh\nexec %s '%s' \"$@\"\n", strings.Join(d.enter, " "), self(d.t))
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		d.t.Fatal(err)
	}
	return startPeer(d.t, peerOptions{path: script, home: home})
}

// A full disk stops a session only while it is full, with a message that says what to do, and loses nothing that was
// shown; once there is room, the next prompt works in the same process.
func TestSessions_FullDisk(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	agent := agentDir(home)
	if err := os.MkdirAll(agent, 0o700); err != nil {
		t.Fatal(err)
	}
	disk := newSmallDisk(t, agent)
	p := disk.start(home)
	p.initialize(nil)
	id := p.session("auto")
	p.say(id, "before")
	disk.sh(`dd if=/dev/zero of="$0/fill" bs=4k 2>/dev/null; true`, agent)
	for n := range 2 {
		m, before := p.answer(p.prompt(id, "!say full\n"+strings.Repeat("x", 8<<10)))
		if m.Error == nil || !strings.Contains(m.Error.Message, "the disk is full; make room, then send the prompt again") {
			t.Fatalf("prompt %d on the full disk: %s", n, m.line)
		}
		if strings.Contains(m.line, home) || !strings.Contains(string(m.Error.Data), `"storage"`) {
			t.Errorf("the error is %s", m.line)
		}
		noticed := strings.Contains(strings.Join(lines(before), "\n"), "The session cannot be saved.")
		if noticed != (n == 0) {
			t.Errorf("prompt %d: the user was notified: %v", n, noticed)
		}
	}
	if m, _ := p.answer(p.request("session/new", object{"cwd": p.work, "mcpServers": []any{}})); m.Error == nil {
		t.Errorf("a session was made on the full disk: %s", m.line)
	}
	disk.sh(`rm "$0/fill"`, agent)
	back := strings.Join(lines(p.say(id, "after")), "\n")
	if !strings.Contains(back, "The session is saved again.") {
		t.Errorf("the user was not notified that the session is saved again:\n%s", back)
	}
	p.session("auto")
	p.stop()

	again := disk.start(home)
	again.initialize(nil)
	m, replay := again.answer(again.request("session/load", object{"sessionId": id, "cwd": p.work, "mcpServers": []any{}}))
	if m.Error != nil {
		t.Fatalf("load: %s", m.line)
	}
	text := strings.Join(lines(replay), "\n")
	for _, want := range []string{"!say before", "!say after"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not replayed:\n%s", want, text)
		}
	}
	again.stop()
}

// A run on a full disk ends with a reason and status 1, whether the session or the answer has no room.
func TestRun_FullDisk(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	agent := agentDir(home)
	if err := os.MkdirAll(agent, 0o700); err != nil {
		t.Fatal(err)
	}
	disk := newSmallDisk(t, agent)
	disk.sh(`dd if=/dev/zero of="$0/fill" bs=4k 2>/dev/null; true`, agent)
	run := func(line string) (output string, code int) {
		cmd := exec.CommandContext(t.Context(), disk.enter[0], append(append(disk.enter[1:len(disk.enter):len(disk.enter)], "sh", "-c", line), self(t), agent)...)
		cmd.Dir, cmd.Env = tempDir(t), environment(home)
		out, err := cmd.CombinedOutput()
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	for _, tt := range []struct{ line, want string }{
		{`"$0" run hello`, "no space left on device"},
		{`"$0" run --output json hello`, `"exitStatus":1}`},
		{`"$0" run --no-save '!say 100000' >"$1/answer"`, "no space left on device"},
	} {
		out, code := run(tt.line)
		if code != 1 || !strings.Contains(out, tt.want) {
			t.Errorf("%s ended with %d: %.2000s", tt.line, code, out)
		}
	}
	disk.sh(`rm "$0/fill"`, agent)
	if out, code := run(`"$0" run hello`); code != 0 {
		t.Errorf("with room it ended with %d: %s", code, out)
	}
}
