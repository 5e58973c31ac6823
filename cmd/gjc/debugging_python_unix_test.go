//go:build unix

package main

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/testenv"
)

// pythonDebuggee waits for a debugger and then runs the bank.
const pythonDebuggee = `import sys

import debugpy

debugpy.listen(("127.0.0.1", int(sys.argv[1])))
print("listens", flush=True)
debugpy.wait_for_client()

import bank

bank.main("wait")
`

func TestDebugger_AttachToPython(t *testing.T) {
	t.Parallel()
	a := pythonAdapter()
	python := testenv.NeedsDebugpy(t)
	mark := markOf(t)
	h := a.start(t, mark)
	writeFile(t, filepath.Join(h.work, "serve.py"), pythonDebuggee)
	port := strconv.Itoa(testenv.FreePort(t))
	cmd := exec.Command(python, "serve.py", port)
	cmd.Dir = h.work
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started(t, cmd)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "listens\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	h.all(t, []debugStep{
		does("set_breakpoint file=bank.py line=17"),
		does("attach adapter=debugpy timeout=120 port="+port, "Session: debug-1", "Location: bank.py:17", "- sum = 30 (int)"),
		does("continue timeout=5", "Program is still running after 5s."),
		does("pause timeout=120", "Program paused at "),
		does("evaluate expression=1+1", "Result: 2"),
		fails("restart", "restart of a program that was attached to"),
		does("terminate", "Debug session terminated."),
	})
	if !alive(cmd.Process) {
		t.Error("the program that was attached to has gone with the debug session")
	}
	h.stop()
	wantNoneLeft(t, mark)
}

// The debugger listens, and the program connects.
func TestDebugger_ListenForPython(t *testing.T) {
	t.Parallel()
	a := pythonAdapter()
	python := testenv.NeedsDebugpy(t)
	mark := markOf(t)
	e := startDebugEditor(t, &debugEditorOptions{files: a.files, env: append(a.env(t), mark)})
	port := strconv.Itoa(testenv.FreePort(t))
	e.do(t, does("set_breakpoint file=bank.py line=17"))
	from, ended := e.later("!debug attach adapter=debugpy listen=true timeout=300 port=" + port)
	var cmd *exec.Cmd
	for waits := true; waits; {
		// A program that connects before the debugger listens ends by itself.
		cmd = exec.Command(python, "-m", "debugpy", "--connect", "127.0.0.1:"+port, "bank.py", "wait")
		cmd.Dir = e.work
		gone := started(t, cmd)
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			waits = false
		case <-gone:
		}
	}
	if call := outcomeOf(e.Updates(e.id)[from:]).only(t); call.Status != "completed" {
		t.Errorf("the call ends with %+v", call)
	}
	e.all(t, []debugStep{
		does("evaluate expression=sum", "Result: 30"),
		does("terminate", "Debug session terminated."),
	})
	if !alive(cmd.Process) {
		t.Error("the program that connected has gone with the debug session")
	}
	e.stop()
	wantNoneLeft(t, mark)
}

// started starts a program of the test; the channel is closed when it has ended.
func started(t *testing.T, cmd *exec.Cmd) <-chan struct{} {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(gone)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-gone
	})
	return gone
}

// The terminal is the editor's, if it has terminals.
func TestDebugger_PythonInEditorsTerminal(t *testing.T) {
	t.Parallel()
	a := pythonAdapter()
	mark := markOf(t)
	e := startDebugEditor(t, &debugEditorOptions{terminal: true, files: a.files, env: append(a.env(t), mark)})
	e.all(t, []debugStep{
		does(`launch {"program": "bank.py", "args": ["x y"], "terminal": true, "timeout": 120}`, "Stop reason: entry", "Location: bank.py:1"),
		does("run_to file=bank.py line=41 timeout=120", "stopped at bank.py:41", "- how = 'x y' (str)"),
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

// A test of pytest is run by its ID.
func TestDebugger_Pytest(t *testing.T) {
	t.Parallel()
	a := pythonAdapter()
	if err := exec.CommandContext(t.Context(), testenv.NeedsDebugpy(t), "-c", "import pytest").Run(); err != nil {
		testenv.Skip(t, "the Python that has debugpy has no pytest")
	}
	mark := markOf(t)
	h := a.start(t, mark)
	h.all(t, []debugStep{
		does("set_breakpoint file=test_bank.py line=14"),
		does("launch program=test_bank.py::test_plain timeout=120", "Location: test_bank.py:14", "Frame: test_plain", "- got = 1 (int)"),
		does("terminate", "Debug session terminated."),
	})
	h.stop()
	wantNoneLeft(t, mark)
}
