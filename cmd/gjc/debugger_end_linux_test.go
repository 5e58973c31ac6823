package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/dap/daptest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// forks is a program that starts a process in a session of its own, whose parent has ended, and waits.
const forks = `package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "middle" {
		cmd := exec.Command("/bin/sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		return
	}
	if err := exec.Command(os.Args[0], "middle").Run(); err != nil {
		panic(err)
	}
	fmt.Println("it has forked")
	for {
		time.Sleep(time.Hour)
	}
}
`

func forkingProgram() map[string]string {
	return map[string]string{"go.mod": "module example.test/forks\n\ngo 1.26\n", "main.go": forks}
}

// debugState is a point in the life of a debug session.
type debugState struct {
	name string
	// start starts gjc and brings it to this state. It returns the end of the turn, if one is running.
	start func(t *testing.T, mark string) (*debugEditor, <-chan error)
	// adapter is a part of the adapter's command line.
	adapter string
	// sleeps is set if the program has started another process.
	sleeps bool
}

func debugStates() []debugState {
	dlv := func(t *testing.T, mark string, more ...string) *debugEditor {
		t.Helper()
		return startDebugEditor(t, &debugEditorOptions{env: append(append(goAdapter().env(t), mark), more...), files: forkingProgram()})
	}
	fake := func(silent string) func(t *testing.T, mark string) (*debugEditor, <-chan error) {
		return func(t *testing.T, mark string) (*debugEditor, <-chan error) {
			t.Helper()
			e, p := startFake(t, &debugEditorOptions{env: []string{mark}}, map[string]any{"args": []string{"played"}})
			seen := make(chan struct{})
			p.Handle(silent, func(*daptest.Request) { close(seen) })
			p.Reply("configurationDone", nil)
			_, ended := e.later("!debug launch program=main.x timeout=120")
			select {
			case <-seen:
			case <-e.ctx.Done():
				t.Fatalf("no %s comes", silent)
			}
			p.Spawn()
			awaitMarked(e, mark, "sleep")
			return e, ended
		}
	}
	return []debugState{
		{name: "stopped", adapter: "dlv", sleeps: true, start: func(t *testing.T, mark string) (*debugEditor, <-chan error) {
			e := dlv(t, mark)
			e.do(t, does("set_breakpoint file=main.go line=25"))
			e.do(t, does("launch program=. timeout=120", "Location: main.go:25"))
			return e, nil
		}},
		{name: "running", adapter: "dlv", sleeps: true, start: func(t *testing.T, mark string) (*debugEditor, <-chan error) {
			e := dlv(t, mark)
			e.do(t, does("set_breakpoint file=main.go line=25"))
			e.do(t, does("launch program=. timeout=120", "Location: main.go:25"))
			e.do(t, does("continue timeout=5", "still running"))
			return e, nil
		}},
		{name: "waiting", adapter: "dlv", sleeps: true, start: func(t *testing.T, mark string) (*debugEditor, <-chan error) {
			e := dlv(t, mark)
			e.do(t, does("launch program=. timeout=120", "Stop reason: entry"))
			from, ended := e.later("!debug continue timeout=120")
			e.shows(t, from, "it has forked")
			return e, ended
		}},
		{name: "building", adapter: "dlv", start: func(t *testing.T, mark string) (*debugEditor, <-chan error) {
			bin := t.TempDir()
			script := "#!/bin/sh\nsleep 1001 & exec sleep 1002\n"
			if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil { //nolint:gosec // it has to run
				t.Fatal(err)
			}
			env := goAdapter().env(t)
			i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
			e := dlv(t, mark, "PATH="+bin+string(os.PathListSeparator)+strings.TrimPrefix(env[i], "PATH="))
			_, ended := e.later("!debug launch program=. timeout=120")
			awaitMarked(e, mark, "sleep 1001")
			return e, ended
		}},
		{name: "initialize hangs", adapter: "played", sleeps: true, start: fake("initialize")},
		{name: "launch hangs", adapter: "played", sleeps: true, start: fake("launch")},
	}
}

// awaitMarked waits until the command line of a process with a mark contains a text.
func awaitMarked(e *debugEditor, mark, part string) {
	e.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, line := range marked(e.t, mark) {
			if strings.Contains(line, part) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-e.ctx.Done():
			e.t.Fatalf("there is no %s in %v", part, marked(e.t, mark))
		}
	}
}

// over waits for the end of a turn, if there is one.
func over(t *testing.T, turn <-chan error) {
	t.Helper()
	if turn == nil {
		return
	}
	limit := time.NewTimer(hang)
	defer limit.Stop()
	select {
	case err := <-turn:
		if err != nil {
			t.Errorf("the turn ends with %v", err)
		}
	case <-limit.C:
		t.Fatal("the turn hangs")
	}
}

// However and whenever a debug session ends, no process of the program's tree remains, and gjc continues, or ends in
// time.
func TestDebugger_NothingIsLeft(t *testing.T) {
	t.Parallel()
	ends := []struct {
		name string
		// turn is set for states with a running turn, idle for those without.
		turn, idle bool
		end        func(t *testing.T, e *debugEditor, s *debugState, mark string, turn <-chan error)
	}{
		{"terminate", false, true, func(t *testing.T, e *debugEditor, _ *debugState, mark string, _ <-chan error) {
			e.do(t, does("terminate", "Debug session terminated."))
			wantOnlyGjc(t, mark)
			e.stop()
		}},
		{"debug stop", false, true, func(t *testing.T, e *debugEditor, _ *debugState, mark string, _ <-chan error) {
			if o := e.prompt(e.id, "/debug stop"); !strings.Contains(o.words, "was ended") {
				t.Errorf("/debug stop: %s", o.words)
			}
			wantOnlyGjc(t, mark)
			e.stop()
		}},
		{"cancel", true, false, func(t *testing.T, e *debugEditor, _ *debugState, mark string, turn <-chan error) {
			if err := acp.MethodSessionCancel.Notify(e.ctx, e.Conn, &acp.CancelNotification{SessionID: e.id}); err != nil {
				t.Fatal(err)
			}
			over(t, turn)
			wantOnlyGjc(t, mark)
			if text := e.do(t, does("sessions")); !strings.Contains(text, "Status: terminated") && !strings.Contains(text, "No debug sessions.") {
				t.Errorf("after the cancelled turn:\n%s", text)
			}
			e.alive(e.id)
			e.stop()
		}},
		{"close", true, true, func(t *testing.T, e *debugEditor, _ *debugState, mark string, turn <-chan error) {
			e.close(e.id)
			over(t, turn)
			wantOnlyGjc(t, mark)
			e.alive(e.open())
			e.stop()
		}},
		{"EOF", true, true, func(t *testing.T, e *debugEditor, _ *debugState, _ string, _ <-chan error) {
			e.stop()
		}},
		{"TERM", true, true, func(t *testing.T, e *debugEditor, _ *debugState, _ string, _ <-chan error) {
			begin := time.Now()
			if err := unix.Kill(e.Process.PID(), unix.SIGTERM); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(e.ctx, hang)
			defer cancel()
			state, err := e.Process.Wait(ctx)
			if err != nil || !state.Success() {
				t.Errorf("gjc ended with %v, %v", state, err)
			}
			wantExitInTime(t, time.Since(begin))
		}},
		{"adapter killed", true, true, func(t *testing.T, e *debugEditor, s *debugState, mark string, turn <-chan error) {
			killMarked(t, mark, s.adapter)
			over(t, turn)
			e.do(t, debugStep{do: "sessions", until: "", or: &debugStep{fails: true}})
			wantOnlyGjc(t, mark)
			e.do(t, fails("stack_trace"))
			e.alive(e.id)
			e.stop()
		}},
	}
	slots := make(chan struct{}, 4)
	for _, s := range debugStates() {
		for _, end := range ends {
			if inTurn := s.name != "stopped" && s.name != "running"; inTurn && !end.turn || !inTurn && !end.idle {
				continue
			}
			t.Run(s.name+"/"+end.name, func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				mark := markOf(t)
				t.Cleanup(func() { wantNoneLeft(t, mark) }) // also after a failure that killed gjc
				e, turn := s.start(t, mark)
				if s.sleeps {
					awaitMarked(e, mark, "sleep 1000")
				}
				end.end(t, e, &s, mark, turn)
			})
		}
	}
}

// Processes that a program has started in a terminal, the editor's or gjc's, end with the debug session too.
func TestDebugger_NothingIsLeftInTerminals(t *testing.T) {
	t.Parallel()
	setsid := testenv.NeedsTool(t, "setsid")
	for _, terminal := range []bool{true, false} {
		for _, end := range []string{"terminate", "close", "adapter killed", "EOF"} {
			t.Run(fmt.Sprintf("editor %v/%s", terminal, end), func(t *testing.T) {
				t.Parallel()
				// The editor's own children are found by the variable that the adapter gives them.
				mark := markOf(t)
				t.Cleanup(func() { wantNoneLeft(t, mark) })
				e, p := startFake(t, &debugEditorOptions{terminal: terminal}, map[string]any{"args": []string{"played"}})
				name, value, _ := strings.Cut(mark, "=")
				p.Handle("launch", func(r *daptest.Request) {
					answer := p.AskLater("runInTerminal", map[string]any{
						"cwd": e.work, "env": map[string]any{name: value},
						"args": []string{"/bin/sh", "-c", `("$0" sleep 1000 </dev/null >/dev/null 2>&1 &); sleep 1001`, setsid},
					})
					go func() {
						<-answer
						r.Respond(nil)
					}()
				})
				e.do(t, does("launch program=main.x terminal=true", "Status: stopped"))
				awaitMarked(e, mark, "sleep 1000")
				awaitMarked(e, mark, "sleep 1001")
				switch end {
				case "terminate":
					e.do(t, does("terminate", "Debug session terminated."))
					wantNoneLeft(t, mark)
				case "close":
					e.close(e.id)
					wantNoneLeft(t, mark)
				case "adapter killed":
					p.Exit(9)
					e.do(t, debugStep{do: "sessions", until: "Status: terminated"})
					wantNoneLeft(t, mark)
				case "EOF": // the editor ends its own terminals
					begin := time.Now()
					ctx, cancel := context.WithTimeout(e.ctx, hang)
					defer cancel()
					if state, err := e.Stop(ctx); err != nil || !state.Success() {
						t.Errorf("gjc ended with %v, %v", state, err)
					}
					wantExitInTime(t, time.Since(begin))
					return
				}
				e.stop()
			})
		}
	}
}

// Like commands, the program does not get the user's keys.
func TestDebugger_EnvironmentIsScrubbed(t *testing.T) {
	t.Parallel()
	mark := markOf(t)
	keys := []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GJC_OWN_TOKEN"}
	env := append(goAdapter().env(t), mark, "PLAIN_VALUE=plain-value")
	for _, k := range keys {
		env = append(env, k+"=secret-of-"+k)
	}
	e := startDebugEditor(t, &debugEditorOptions{env: env, files: map[string]string{
		"go.mod": "module example.test/env\n\ngo 1.26\n",
		"main.go": `package main

import (
	"fmt"
	"os"
)

func main() {
	for _, kv := range os.Environ() {
		fmt.Println(kv)
	}
	fmt.Println("that is all")
}
`,
	}})
	e.prompt(e.id, "/model offline/demo") // with a key there are other models
	if o := e.prompt(e.id, "!bash env"); strings.Contains(o.only(t).Text, "secret-of-") {
		t.Fatal("commands have a key")
	}
	e.do(t, does("set_breakpoint file=main.go line=12"))
	e.do(t, does(`launch {"program": ".", "timeout": 300, "env": {"FROM_CALL": "from-call"}}`, "Location: main.go:12"))
	text := e.do(t, does("output", "plain-value", "from-call"))
	for _, k := range keys {
		if strings.Contains(text, "secret-of-"+k) {
			t.Errorf("the program has %s", k)
		}
	}
	for pid, line := range marked(t, mark) {
		if isGjc(line) {
			continue
		}
		environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil && strings.Contains(string(environ), "secret-of-") {
			t.Errorf("process %d has a key: %s", pid, line)
		}
	}
	e.do(t, does("terminate", "terminated"))
	e.stop()
	wantNoneLeft(t, mark)
}

// Processes of other users cannot be attached to; missing processes are reported.
func TestDebugger_ForeignProcess(t *testing.T) {
	t.Parallel()
	e := startDebugEditor(t, &debugEditorOptions{env: goAdapter().env(t), files: forkingProgram()})
	dead := exec.Command(testenv.NeedsTool(t, "true"))
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	before := len(e.asked())
	pid := strconv.Itoa(dead.Process.Pid)
	e.do(t, fails("attach adapter=dlv pid="+pid, "there is no process "+pid))
	e.do(t, fails("attach adapter=dlv pid=2147483646", "there is no process 2147483646"))
	gjc := strconv.Itoa(e.Process.PID())
	e.do(t, fails("attach adapter=dlv pid="+gjc, "process "+gjc+" is gjc itself"))
	if pid := foreignProcess(t); pid != "" {
		e.do(t, fails("attach adapter=dlv pid="+pid, "process "+pid+" belongs to another user"))
		// They cannot be attached to indirectly either.
		own := sleeping(t, nil)
		e.do(t, fails(fmt.Sprintf(`attach {"adapter": "dlv", "pid": %d, "arguments": {"processId": %s}}`, own, pid), "belongs to another user"))
		writeFile(t, filepath.Join(e.work, ".vscode", "launch.json"), fmt.Sprintf(
			`{"configurations": [{"name": "Theirs", "type": "go", "request": "attach", "mode": "local", "processId": %s}]}`, pid,
		))
		e.do(t, fails("attach configuration=Theirs", "belongs to another user"))
	}
	if n := len(e.asked()); n != before {
		t.Errorf("the user is asked %d times about what can not be", n-before)
	}
	e.stop()
}

// foreignProcess returns the ID of a process of another user: root starts one; other users take one of the machine's
// that none of the test's processes descends from. It returns "" if there is none, as in some containers.
func foreignProcess(t *testing.T) (pid string) {
	t.Helper()
	if os.Getuid() == 0 {
		const nobody = 65534
		return strconv.Itoa(sleeping(t, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}))
	}
	ancestors := make(map[string]bool)
	for pid := os.Getpid(); pid > 0; {
		ancestors[strconv.Itoa(pid)] = true
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		// pid (name) state ppid …; the name may contain anything.
		if pid, err = strconv.Atoi(strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[1]); err != nil {
			t.Fatal(err)
		}
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err == nil && int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() && !ancestors[filepath.Base(dir)] {
			return filepath.Base(dir)
		}
	}
	return ""
}

// sleeping starts a process that sleeps until the test ends.
func sleeping(t *testing.T, attr *syscall.SysProcAttr) (pid int) {
	t.Helper()
	cmd := exec.Command(testenv.NeedsTool(t, "sleep"), "1000")
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}
