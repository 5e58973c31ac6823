package main

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/dap/daptest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// Invalid calls fail with advice; the session and the debugger continue.
func TestDebugger_BadInput(t *testing.T) {
	t.Parallel()
	a := goAdapter()
	files := map[string]string{
		"docs/a.txt": "no package\n", "script.sh": "#!/bin/sh\necho\n", "broken/main.go": "package main\n\nfunc main() { nothing() }\n",
		"only/a_test.go": "package only\n",
	}
	maps.Copy(files, a.files)
	e := startDebugEditor(t, &debugEditorOptions{env: a.env(t), files: files})
	a.prepare(t, e.work)
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", "stripped", ".")
	build.Dir = e.work
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, step := range []debugStep{
		// The program.
		fails("launch", "program (or configuration) is required for launch"),
		fails("launch program=missing.go", "launch program not found", "missing.go"),
		fails("launch program=man.go", "man.go", "main.go"), // did you mean
		fails("launch program=docs", "docs"),
		fails("launch program=docs/a.txt adapter=dlv", "a.txt"),
		fails("launch program=only mode=debug", "mode test"),
		fails("launch program=bank mode=debug", "bank is not a Go source file; mode exec debugs a binary"),
		fails("launch program=main.go mode=exec", "mode debug builds it first"),
		fails("launch program=main.go mode=fast", `unknown mode "fast"; dlv has debug`),
		fails("launch program=broken timeout=120", "undefined: nothing", "Fix the compiler errors and launch again"),
		fails("launch program=main.go cwd=nowhere", "working directory does not exist"),
		fails("launch program=main.go cwd=go.mod", "is not a directory"),
		fails("launch program=bank core=core.1", "core.1"),
		fails("launch program=main.go adapter=dlw", `Unknown debugger adapter "dlw". Did you mean "dlv"?`),
		fails(`launch {"program": "main.go", "env": {"A=B": "x"}}`, "A=B"),
		fails(`launch {"program": "main.go", "args": ["a\u0000b"]}`, "NUL byte"),
		fails(`launch {"program": "main.go", "arguments": "text"}`, "arguments must be a JSON object"),
		fails(`launch {"program": "main.go", "arguments": "{"}`, "arguments"),
		// The tool's own input.
		fails("dance", `unknown action "dance"; the actions are launch, attach`),
		fails(`launch {"program": 7}`, "program"),
		fails(`launch {"program": "main.go", "args": "-v"}`, "args"),
		fails(`launch {"program": "main.go", "stop_on_entry": "yes"}`, "stop_on_entry"),
		fails(`stack_trace {"levels": -1}`, "must not be negative"),
		fails(`stack_trace {"levels": 1.5}`, "levels"),
		fails(`stack_trace {"levels": 99999999999999999999}`, "levels"),
		fails(`launch {"programm": "main.go"}`, "programm"),
		fails(`set_breakpoint {"file": "main.go", "line": -3}`, "must not be negative"),
		fails("set_breakpoint file=main.go", "file and line, or function, is required for set_breakpoint"),
		fails("stack_trace", "no active debug session"),
		fails("evaluate expression=x", "no active debug session"),
		// Attaching.
		fails("attach", "pid or port (or configuration) is required for attach"),
		fails("attach pid=-1", "no process or port has that number"),
		fails("attach port=70000", "no process or port has that number"),
		fails("attach pid=1 port=1", "give either pid or port"),
		fails("attach adapter=dlv listen=true port=1", "listen"),
		// A configuration.
		fails("launch configuration=x", `No configuration "x" in .vscode/launch.json`),
	} {
		e.do(t, step)
	}
	e.do(t, debugStep{do: "sessions", not: []string{"Status: stopped", "Status: running", "Status: launching"}})
	if n := len(e.asked()); n > 3 {
		for _, q := range e.asked() {
			t.Log(q.ToolCall.Title.Or(""))
		}
		t.Errorf("the user is asked %d times about what can not be", n)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(filepath.Join(e.work, "bank"), 0o600); err != nil {
			t.Fatal(err)
		}
		e.do(t, fails("launch program=bank mode=exec", "executable"))
		if err := os.Chmod(filepath.Join(e.work, "bank"), 0o700); err != nil { //nolint:gosec // it has to run
			t.Fatal(err)
		}
	}
	e.do(t, debugStep{
		do: "launch program=stripped mode=exec", fails: true, want: []string{"The program has no debug information: build it with -g"},
		or: &debugStep{want: []string{"The program has no debug information: build it with -g"}},
	})
	e.do(t, does("terminate"))

	// In a session.
	e.do(t, does("set_breakpoint file=main.go line=2", "line 2"))
	text := e.do(t, does("launch program=bank mode=exec stop_on_entry=true", "Stop reason: entry"))
	if !strings.Contains(text, "main.go line 2") {
		t.Errorf("nothing is said of the breakpoint that is on no code:\n%s", text)
	}
	for _, step := range []debugStep{
		does("remove_breakpoint file=main.go line=2"),
		{do: "set_breakpoint file=main.go line=22", want: []string{"line 2"}},
		fails("run_to file=main.go line=5000", "no loaded code at main.go:5000"),
		fails("run_to file=elsewhere.go line=5", "elsewhere.go"),
		does("run_to file=main.go line=19", "main.go:19"),
		fails("evaluate expression=nobody", "could not find symbol", "nobody"),
		fails("evaluate expression=sum.x", "sum"),
		fails("evaluate expression=sum frame_id=77777", "frame"),
		fails("evaluate {\"expression\": \"sum +\"}", "sum +"),
		fails("variables variable_ref=-1", "variable"),
		fails("variables variable_ref=123456", "variables reference 123456: invalid handle"),
		fails("set_variable variable_ref=123456 name=sum value=1", "123456"),
		{do: "step_over thread=98765", want: []string{"unknown goroutine 98765"}},
		fails("custom_request command=nothingLikeIt", "nothingLikeIt"),
		fails("read_memory memory_reference=zzz count=4", "unknown memoryReference", "use one of those"),
		fails("write_memory memory_reference=0x1000 data=%%%", "base64"),
		fails("set_exception_breakpoints filters=[\"nothing\"]", `no exception filter "nothing"`),
		fails(`disassemble {"instruction_count": -5}`, "must not be negative"),
		{do: `stack_trace {"levels": 1000000}`, want: []string{"main.total"}},
		{do: `inspect {"depth": 1000}`, want: []string{"main.total"}},
		{do: `stack_trace {"offset": 1000000}`, fails: true, or: &debugStep{}},
		{do: `stack_trace timeout=0.001`, want: []string{"The timeout was set to 5 seconds"}},
		fails(`step_in target=99`, "step-in targets"),
		fails("goto_targets file=main.go line=20", "does not support"),
	} {
		e.do(t, step)
	}
	// A second launch of the same program is another session.
	e.do(t, does("launch program=bank mode=exec stop_on_entry=true", "Session: debug-", "Stop reason: entry"))
	e.do(t, does("terminate", "terminated"))
	// While the program runs.
	e.do(t, does(`launch {"program": "bank", "args": ["wait"], "stop_on_entry": false, "timeout": 5}`, "Status: running"))
	for _, do := range []string{
		"stack_trace", "scopes", "inspect", "step_over", "evaluate expression=x", "run_to file=main.go line=42", "exception_info", "source", "variables variable_ref=1",
	} {
		e.do(t, fails(do, "pause"))
	}
	e.do(t, does("threads", ""))
	e.do(t, does("terminate", "terminated"))
	e.alive(e.id)
	e.stop()
}

// Breakpoints survive a program that does not build: they are set once it does.
func TestDebugger_BreakpointsOutliveAFailedLaunch(t *testing.T) {
	t.Parallel()
	a := goAdapter()
	e := startDebugEditor(t, &debugEditorOptions{env: a.env(t), files: a.files})
	main := filepath.Join(e.work, "main.go")
	writeFile(t, main, goProgram+"\nfunc broken() { nothing() }\n")
	e.do(t, does("set_breakpoint file=main.go line=19 condition=i==1"))
	e.do(t, fails("launch program=. timeout=120", "undefined: nothing"))
	writeFile(t, main, goProgram)
	e.do(t, does("breakpoints", "line 19"))
	e.do(t, does("launch program=. timeout=120", "Stop reason: breakpoint", "Location: main.go:19", "i = 1"))
	e.do(t, does("terminate", "terminated"))
	e.stop()
}

// An adapter that is not installed is named, with a command that installs it.
func TestDebugger_NotInstalled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process needs its system's directories in PATH there")
	}
	e := startDebugEditor(t, &debugEditorOptions{env: []string{"PATH=" + t.TempDir(), "GOPATH=" + t.TempDir(), "GOBIN=" + t.TempDir()}, files: map[string]string{
		"go.mod": "module example.test/none\n", "main.go": "package main\n\nfunc main() {}\n", "a.py": "print(1)\n", "a.js": "1\n", "a.rb": "1\n",
	}})
	for program, part := range map[string]string{
		"main.go": "go install github.com/go-delve/delve/cmd/dlv", "a.py": "python3-debugpy", "a.js": "js-debug", "a.rb": "debug",
	} {
		e.silent(t, fails("launch program="+program, "No debugger adapter available", part))
	}
	e.silent(t, fails("launch program=main.go adapter=dlv", "dlv cannot be used", "go install github.com/go-delve/delve/cmd/dlv"))
	if o := e.prompt(e.id, "/debug"); !strings.Contains(o.words, "go install github.com/go-delve/delve/cmd/dlv") {
		t.Errorf("/debug does not say how to install dlv:\n%s", o.words)
	}
	e.stop()
}

// Unused ports, ports in use and ports of servers with another protocol make no call hang.
func TestDebugger_BadPorts(t *testing.T) {
	t.Parallel()
	e := startDebugEditor(t, &debugEditorOptions{env: goAdapter().env(t), files: goAdapter().files})
	port := strconv.Itoa(testenv.FreePort(t))
	e.do(t, fails("attach adapter=dlv port="+port, "cannot reach a debug adapter at 127.0.0.1:"+port, "start the program with its debug server first"))
	e.do(t, fails("attach adapter=dlv host=256.256.256.256 port="+port, "256.256.256.256"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	silent := fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	// It accepts the connection and sends nothing.
	e.do(t, fails("attach adapter=dlv timeout=5 port="+silent, "timed out after 5s"))
	rude, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rude.Close() }()
	go func() {
		for {
			conn, err := rude.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\nnot here"))
			_ = conn.Close()
		}
	}()
	e.do(t, fails("attach adapter=dlv timeout=5 port="+fmt.Sprint(rude.Addr().(*net.TCPAddr).Port), "127.0.0.1"))
	e.do(t, does("sessions", "No debug sessions."))
	e.alive(e.id)
	e.stop()
}

// If an adapter does not answer, each call ends in its time limit, and the session can be ended.
func TestDebugger_SilentAdapters(t *testing.T) {
	t.Parallel()
	for silent, do := range map[string]string{
		"initialize": "", "launch": "", "configurationDone": "pause", "stackTrace": "", "evaluate": "evaluate expression=line", "next": "step_over", "disconnect": "",
	} {
		t.Run(silent, func(t *testing.T) {
			t.Parallel()
			e, p := startFake(t, new(debugEditorOptions), nil)
			p.Handle(silent, func(*daptest.Request) {})
			either := &debugStep{fails: true}
			e.do(t, does("set_breakpoint file=main.x line=3"))
			e.do(t, debugStep{do: "launch program=main.x timeout=5", or: either})
			if do != "" {
				e.do(t, debugStep{do: do + " timeout=5", or: either})
			}
			e.do(t, debugStep{do: "terminate timeout=5", or: either})
			e.do(t, debugStep{do: "sessions", not: []string{"Status: running", "Status: stopped", "Status: launching", "Status: configuring"}})
			e.alive(e.id)
			e.stop()
		})
	}
}

// A port that is in use is reported, with advice.
func TestDebugger_PortIsTaken(t *testing.T) {
	t.Parallel()
	python := testenv.NeedsDebugpy(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	path := filepath.Dir(python) + string(os.PathListSeparator) + os.Getenv("PATH")
	e := startDebugEditor(t, &debugEditorOptions{env: []string{"PATH=" + path}, files: map[string]string{"a.py": "print(1)\n"}})
	port := fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)
	e.do(t, fails("attach adapter=debugpy listen=true timeout=60 port="+port, "The port is in use: give another one, or stop the program that uses it"))
	e.do(t, debugStep{do: "sessions", not: []string{"Status: running", "Status: launching"}})
	e.stop()
}
