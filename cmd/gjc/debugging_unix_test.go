//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// alive checks that a child of the test runs.
func alive(p *os.Process) bool { return p.Signal(syscall.Signal(0)) == nil }

// program starts a program of the project, which waits to be attached to.
func program(t *testing.T, path string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(path, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func TestDebugger_AttachToGo(t *testing.T) {
	t.Parallel()
	a := goAdapter()
	mark := markOf(t)
	h := a.start(t, mark)
	cmd := program(t, filepath.Join(h.work, "bank"), "wait")
	pid := strconv.Itoa(cmd.Process.Pid)
	h.do(t, does("attach pid="+pid, "Adapter: dlv", "Session: debug-1"))
	h.do(t, does("threads", "1: [Go 1] time.Sleep"))
	h.do(t, does("terminate", "Debug session terminated."))
	if !alive(cmd.Process) {
		t.Error("the program that was attached to has gone with the debug session")
	}
	// Attach to a debugger that another process has started.
	port := strconv.Itoa(testenv.FreePort(t))
	server := exec.Command(testenv.NeedsDelve(t), "attach", pid, "--headless", "--accept-multiclient", "--listen=127.0.0.1:"+port)
	out, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Stdout = server.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	_, _ = bufio.NewReader(out).ReadString('\n') // it is listening
	h.do(t, does("attach adapter=dlv port="+port, "Session: debug-2"))
	h.do(t, does("terminate", "Debug session terminated."))
	h.do(t, fails("attach adapter=dlv port=1", "cannot reach a debug adapter at 127.0.0.1:1"))
	// gjc's end releases an attached program, too.
	_ = server.Process.Kill()
	_ = server.Wait()
	h.do(t, does("attach pid="+pid, "Session: debug-", "Location: main.go:42"))
	h.stop()
	wantNoneLeft(t, mark)
	if !alive(cmd.Process) {
		t.Error("the program that was attached to has gone with gjc")
	}
}

// A core file is inspected where the program died, and not run.
func TestDebugger_CoreOfGo(t *testing.T) {
	t.Parallel()
	a := goAdapter()
	mark := markOf(t)
	h := a.start(t, mark)
	writeFile(t, filepath.Join(h.work, "dump.txt"), "break main.greet\ncontinue\ndump core.bank\nexit\n")
	cmd := exec.CommandContext(t.Context(), testenv.NeedsDelve(t), "exec", "./bank", "--init", "dump.txt", "--allow-non-terminal-interactive=true")
	cmd.Dir = h.work
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(h.work, "core.bank")); err != nil {
		testenv.Skip(t, "dlv makes no core file here: %v", err)
	}
	h.do(t, does("launch program=bank core=core.bank", "Adapter: dlv", "Status: stopped"))
	h.do(t, does("threads", "main.greet"))
	h.do(t, does("inspect", "#0 "))
	h.do(t, does("terminate", "Debug session terminated."))
	h.stop()
	wantNoneLeft(t, mark)
}
