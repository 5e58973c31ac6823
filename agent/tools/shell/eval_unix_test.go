//go:build unix

package shell_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
)

// pythonWorld returns a world with the machine's Python.
func pythonWorld(t *testing.T) *toolstest.World {
	t.Helper()
	testenv.NeedsTool(t, "python3")
	testenv.NoLeaks(t)
	children := proc.NewGroup(nil)
	t.Cleanup(func() {
		if n := children.Len(); n > 0 {
			t.Errorf("%d children are left", n)
		}
		_ = children.Close(context.Background())
	})
	w := toolstest.NewWorld(t, nil)
	w.Programs = &bridges.LocalPrograms{Children: children, Local: bridges.Local{Env: append(os.Environ(), "OPENAI_API_KEY=sk-secret")}}
	return w
}

// py runs one cell.
func py(t *testing.T, w *toolstest.World, code string, more ...any) *agent.Result {
	t.Helper()
	cell := toolstest.Input{"language": "py", "code": code}
	for i := 0; i+1 < len(more); i += 2 {
		cell[more[i].(string)] = more[i+1]
	}
	return toolstest.Run(t, w, "eval", toolstest.Input{"cells": []toolstest.Input{cell}})
}

const newInterpreter = "A new interpreter was started"

func TestEval(t *testing.T) {
	w := pythonWorld(t)
	for _, name := range []string{"json", "queue", "io", "traceback"} { // not the runner's
		w.Put(t, name+".py", "1/0")
	}
	w.Put(t, "mine.py", "a = 'of the workspace'")
	if res := py(t, w, "x = 20\nprint('hello')\nx + 1"); !strings.HasPrefix(res.Text, "hello\n21\n") || !strings.Contains(res.Text, newInterpreter) || res.IsError {
		t.Errorf("%q", res.Text)
	}
	for code, want := range map[string]string{
		"x":                      "20",
		"import mine; mine.a":    "'of the workspace'",
		"None":                   "(no output)",
		"'é'":                    "'é'",
		"import os; os.getcwd()": "'" + w.Dir + "'",
		"import os; os.environ.get('OPENAI_API_KEY')": "(no output)",
		"__name__":                    "'__main__'",
		"def f():\n  return 1\n\nf()": "1",
		"import sys\nprint('e', file=sys.stderr)\nprint('o')": "e\no",
		"for i in range(3):\n  print(i, end=' ')":             "0 1 2 ",
		"'\\ud800'":                            "'\\ud800'",
		"print('\\ud800')":                     "\\ud800",
		"import os; os.write(1, b'raw'); None": "raw",
		"import subprocess; subprocess.run(['echo', 'child']); None": "child",
	} {
		if res := py(t, w, code); res.Text != strings.TrimRight(want, "\n") || res.IsError {
			t.Errorf("%s: %q", code, res.Text)
		}
	}
	if res := py(t, w, "_ * 2\nx", "reset", true); !res.IsError || !strings.Contains(res.Text, "NameError: name '_' is not defined") {
		t.Errorf("%q", res.Text)
	}
}

// A traceback contains only the user's frames, with their lines.
func TestEval_Errors(t *testing.T) {
	w := pythonWorld(t)
	py(t, w, "def f():\n    return 1 / 0")
	res := py(t, w, "print('before')\nf()")
	if !res.IsError || !strings.Contains(res.Text, "before\nTraceback (most recent call last):\n  File \"<cell 2>\", line 2, in <module>\n") || !strings.Contains(res.Text, "File \"<cell 1>\", line 2, in f\n    return 1 / 0\n") ||
		!strings.HasSuffix(res.Text, "\n\nThe cell failed.") || strings.Contains(res.Text, "_main") || strings.Contains(res.Text, "<string>") {
		t.Errorf("%s", res.Text)
	}
	if res := py(t, w, "a = (1"); !res.IsError || !strings.Contains(res.Text, "SyntaxError") || strings.Contains(res.Text, "ast.py") {
		t.Errorf("%s", res.Text)
	}
	for _, code := range []string{"raise KeyboardInterrupt", "raise BaseException('x')", "class E(Exception):\n  def __str__(self): raise ValueError\nraise E", "import sys\nsys.exit(3)"} {
		if res := py(t, w, code); !res.IsError {
			t.Errorf("%s: %s", code, res.Text)
		}
	}
	if res := py(t, w, "import sys\nsys.exit()"); res.IsError || !strings.Contains(res.Text, "called sys.exit") {
		t.Errorf("%s", res.Text)
	}
	res = toolstest.Run(t, w, "eval", toolstest.Input{"cells": []toolstest.Input{{"language": "py", "code": "y = 1"}, {"language": "py", "code": "1/0"}, {"language": "py", "code": "y = 2"}}})
	if !res.IsError || !strings.HasSuffix(res.Text, "Cell 2 of 3 failed. 1 cell after it did not run.") {
		t.Errorf("%s", res.Text)
	}
	if res := py(t, w, "y"); res.Text != "1" {
		t.Errorf("%s", res.Text)
	}
}

// Whatever code does to its streams, the next cell runs.
func TestEval_Rude(t *testing.T) {
	w := pythonWorld(t)
	py(t, w, "import os, sys, threading")
	for _, c := range []struct{ code, want string }{
		{"os.close(1); os.close(2)", "(no output)"},
		{"os.close(0)", "(no output)"},
		{"sys.stdout.close(); sys.stderr.close()", "(no output)"},
		{"sys.stdout = None; sys.stderr = None; sys.stdin = None", "(no output)"},
		{"try:\n  input('?')\nexcept EOFError:\n  print('eof')", "?eof"},
		{"sys.stdin.read()", "''"},
		{"os.read(0, 1)", "b''"},
		{"print('\\0' * 3, end='')", ""},
		{"os.write(1, bytes(range(256))); None", ""},
		{"pid = os.fork()\nif pid == 0:\n  print('from the child')\nelse:\n  os.waitpid(pid, 0)\n  print('parent')", "from the child\nparent"},
		{"pid = os.fork()\nif pid == 0:\n  1/0\n_ = os.waitpid(pid, 0)", "(no output)"},
		{"import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); None", "(no output)"},
		{"sys.modules.clear(); None", "(no output)"},
	} {
		res := py(t, w, c.code)
		if res.IsError || c.want != "" && res.Text != c.want {
			t.Errorf("%s: %q", c.code, res.Text)
		}
		if res := py(t, w, "print('well')"); res.IsError || res.Text != "well" {
			t.Fatalf("after %s: %q", c.code, res.Text)
		}
	}
	res := py(t, w, "os._exit(7)")
	if !res.IsError || !strings.Contains(res.Text, "Python exited while it ran: it exited with code 7") {
		t.Errorf("%s", res.Text)
	}
	if res := py(t, w, "1"); !strings.HasPrefix(res.Text, "1\n") || !strings.Contains(res.Text, newInterpreter) {
		t.Errorf("%s", res.Text)
	}
	if res := py(t, w, "import os\nos.kill(os.getpid(), 9)"); !res.IsError || !strings.Contains(res.Text, "it was killed by ") {
		t.Errorf("%s", res.Text)
	}
}

func TestEval_MuchOutput(t *testing.T) {
	w := pythonWorld(t)
	res := py(t, w, "print('start')\nb = b'x' * 99 + b'\\n'\nimport os\nfor i in range(20):\n  os.write(1, b * 10000)\nprint('end')", "timeout", 120)
	if res.IsError || len(res.Text) > 90<<10 || !strings.HasPrefix(res.Text, "start\nxxx") || !strings.Contains(res.Text, "\nend\n") || !strings.Contains(res.Text, "left out") || !strings.Contains(res.Text, "artifact://") {
		t.Errorf("%d bytes: %.200s", len(res.Text), res.Text)
	}
}

// A cell that times out is interrupted, and its state is kept. If it ignores the interrupt, the interpreter is killed and the state
// is lost.
func TestEval_Timeout(t *testing.T) {
	w := pythonWorld(t)
	py(t, w, "x = 5")
	for _, code := range []string{"import time\nprint('on', flush=True)\ntime.sleep(1000)", "while True: pass", "import subprocess\nsubprocess.run(['sleep', '1000'])"} {
		res := py(t, w, code, "timeout", 1)
		if !res.IsError || !strings.HasSuffix(res.Text, "The cell timed out after 1 second and was interrupted. What was defined before is still there.") || !strings.Contains(res.Text, "KeyboardInterrupt") {
			t.Errorf("%s", res.Text)
		}
		if res := py(t, w, "x"); res.Text != "5" {
			t.Errorf("%s", res.Text)
		}
	}
	res := py(t, w, "import os, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint(os.getpid(), flush=True)\nwhile True:\n  signal.pause()", "timeout", 1)
	if !res.IsError || !strings.Contains(res.Text, "did not stop, so Python was killed") {
		t.Errorf("%s", res.Text)
	}
	pid, err := strconv.Atoi(strings.Fields(res.Text)[0])
	if err != nil || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		t.Errorf("process %d is still there (%v)", pid, err)
	}
	if res := py(t, w, "x"); !strings.Contains(res.Text, "NameError") {
		t.Errorf("%s", res.Text)
	}
}

// Cancelling stops the cell, even if the first signal arrives just before a system call and does not end it. The code of the second
// case consumes that signal itself, so that no handler runs.
func TestEval_Cancel(t *testing.T) {
	for name, code := range map[string]string{
		"asleep": "import time\nprint('on', flush=True)\ntime.sleep(1000)",
		"lost signal": "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\nprint('on', flush=True)\n" +
			"signal.sigwait({signal.SIGINT})\nsignal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})\ntime.sleep(1000)",
	} {
		t.Run(name, func(t *testing.T) {
			w := pythonWorld(t)
			py(t, w, "x = 5")
			ctx, cancel := context.WithCancelCause(t.Context())
			call := w.Call(t, "eval", toolstest.Input{"cells": []toolstest.Input{{"language": "py", "code": code}}})
			call.Update = func(p agent.Progress) {
				if strings.Contains(p.Text, "on") {
					cancel(errors.New("the user"))
				}
			}
			_, res, err := toolstest.Do(ctx, toolstest.Tool(t, "eval"), call)
			if err != nil || !strings.Contains(res.Text, "The cell was cancelled and was interrupted.") {
				t.Errorf("%v %+v", err, res)
			}
			if res := py(t, w, "x"); res.Text != "5" {
				t.Errorf("%s", res.Text)
			}
		})
	}
}

// The interpreter ends with its session, with all processes in its process group.
func TestEval_EndsWithSession(t *testing.T) {
	w := pythonWorld(t)
	res := py(t, w, "import os, subprocess\np = subprocess.Popen(['sleep', '1000'])\nprint(os.getpid(), p.pid)")
	pids := strings.Fields(res.Text)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	w.Values.Close(ctx)
	for _, text := range pids[:2] {
		pid, err := strconv.Atoi(text)
		if err != nil || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && !zombie(pid) {
			t.Errorf("process %s is still there (%v)", text, err)
		}
	}
	if err := toolstest.Fails(t, w, "eval", toolstest.Input{"cells": []toolstest.Input{{"language": "py", "code": "1"}}}); err == nil {
		t.Error("a kernel was started after the end")
	}
}

// zombie reports whether a process has ended and is waiting to be reaped.
func zombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(data), ") Z ")
}

func TestEval_Plan(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	p := toolstest.MustPlan(t, w, "eval", toolstest.Input{"cells": []toolstest.Input{{"language": "py", "code": "print('a')\nimport os", "title": "Look"}, {"language": "py", "code": "```"}}})
	title := "Python: Look (and 1 more cell)"
	toolstest.Same(t, "plan", p, &agent.CallPlan{
		Title: title, Content: []agent.Content{agent.TextContent{Text: "```python\nprint('a')\nimport os\n```\n\n````python\n```\n````"}},
		Effects: []approval.Effect{{Action: approval.ActionCommand, Command: `exec 'python3' '-c' 'print('\''a'\'')` + "\nimport os' '```'", Title: title}},
	})
	for _, in := range []string{
		`{}`, `{"cells": null}`, `{"cells": []}`, `{"cells": {}}`, `{"cells": [{}]}`, `{"cells": [{"language": "js", "code": "1"}]}`, `{"cells": [{"language": "py", "code": " "}]}`,
		`{"cells": [{"language": "py", "code": 1}]}`, `{"cells": [{"language": "py", "code": "1", "timeout": 601}]}`, `{"cells": [{"language": "py", "code": "1", "timeout": -1}]}`,
		`{"cells": [{"language": "py", "code": "1\u0000"}]}`, `{"cells": [{"language": "py", "code": "1", "x": 1}]}`,
		`{"cells": [{"language": "py", "code": "` + strings.Repeat("x", 2<<20) + `"}]}`,
	} {
		if p, err := toolstest.Plan(t.Context(), toolstest.Tool(t, "eval"), w.Call(t, "eval", in)); err == nil {
			t.Errorf("%.60s: %+v", in, p)
		}
	}
	if _, err := toolstest.Plan(t.Context(), toolstest.Tool(t, "eval"), w.Call(t, "eval", toolstest.Input{"cells": make([]toolstest.Input, 51)})); err == nil {
		t.Error("51 cells")
	}
}
