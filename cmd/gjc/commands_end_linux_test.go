package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// tool makes the model call a tool, and does not wait.
func (p *peer) tool(session, name string, input any) (prompt string) {
	p.t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.prompt(session, "!mcp "+name+" "+string(text))
}

// does makes the model call a tool, and returns all updates of the call.
func (p *peer) does(session, name string, input any) string {
	p.t.Helper()
	_, before := p.answer(p.tool(session, name, input))
	return strings.Join(lines(before), "\n")
}

// stopped ends gjc, unless it has ended already.
func (p *peer) stopped() {
	p.t.Helper()
	select {
	case <-p.ended:
	default:
		p.stop()
	}
}

// Processes that commands and cells have started end with them, even after leaving their group: at the end of a
// cancelled job, a command that timed out, a cancelled turn, a session, gjc.
func TestCommandsEnd_NothingIsLeft(t *testing.T) {
	t.Parallel()
	testenv.NeedsTool(t, "setsid")
	// It leaves the group before the command ends.
	const daemon = `setsid sh -c "touch up; exec sleep 600" >/dev/null 2>&1 & disown; until test -e up; do sleep 0.01; done; echo re""ady`
	startDaemon := func(p *peer, id string) { p.does(id, "bash", object{"command": daemon}) }
	closes := func(p *peer, id string) { p.call("session/close", object{"sessionId": id}) }
	eof := func(p *peer, _ string) {
		if err := p.stdin.Close(); err != nil {
			p.t.Error(err)
		}
		p.exits()
	}
	for _, test := range []struct {
		name       string
		begin, end func(p *peer, id string)
	}{
		{"job", func(p *peer, id string) {
			p.does(id, "bash", object{"command": "setsid sleep 600; true", "async": true})
		}, func(p *peer, id string) { p.does(id, "job", object{"cancel": []string{"job-1"}}) }},
		{"a command that was cancelled", func(p *peer, id string) {
			p.tool(id, "bash", object{"command": daemon + "; sleep 600"})
			p.until("the output", func(m message) bool { return strings.Contains(m.line, "ready") })
		}, func(p *peer, id string) {
			p.notify("session/cancel", object{"sessionId": id})
			p.until("the end of the turn", func(m message) bool { return strings.Contains(m.line, `"stopReason"`) })
		}},
		{"a session with a command that has ended", startDaemon, closes},
		{"a session with a cell that has ended", func(p *peer, id string) {
			p.does(id, "eval", object{"cells": []object{{
				"language": "py", "code": "import subprocess\nx = subprocess.Popen(['sleep', '600'], start_new_session=True)",
			}}})
		}, closes},
		{"gjc with a command that has ended", startDaemon, eof},
		{"gjc with a terminal that somebody holds", func(p *peer, id string) {
			p.does(id, "bash", object{"command": `(setsid sh -c "touch up; exec sleep 600" &) ; until test -e up; do sleep 0.01; done; echo hi`, "pty": true})
		}, eof},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(test.name, "cell") {
				testenv.NeedsTool(t, "python3")
			}
			mark := markOf(t)
			p := startPeer(t, peerOptions{env: []string{mark}})
			p.initialize(nil)
			id := p.session("auto")
			test.begin(p, id)
			sleeps := false
			for _, line := range marked(t, mark) {
				sleeps = sleeps || strings.Contains(line, "sleep 600")
			}
			if !sleeps {
				t.Fatalf("there is no process to end: %v", marked(t, mark))
			}
			test.end(p, id)
			wantOnlyGjc(t, mark)
			p.stopped()
		})
	}
}

// A command gets a signal and time to react before it is killed, and so do its children.
func TestCommandsEnd_AreAsked(t *testing.T) {
	t.Parallel()
	const line = `bash -c 'trap "echo got > t1; exit" TERM; echo re""ady; while :; do sleep 0.1; done'`
	ready := func(p *peer) {
		p.until("the output", func(m message) bool { return strings.Contains(m.line, "ready") })
	}
	for _, test := range []struct {
		name string
		end  func(p *peer, id string)
	}{
		{"timeout", func(p *peer, id string) {
			if output := p.does(id, "bash", object{"command": line, "timeout": 1}); !strings.Contains(output, "Command timed out after 1 second\"") {
				t.Errorf("got %s", output)
			}
		}},
		{"cancel", func(p *peer, id string) {
			prompt := p.tool(id, "bash", object{"command": line})
			ready(p)
			p.notify("session/cancel", object{"sessionId": id})
			p.answer(prompt)
		}},
		{"job", func(p *peer, id string) {
			p.does(id, "bash", object{"command": strings.Replace(line, "echo re", "touch up; echo re", 1), "async": true})
			p.does(id, "bash", object{"command": "until test -e up; do sleep 0.01; done"})
			p.does(id, "job", object{"cancel": []string{"job-1"}})
		}},
		{"end of gjc", func(p *peer, id string) {
			p.tool(id, "bash", object{"command": line})
			ready(p)
			if err := p.stdin.Close(); err != nil {
				t.Error(err)
			}
			p.exits()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := startPeer(t, peerOptions{})
			p.initialize(nil)
			test.end(p, p.session("auto"))
			if got, err := os.ReadFile(filepath.Join(p.work, "t1")); string(got) != "got\n" {
				t.Errorf("the command was not asked: %q, %v", got, err)
			}
			p.stopped()
		})
	}
}
