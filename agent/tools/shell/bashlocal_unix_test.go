//go:build unix

package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
)

// shellWorld returns a world whose commands really run.
func shellWorld(t *testing.T) *toolstest.World {
	t.Helper()
	testenv.NoLeaks(t)
	children := proc.NewGroup(nil)
	t.Cleanup(func() {
		if n := children.Len(); n > 0 {
			t.Errorf("%d children are left", n)
		}
		_ = children.Close(context.Background())
	})
	w := toolstest.NewWorld(t, map[string]string{"sub/x": "", "a.txt": "a\n"})
	w.Terminal = &bridges.LocalTerminal{Children: children, Local: bridges.Local{Shell: bridges.FindShell(""), Env: os.Environ()}}
	return w
}

// with runs a tool with settings.
func with(t *testing.T, w *toolstest.World, set *tools.Settings, name string, in any) (*agent.Result, error) {
	t.Helper()
	for _, tool := range tools.All(set) {
		if tool.Spec().Name == name {
			_, res, err := toolstest.Do(t.Context(), tool, w.Call(t, name, in))
			return res, err
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil, nil
}

func wantText(t *testing.T, res *agent.Result, want ...string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(res.Text, part) {
			t.Errorf("%q is not in: %s", part, res.Text)
		}
	}
}

// The next command of the same session starts with the directory and the variables of the previous one.
func TestBash_State(t *testing.T) {
	w := shellWorld(t)
	bash := func(in toolstest.Input) *agent.Result { return toolstest.Run(t, w, "bash", in) }
	wantText(t, bash(toolstest.Input{"command": "export A='1 2'; X=3; export LD_PRELOAD= GIT_SSH_COMMAND=evil; cd sub"}), "(no output)", "The shell is now in sub")
	toolstest.Same(t, "the next one", bash(toolstest.Input{"command": `echo "$A|$X|$GIT_SSH_COMMAND"; pwd`}).Text, "1 2||\n"+w.Path("sub"))
	toolstest.Same(t, "of another session", toolstest.Run(t, &toolstest.World{
		Dir: w.Dir, FS: w.FS, Terminal: w.Terminal, Values: agent.NewValues(nil),
	}, "bash", toolstest.Input{"command": `echo "$A|"; pwd`}).Text, "|\n"+w.Dir)
	toolstest.Same(t, "by a call's env", bash(toolstest.Input{"command": "echo $A", "env": toolstest.Input{"A": "mine"}}).Text, "mine")
	toolstest.Same(t, "after it", bash(toolstest.Input{"command": "echo $A"}).Text, "1 2")
	toolstest.Same(t, "elsewhere", bash(toolstest.Input{"command": "pwd", "cwd": "."}).Text, w.Dir)
	toolstest.Same(t, "and back", bash(toolstest.Input{"command": "pwd"}).Text, w.Path("sub"))
	toolstest.Same(t, "a cd in front is for one call", bash(toolstest.Input{"command": "cd .. && pwd"}).Text, w.Dir)
	toolstest.Same(t, "and back", bash(toolstest.Input{"command": "pwd"}).Text, w.Path("sub"))
	bash(toolstest.Input{"command": "unset A"})
	toolstest.Same(t, "unset", bash(toolstest.Input{"command": "echo ${A-gone}"}).Text, "gone")
	wantText(t, bash(toolstest.Input{"command": "cd ..; exit 3"}), "The shell is now in .", "Command exited with code 3")
	wantText(t, bash(toolstest.Input{"command": "cd sub"}), "The shell is now in sub")
	if err := os.RemoveAll(w.Path("sub")); err != nil {
		t.Fatal(err)
	}
	wantText(t, bash(toolstest.Input{"command": "pwd"}), w.Dir, "no longer exists")
	// A command with its own trap, a shell that executes another program, and a killed shell leave no state and break nothing.
	for _, line := range []string{"trap 'echo bye' EXIT", "exec true", "kill -9 $$"} {
		if _, err := with(t, w, new(tools.Settings), "bash", toolstest.Input{"command": line}); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	toolstest.Same(t, "at last", bash(toolstest.Input{"command": "pwd"}).Text, w.Dir)
}

// The session's state files are deleted when it ends.
func TestBash_StateFiles(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	w := shellWorld(t)
	toolstest.Run(t, w, "bash", toolstest.Input{"command": "export A=1"})
	all, err := filepath.Glob(filepath.Join(temp, "gjc-shell-*"))
	if err != nil || len(all) != 1 {
		t.Fatalf("%q, %v", all, err)
	}
	if info, err := os.Stat(all[0]); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others can look at it: %v, %v", info.Mode(), err)
	}
	w.Values.Close(t.Context())
	if all, _ := filepath.Glob(filepath.Join(temp, "gjc-shell-*")); len(all) > 0 {
		t.Errorf("%q is left", all)
	}
}

// A background command is listed, polled and cancelled; its end is reported once, without a question.
func TestJob(t *testing.T) {
	w := shellWorld(t)
	fifo := w.Path("go")
	toolstest.Run(t, w, "bash", toolstest.Input{"command": "mkfifo go"})
	res := toolstest.Run(t, w, "bash", toolstest.Input{"command": "echo begun; cat go; echo over; exit 2", "async": true})
	wantText(t, res, "in the background as job-1")
	wantText(t, toolstest.Run(t, w, "job", toolstest.Input{"list": true}), "job-1 runs for", "echo begun; cat go")
	for !strings.Contains(toolstest.Run(t, w, "job", toolstest.Input{"poll": []string{"job-1"}}).Text, "begun") {
		// its output may arrive at any time
	}
	if about, text := late(w); text != "" {
		t.Errorf("told of a job that runs: %s: %s", about, text)
	}
	if err := os.WriteFile(fifo, []byte("middle\n"), 0); err != nil {
		t.Fatal(err)
	}
	wantText(t, toolstest.Run(t, w, "job", toolstest.Input{"poll": []string{"job-1"}, "wait": 60}), "job-1 has failed", "begun\nmiddle\nover", "Command exited with code 2")
	if _, text := late(w); text != "" {
		t.Errorf("told again: %s", text)
	}
	toolstest.Run(t, w, "bash", toolstest.Input{"command": "echo alone", "async": true})
	wantText(t, toolstest.Run(t, w, "bash", toolstest.Input{"command": "echo other"}), "other")
	for strings.Contains(toolstest.Run(t, w, "job", toolstest.Input{"list": true}).Text, "job-2 runs for ") && t.Context().Err() == nil {
		// a poll would report its end
	}
	about, text := late(w)
	if !strings.Contains(text, "job-2 has ended") || !strings.Contains(text, "alone") || !strings.Contains(about, "job-2") {
		t.Errorf("%q: %q", about, text)
	}
	if _, text := late(w); text != "" {
		t.Errorf("told twice: %s", text)
	}
}

// Cancelling a job ends all its processes, even one that ignores signals. So does the end of the session.
func TestJob_Ends(t *testing.T) {
	w := shellWorld(t)
	stubborn := "trap '' TERM; (trap '' TERM; sleep 1000) & echo $! >> pids; echo $$ >> pids; wait; sleep 1000"
	toolstest.Run(t, w, "bash", toolstest.Input{"command": stubborn, "async": true})
	toolstest.Run(t, w, "bash", toolstest.Input{"command": stubborn, "async": true})
	deadline := time.Now().Add(time.Minute)
	for strings.Count(diskOr(w, "pids"), "\n") < 4 && time.Now().Before(deadline) {
		toolstest.Run(t, w, "bash", toolstest.Input{"command": "true"})
	}
	wantText(t, toolstest.Run(t, w, "job", toolstest.Input{"cancel": []string{"job-1"}}), "job-1 has failed", "Command cancelled")
	wantText(t, toolstest.Run(t, w, "job", toolstest.Input{"list": true}), "job-1 failed", "job-2 runs")
	w.Values.Close(t.Context())
	pids := strings.Fields(diskOr(w, "pids"))
	if len(pids) != 4 {
		t.Fatalf("there were %d processes", len(pids))
	}
	for _, pid := range pids {
		for lives(t, pid) { // a killed process takes a moment to exit
			if time.Now().After(deadline) {
				t.Fatalf("the process %s lives on", pid)
			}
			runtime.Gosched()
		}
	}
}

// lives reports whether a process exists and has not ended: a zombie has a name but no program.
func lives(t *testing.T, pid string) bool {
	t.Helper()
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		_, err := os.Readlink("/proc/" + pid + "/exe")
		return err == nil
	}
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	return syscall.Kill(n, 0) == nil
}

func diskOr(w *toolstest.World, name string) string {
	data, _ := os.ReadFile(w.Path(name)) // it does not exist before it is written
	return string(data)
}

// A long-running command becomes a background job if that is configured.
func TestBash_AutoBackground(t *testing.T) {
	w := shellWorld(t)
	toolstest.Run(t, w, "bash", toolstest.Input{"command": "mkfifo go"})
	set := &tools.Settings{Bash: shell.BashSettings{AutoBackground: 100 * time.Millisecond}}
	res, err := with(t, w, set, "bash", toolstest.Input{"command": "echo begun; cat go"})
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, res, "taking longer than 100ms and continues in the background as job-1")
	if err := os.WriteFile(w.Path("go"), []byte("end\n"), 0); err != nil {
		t.Fatal(err)
	}
	wantText(t, toolstest.Run(t, w, "job", toolstest.Input{"poll": []string{"job-1"}, "wait": 60}), "begun\nend")
	set = &tools.Settings{Bash: shell.BashSettings{AutoBackground: time.Minute}}
	if res, err := with(t, w, set, "bash", toolstest.Input{"command": "echo quick"}); err != nil || res.Text != "quick" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestJob_BadInput(t *testing.T) {
	w := shellWorld(t)
	for want, in := range map[string]any{
		"give an action":    toolstest.Input{},
		"there are no jobs": toolstest.Input{"poll": []string{"job-9"}},
		"wait is 301":       toolstest.Input{"poll": []string{"job-1"}, "wait": 301},
		"wait is -1":        toolstest.Input{"list": true, "wait": -1},
		"it takes list":     toolstest.Input{"lists": true},
		"invalid tool inp":  `{"poll":"job-1"}`,
	} {
		if err := toolstest.Fails(t, w, "job", in); !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %q", in, err, want)
		}
	}
	for range 15 {
		toolstest.Run(t, w, "bash", toolstest.Input{"command": "sleep 1000", "async": true})
	}
	if err := toolstest.Fails(t, w, "bash", toolstest.Input{"command": "sleep 1000", "async": true}); !strings.Contains(err.Error(), "15 jobs are running already") {
		t.Error(err)
	}
	if err := toolstest.Fails(t, w, "job", toolstest.Input{"cancel": []string{"job-99"}}); !strings.Contains(err.Error(), `unknown job "job-99"; the jobs are job-1, `) {
		t.Error(err)
	}
}

func TestBash_Intercept(t *testing.T) {
	w := shellWorld(t)
	w.Tools = []string{"read", "search", "find", "edit", "write"}
	set := &tools.Settings{Bash: shell.BashSettings{Intercept: true}}
	for line, tool := range map[string]string{
		"cat a.txt": "read", "head -5 a.txt": "read", "grep a a.txt": "search", "rg a": "search", "find . -name x": "find", "sed -i s/a/b/ a.txt": "edit",
		"echo x > new": "write", "cat > new <<'E'\nx\nE": "write", "perl -pi -e s/a/b/ a.txt": "edit",
	} {
		if _, err := with(t, w, set, "bash", toolstest.Input{"command": line}); err == nil || !strings.Contains(err.Error(), "the "+tool+" tool") || !strings.Contains(err.Error(), line) {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range []string{"cat a.txt | wc -l", "echo x", "tail -f /dev/null & true", "find . -name x -exec true {} +", "ls; cat a.txt", "echo x > /dev/null", "sed -n 1p a.txt"} {
		if _, err := with(t, w, set, "bash", toolstest.Input{"command": line}); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	w.Tools = []string{"edit"}
	if _, err := with(t, w, set, "bash", toolstest.Input{"command": "cat a.txt"}); err != nil {
		t.Errorf("without the tool read: %v", err)
	}
}
