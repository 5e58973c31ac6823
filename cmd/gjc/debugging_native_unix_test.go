//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
)

func TestDebugger_AttachToC(t *testing.T) {
	t.Parallel()
	a := cAdapter()
	mark := markOf(t)
	h := a.start(t, mark)
	cmd := exec.Command(filepath.Join(h.work, "bank"), "wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started(t, cmd)
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "waits" {
	}
	attach := "attach program=bank timeout=120 pid=" + strconv.Itoa(cmd.Process.Pid)
	text := h.do(t, does(attach, "Session: debug-1", "Adapter: lldb-dap").otherwise("ptrace_scope"))
	if !strings.Contains(text, "ptrace_scope") {
		h.all(t, []debugStep{
			does("pause timeout=120", "Frame: spin"),
			does("evaluate expression=turns>0", "Result: true"),
			does("terminate", "Debug session terminated."),
		})
	}
	if !alive(cmd.Process) {
		t.Error("the program that was attached to has gone with the debug session")
	}
	h.stop()
	wantNoneLeft(t, mark)
}

// A core file is inspected without the program.
func TestDebugger_CoreOfC(t *testing.T) {
	t.Parallel()
	a := cAdapter()
	mark := markOf(t)
	h := a.start(t, mark)
	save, err := json.Marshal(map[string]string{
		"expression": "`process save-core --plugin-name=minidump --style=full " + filepath.Join(h.work, "bank.core"), "context": "repl",
	})
	if err != nil {
		t.Fatal(err)
	}
	h.all(t, []debugStep{
		does(`launch {"program": "bank", "args": ["crash"], "stop_on_entry": false, "timeout": 120}`, "SIGSEGV", "Location: bank.c:31"),
		does("evaluate " + string(save)),
		does("terminate", "Debug session terminated."),
		fails("launch program=bank core=none.core", "none.core"),
		does("launch program=bank core=bank.core timeout=120", "Status: stopped"),
		does("stack_trace", "peek @ bank.c:31", "main @ bank.c:58"),
		does("terminate", "Debug session terminated."),
	})
	h.stop()
	wantNoneLeft(t, mark)
}

// The terminal is the editor's, if it has terminals.
func TestDebugger_CInEditorsTerminal(t *testing.T) {
	t.Parallel()
	a := cAdapter()
	mark := markOf(t)
	e := startDebugEditor(t, &debugEditorOptions{terminal: true, files: a.files, env: append(a.env(t), mark)})
	a.prepare(t, e.work)
	e.all(t, []debugStep{
		does("set_breakpoint file=bank.c line=55"),
		does(`launch {"program": "bank", "args": ["x y"], "terminal": true, "timeout": 120}`, "Location: bank.c:55", `- how = `, `"x y"`),
		does("continue timeout=120", "Program terminated with exit code 0.", "total 30"),
	})
	if n := len(received[acp.CreateTerminalRequest](e)); n != 1 {
		t.Errorf("%d terminals were created", n)
	}
	if n := e.OpenTerminals(); n != 0 {
		t.Errorf("%d terminals are left", n)
	}
	e.stop()
	wantNoneLeft(t, mark)
}
