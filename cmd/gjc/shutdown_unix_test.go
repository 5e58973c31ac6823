//go:build unix

package main

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// stage brings gjc to a point of its life.
type stage struct {
	name  string
	reach func(p *peer)
	// child is set if gjc has a child process of its own then.
	child bool
}

var stages = []stage{
	{name: "before initialize", reach: func(p *peer) {
		// The response shows that the process is running: before that a signal ends it like any program.
		p.send("junk")
		p.until("the answer to junk", message.isResponse)
	}},
	{name: "initialized", reach: func(p *peer) { p.initialize(nil) }},
	{name: "idle session", reach: func(p *peer) {
		p.initialize(nil)
		p.say(p.session("auto"), "fine")
	}},
	{name: "in a turn", reach: func(p *peer) {
		p.initialize(nil)
		p.prompt(p.session("auto"), "!wait")
		p.until("the session's title", func(m message) bool { return strings.Contains(m.line, "session_info_update") })
	}},
	{name: "client terminal", reach: func(p *peer) {
		p.initialize(withTerminals)
		p.prompt(p.session("auto"), "!bash sleep 600")
		p.reply(p.called("terminal/create"), `{"terminalId":"t1"}`)
		p.called("terminal/wait_for_exit")
	}},
	{name: "client terminal not yet created", reach: func(p *peer) {
		p.initialize(withTerminals)
		p.prompt(p.session("auto"), "!bash sleep 600")
		p.called("terminal/create")
	}},
	{name: "client file", reach: func(p *peer) {
		p.initialize(withTerminals)
		p.prompt(p.session("auto"), "!read a.txt")
		p.called("fs/read_text_file")
	}},
	{name: "permission", reach: func(p *peer) {
		p.initialize(nil)
		p.prompt(p.session("default"), "!bash sleep 600")
		p.called("session/request_permission")
	}},
	{name: "local command", child: true, reach: local(`echo re""ady; sleep 600`)},
	{name: "local command that ignores TERM", child: true, reach: local(`trap '' TERM HUP INT; echo re""ady; sleep 600; sleep 600`)},
	{name: "local command with children", child: true, reach: local(`(sleep 600; true) & (trap '' TERM; sleep 601; true) & echo re""ady; wait`)},
	{name: "local command that prints without end", child: true, reach: local(`echo re""ady; yes`)},
	{name: "editor that does not read", reach: func(p *peer) {
		p.initialize(nil)
		id := p.session("auto")
		// More than all buffers between the model and the editor can contain.
		p.prompt(id, "!say 1000000")
		p.until("the beginning", func(m message) bool { return strings.Contains(m.line, "agent_message_chunk") })
		p.deaf.Lock()
		p.wasDeaf.Store(true)
		p.t.Cleanup(p.deaf.Unlock)
	}},
	{name: "two sessions", child: true, reach: func(p *peer) {
		local(`echo re""ady; sleep 600`)(p)
		p.prompt(p.session("auto"), `!bash echo al""so; sleep 600`)
		p.until("the output", func(m message) bool { return strings.Contains(m.line, "also") })
	}},
}

// local runs a command that prints "ready" as gjc's own child. The title of the call does not contain it.
func local(command string) func(*peer) {
	return func(p *peer) {
		p.initialize(nil)
		p.prompt(p.session("auto"), "!bash "+command)
		p.until("the output", func(m message) bool { return strings.Contains(m.line, "ready") })
	}
}

// However and whenever the editor ends gjc, it exits with 0 in time, and leaves no process.
func TestShutdown(t *testing.T) {
	t.Parallel()
	ends := []struct {
		name string
		end  func(p *peer) error
	}{
		{"EOF", func(p *peer) error { return p.stdin.Close() }},
		{"TERM", func(p *peer) error { return p.cmd.Process.Signal(syscall.SIGTERM) }},
		{"INT", func(p *peer) error { return p.cmd.Process.Signal(os.Interrupt) }},
		{"HUP", func(p *peer) error { return p.cmd.Process.Signal(syscall.SIGHUP) }},
		// Both at once, like an editor that sends a request and does not wait.
		{"TERM and EOF", func(p *peer) error {
			err := p.cmd.Process.Signal(syscall.SIGTERM)
			_ = p.stdin.Close()
			return err
		}},
		// The editor has died, with all its ends of the pipes.
		{"death", func(p *peer) error {
			_, _ = p.stdout.Close(), p.stderr.Close()
			return p.stdin.Close()
		}},
	}
	for _, s := range stages {
		for _, e := range ends {
			t.Run(s.name+"/"+e.name, func(t *testing.T) {
				t.Parallel()
				mark := markOf(t)
				// The debug log makes gjc write more while it ends, even without a reader.
				p := startPeer(t, peerOptions{env: []string{mark}, args: []string{"--log-level", "debug"}})
				s.reach(p)
				if runtime.GOOS == "linux" && s.child && len(marked(t, mark)) < 2 {
					t.Fatal("there is no child process: the test tests nothing")
				}
				if err := e.end(p); err != nil {
					t.Fatal(err)
				}
				p.exits()
				wantNoneLeft(t, mark)
			})
		}
	}
}

// A signal, unlike the end of stdin, leaves the editor connected: the turn is answered as cancelled, and the terminal
// is released.
func TestShutdown_NotifiesTheEditor(t *testing.T) {
	t.Parallel()
	p := startPeer(t, peerOptions{})
	p.initialize(withTerminals)
	prompt := p.prompt(p.session("auto"), "!bash sleep 600")
	p.reply(p.called("terminal/create"), `{"terminalId":"t1"}`)
	wait := p.called("terminal/wait_for_exit")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.reply(p.called("terminal/kill"), `{}`)
	p.reply(wait, `{"signal":"SIGKILL"}`)
	m, _ := p.until("the release", func(m message) bool {
		if m.Method == "terminal/output" {
			p.reply(m, `{"output":"","truncated":false}`)
		}
		return m.Method == "terminal/release"
	})
	p.reply(m, `{}`)
	if m, _ := p.answer(prompt); !strings.Contains(string(m.Result), "cancelled") {
		t.Errorf("the prompt got %s", m.line)
	}
	p.exits()
}
