package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/internal/testenv"
)

// lived is a point in gjc's life at which processes that it has started are running.
type lived struct {
	name string
	// start brings gjc to this point. The processes that it starts sleep for that many seconds.
	start func(p *peer, seconds string)
	// processes is the minimum number of sleeping processes.
	processes int
}

// ready runs a command whose title does not contain its output.
func ready(p *peer, command string) {
	p.prompt(p.session("auto"), "!bash "+command)
	p.until("the output", func(m message) bool { return strings.Contains(m.line, "ready") })
}

var lives = []lived{
	{"a command with children", func(p *peer, seconds string) {
		p.initialize(nil)
		ready(p, `(sleep `+seconds+`; true) & (trap "" TERM HUP; sleep `+seconds+`; true) & echo re""ady; sleep `+seconds)
	}, 3},
	{"a command without its mark", func(p *peer, seconds string) {
		p.initialize(nil)
		ready(p, `env -i /bin/sleep `+seconds+` & echo re""ady; exec sleep `+seconds)
	}, 2},
	{"daemons", func(p *peer, seconds string) {
		testenv.NeedsTool(p.t, "setsid")
		p.initialize(nil)
		ready(p, `setsid sleep `+seconds+` & nohup setsid sh -c "sleep `+seconds+` & exec sleep `+seconds+`" >/dev/null 2>&1 & sleep 0.2; echo re""ady; wait`)
	}, 3},
	{"a command that has ended", func(p *peer, seconds string) {
		testenv.NeedsTool(p.t, "setsid")
		p.initialize(nil)
		p.answer(p.prompt(p.session("auto"), `!bash (setsid sleep `+seconds+` >/dev/null 2>&1 &); until pgrep -f "^sleep `+seconds+`" >/dev/null; do :; done`))
	}, 1},
	{"a background job", func(p *peer, seconds string) {
		p.initialize(nil)
		p.does(p.session("auto"), "bash", object{"command": "sleep " + seconds + "; true", "async": true})
	}, 1},
	{"a terminal of gjc's", func(p *peer, seconds string) {
		p.initialize(nil)
		id := p.session("auto")
		p.tool(id, "bash", object{"command": `set -m; env -i /bin/sleep ` + seconds + ` & echo re""ady; sleep ` + seconds, "pty": true})
		p.until("the output", func(m message) bool { return strings.Contains(m.line, "ready") })
	}, 2},
	{"an MCP server", func(p *peer, seconds string) {
		testenv.NeedsTool(p.t, "setsid")
		p.initialize(nil)
		p.call("session/new", object{"cwd": p.work, "mcpServers": []any{object{
			"name": "m", "command": "/bin/sh", "args": []string{"-c", "setsid sleep " + seconds + " & sleep " + seconds}, "env": []any{},
		}}})
	}, 2},
	{"a language server", func(p *peer, seconds string) {
		testenv.NeedsTool(p.t, "setsid")
		writeFile(p.t, filepath.Join(agentDir(p.home), "lsp.json"), fmt.Sprintf(
			`{"servers": {"fake": {"command": "/bin/sh", "args": ["-c", "setsid sleep %[1]s & sleep %[1]s"], "fileTypes": [".txt"], "rootMarkers": ["a.txt"]}}}`, seconds,
		))
		writeFile(p.t, filepath.Join(p.work, "a.txt"), "text\n")
		p.initialize(nil)
		p.prompt(p.session("auto"), "!lsp symbols file=a.txt")
	}, 2},
}

// sleepers returns the processes that sleep for that many seconds.
func sleepers(t *testing.T, seconds string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !strings.HasSuffix(string(line), "sleep\x00"+seconds+"\x00") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// someSeconds returns a time to sleep that no other test uses. When the test ends, remaining sleepers are killed, and
// fail it.
func someSeconds(t *testing.T) string {
	t.Helper()
	seconds := fmt.Sprintf("7%d.%d", os.Getpid(), rand.IntN(1e9))
	t.Cleanup(func() {
		for _, pid := range sleepers(t, seconds) {
			t.Errorf("process %d was left", pid)
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	})
	return seconds
}

// awaitSleeping waits until at least that many processes sleep.
func awaitSleeping(t *testing.T, seconds string, n int, ended <-chan struct{}) []int {
	t.Helper()
	for {
		if pids := sleepers(t, seconds); len(pids) >= n {
			return pids
		}
		select {
		case <-ended:
			t.Fatal("gjc has ended")
		case <-t.Context().Done():
			t.Fatal("the test has ended")
		default:
		}
	}
}

// However gjc dies, its processes die too, and so does their guard.
func TestKilled_NothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGABRT, syscall.SIGQUIT} {
		for _, l := range lives {
			t.Run(fmt.Sprintf("%s/%s", unix.SignalName(sig), l.name), func(t *testing.T) {
				t.Parallel()
				seconds := someSeconds(t)
				p := startPeer(t, peerOptions{})
				l.start(p, seconds)
				left := awaitSleeping(t, seconds, l.processes, p.ended)
				guards := childrenOf(t, p.cmd.Process.Pid, guardCommand)
				if len(guards) != 1 {
					t.Fatalf("gjc has %d guards, want 1", len(guards))
				}
				if err := p.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				<-p.ended
				for _, pid := range append(left, guards...) {
					if !isGone(t, pid, dying) {
						t.Errorf("process %d outlives gjc", pid)
					}
				}
			})
		}
	}
}

// childrenOf returns the children of a process whose command line contains word.
func childrenOf(t *testing.T, parent int, word string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if fields[1] != strconv.Itoa(parent) || !strings.Contains(string(line), word) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// A killed guard is replaced at the next command, and the new one knows the earlier processes.
func TestGuard_IsReplaced(t *testing.T) {
	t.Parallel()
	seconds := someSeconds(t)
	p := startPeer(t, peerOptions{})
	p.initialize(nil)
	id := p.session("auto")
	p.does(id, "bash", object{"command": "env -i /bin/sleep " + seconds + "; true", "async": true})
	left := awaitSleeping(t, seconds, 1, p.ended)
	for _, pid := range childrenOf(t, p.cmd.Process.Pid, guardCommand) {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		wantGone(t, pid)
	}
	for range 2 { // the first one notices it
		p.does(id, "bash", object{"command": "true"})
	}
	if n := len(childrenOf(t, p.cmd.Process.Pid, guardCommand)); n != 1 {
		t.Fatalf("gjc has %d guards, want 1", n)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	wantGone(t, left[0])
}

// Processes of a gjc that was killed together with its guard end when another gjc starts its first command.
func TestGuard_EndsOrphans(t *testing.T) {
	t.Parallel()
	seconds := someSeconds(t)
	p := startPeer(t, peerOptions{})
	p.initialize(nil)
	p.does(p.session("auto"), "bash", object{"command": "sleep " + seconds + "; true", "async": true})
	left := awaitSleeping(t, seconds, 1, p.ended)
	for _, pid := range append(childrenOf(t, p.cmd.Process.Pid, guardCommand), p.cmd.Process.Pid) {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	<-p.ended
	again := startPeer(t, peerOptions{})
	again.initialize(nil)
	again.does(again.session("auto"), "bash", object{"command": "true"})
	wantGone(t, left[0])
	again.stop()
}

// The editor's kill of a terminal may reach only the shell. The shell's processes end nevertheless: when the turn is
// cancelled, when the terminal is released, and when gjc ends or is killed.
func TestClientTerminal_NothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		end  func(p *peer, id, prompt string, wait message, shell *exec.Cmd)
	}{
		{"cancel", func(p *peer, id, prompt string, wait message, shell *exec.Cmd) {
			p.notify("session/cancel", object{"sessionId": id})
			p.reply(p.called("terminal/kill"), `{}`)
			_ = shell.Process.Kill()
			p.reply(wait, `{"signal":"SIGKILL"}`)
			p.finishTerminal(prompt)
		}},
		{"release", func(p *peer, _, prompt string, wait message, shell *exec.Cmd) {
			_ = shell.Process.Kill()
			p.reply(wait, `{"signal":"SIGKILL"}`)
			p.finishTerminal(prompt)
		}},
		{"end of the session", func(p *peer, id, prompt string, wait message, shell *exec.Cmd) { // what it has left may run on until then
			_ = shell.Process.Kill()
			p.reply(wait, `{"exitCode":0}`)
			p.finishTerminal(prompt)
			p.call("session/close", object{"sessionId": id})
		}},
		{"EOF", func(p *peer, _, _ string, _ message, shell *exec.Cmd) {
			_ = shell.Process.Kill()
			p.stop()
		}},
		{"kill -9", func(p *peer, _, _ string, _ message, shell *exec.Cmd) {
			_ = shell.Process.Kill()
			if err := p.cmd.Process.Kill(); err != nil {
				p.t.Fatal(err)
			}
			<-p.ended
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			testenv.NeedsTool(t, "setsid")
			seconds := someSeconds(t)
			p := startPeer(t, peerOptions{})
			p.initialize(withTerminals)
			id := p.session("auto")
			prompt := p.prompt(id, "!bash setsid sleep "+seconds+" & (trap '' TERM HUP; sleep "+seconds+"; true) & sleep "+seconds)
			create := p.called("terminal/create")
			var params struct {
				Command string
				Args    []string
				Env     []struct{ Name, Value string }
			}
			if err := json.Unmarshal(create.Params, &params); err != nil {
				t.Fatal(err)
			}
			shell := exec.Command(params.Command, params.Args...)
			shell.Dir, shell.Env = p.work, []string{"PATH=" + os.Getenv("PATH")}
			for _, v := range params.Env {
				shell.Env = append(shell.Env, v.Name+"="+v.Value)
			}
			if err := shell.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = shell.Process.Kill()
				_ = shell.Wait()
			})
			p.reply(create, `{"terminalId":"t1"}`)
			wait := p.called("terminal/wait_for_exit")
			left := awaitSleeping(t, seconds, 3, p.ended)
			test.end(p, id, prompt, wait, shell)
			for _, pid := range left {
				if !isGone(t, pid, dying) {
					t.Errorf("process %d is left", pid)
				}
			}
			p.stopped()
		})
	}
}

// finishTerminal answers gjc's requests for a terminal whose command has ended, until the prompt is answered.
func (p *peer) finishTerminal(prompt string) {
	p.t.Helper()
	p.until("the end of the turn", func(m message) bool {
		switch m.Method {
		case "terminal/output":
			p.reply(m, `{"output":"","truncated":false}`)
		case "terminal/release", "terminal/kill":
			p.reply(m, `{}`)
		}
		return m.isResponse() && strings.Contains(string(m.ID), prompt)
	})
}
