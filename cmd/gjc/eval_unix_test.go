//go:build unix

package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// cells makes the offline model call eval.
func (p *peer) cells(session string, cells ...object) (prompt string) {
	p.t.Helper()
	for _, c := range cells {
		c["language"] = "py"
	}
	input, err := json.Marshal(object{"cells": cells})
	if err != nil {
		p.t.Fatal(err)
	}
	return p.prompt(session, "!mcp eval "+string(input))
}

// python runs cells to their end and returns the whole output.
func (p *peer) python(session string, cells ...object) string {
	p.t.Helper()
	m, before := p.answer(p.cells(session, cells...))
	if m.Error != nil {
		p.t.Fatal(m.line)
	}
	return strings.Join(lines(before), "\n")
}

// A session's interpreter: cells and their state for later cells, an error, a cell that takes too long, a cancelled
// cell, two sessions, and no process after the editor closes the pipe.
func TestEval_Host(t *testing.T) {
	t.Parallel()
	testenv.NeedsTool(t, "python3")
	mark := markOf(t)
	p := startPeer(t, peerOptions{env: []string{mark}})
	p.initialize(nil)
	id := p.session("auto")
	if output := p.python(id, object{"code": "x = 40\nprint('first')"}, object{"code": "x + 2"}); !strings.Contains(output, `first\n42`) || !strings.Contains(output, `"completed"`) {
		t.Errorf("two cells: %s", output)
	}
	if output := p.python(id, object{"code": "def f():\n    return x / 0"}, object{"code": "f()"}, object{"code": "x = 'run'"}); !strings.Contains(output, "ZeroDivisionError") ||
		!strings.Contains(output, "Cell 2 of 3 failed. 1 cell after it did not run.") || !strings.Contains(output, `"failed"`) {
		t.Errorf("an error: %s", output)
	}
	if output := p.python(id, object{"code": "import time\ntime.sleep(1000)", "timeout": 1}); !strings.Contains(output, "The cell timed out after 1 second and was interrupted.") {
		t.Errorf("too long: %s", output)
	}
	prompt := p.cells(id, object{"code": "print('go' + 'ing', flush=True)\ntime.sleep(1000)", "timeout": 600})
	p.until("the cell's output", func(m message) bool { return strings.Contains(m.line, "going") })
	p.notify("session/cancel", object{"sessionId": id})
	if m, before := p.answer(prompt); !strings.Contains(m.line, `"cancelled"`) {
		t.Errorf("cancelled: %s\n%s", m.line, strings.Join(lines(before), "\n"))
	}
	if output := p.python(id, object{"code": "x + 3"}); !strings.Contains(output, "43") {
		t.Errorf("the state: %s", output)
	}
	other := p.session("auto")
	if output := p.python(other, object{"code": "x"}); !strings.Contains(output, "NameError") {
		t.Errorf("another session's state: %s", output)
	}
	p.python(id, object{"code": "import subprocess\nsubprocess.Popen(['sleep', '1000'])"}) // which does not end by itself
	p.stop()
	wantNoneLeft(t, mark)
}

// The user sees all of the code before it runs, and none of it runs in plan mode.
func TestEval_Asks(t *testing.T) {
	t.Parallel()
	testenv.NeedsTool(t, "python3")
	p := startPeer(t, peerOptions{})
	p.initialize(nil)
	id := p.session("default")
	cells := []object{{"code": "open('made', 'w')"}, {"code": "1 + 1"}}
	prompt := p.cells(id, cells...)
	ask := p.called("session/request_permission")
	if !strings.Contains(ask.line, "open('made', 'w')") || !strings.Contains(ask.line, "1 + 1") {
		t.Errorf("the question: %s", ask.line)
	}
	p.reply(ask, `{"outcome":{"outcome":"selected","optionId":"reject_once"}}`)
	p.answer(prompt)
	p.call("session/set_mode", object{"sessionId": id, "modeId": "plan"})
	p.python(id, cells...)
	if found, err := filepath.Glob(filepath.Join(p.work, "made")); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
	p.stop()
}
