package shell_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/approval/shell"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/places"
)

func bashWorld(t testing.TB, term *toolstest.Terminal) *toolstest.World {
	w := toolstest.NewWorld(t, map[string]string{"sub/x": "", "file": ""})
	w.Terminal = term
	return w
}

func TestBashResults(t *testing.T) {
	ended := []string{"start", "wait", "output", "release"}
	stopped := []string{"start", "wait", "kill", "output", "release"}
	broken := errors.New("the wire broke")
	for name, c := range map[string]struct {
		term    *toolstest.Terminal
		line    string // "echo hi" if empty
		timeout float64
		want    string // the expected text, or part of the error
		failed  bool   // IsError
		err     bool
		calls   []string
	}{
		"success": {term: &toolstest.Terminal{Chunks: []toolstest.Chunk{{Text: "hi\n"}}}, want: "hi", calls: ended},
		"left": {
			term: &toolstest.Terminal{Chunks: []toolstest.Chunk{{Text: "hi\n"}}}, line: "serve >log & echo hi", calls: ended,
			want: "hi\n\n[Programs that a command leaves in the background may end with it. Run servers and watchers with async.]",
		},
		"waited for": {term: &toolstest.Terminal{Chunks: []toolstest.Chunk{{Text: "hi\n"}}}, line: "a & b & wait; echo hi", want: "hi", calls: ended},
		"no output":  {term: new(toolstest.Terminal), want: "(no output)", calls: ended},
		"code": {
			term: &toolstest.Terminal{Chunks: []toolstest.Chunk{{Text: "no\n"}}, Exit: agent.ExitStatus{Code: 3}},
			want: "no\n\nCommand exited with code 3", failed: true, calls: ended,
		},
		"signal without a code": {
			term: &toolstest.Terminal{Exit: agent.ExitStatus{Code: -1, Signal: "SIGTERM"}},
			want: "(no output)\n\nThe command was killed by SIGTERM.\nCommand exited with code 143", failed: true, calls: ended,
		},
		"signal": {
			term: &toolstest.Terminal{ID: "t", Exit: agent.ExitStatus{Code: 137, Signal: "SIGKILL"}},
			want: "(no output)\n\nThe command was killed by SIGKILL.\nCommand exited with code 137", failed: true, calls: ended,
		},
		"timeout": {
			term: &toolstest.Terminal{Chunks: []toolstest.Chunk{{Text: "so far\n"}}, Hang: true}, timeout: 1,
			want: "so far\n\nCommand timed out after 1 second", failed: true, calls: stopped,
		},
		"timeout in the editor": {
			term: &toolstest.Terminal{ID: "t", Chunks: []toolstest.Chunk{{Text: "so far\n"}}, Hang: true}, timeout: 2.5,
			want: "so far\n\nCommand timed out after 2.5 seconds", failed: true, calls: stopped,
		},
		"default timeout": {
			term: &toolstest.Terminal{Hang: true}, want: "(no output)\n\nCommand timed out after 300 seconds", failed: true, calls: stopped,
		},
		"timeout too long": {
			term: &toolstest.Terminal{Hang: true}, timeout: 1e6, failed: true, calls: stopped,
			want: "(no output)\n\n[The timeout was set to 3600 seconds; it can be 1 to 3600.]\n\nCommand timed out after 3600 seconds",
		},
		"timeout too short": {
			term: &toolstest.Terminal{Chunks: []toolstest.Chunk{{After: 900 * time.Millisecond, Text: "done"}}}, timeout: 0.001,
			want: "done\n\n[The timeout was set to 1 second; it can be 1 to 3600.]", calls: ended,
		},
		"start fails": {
			term: &toolstest.Terminal{Errors: map[string]error{"start": broken}},
			want: "the command did not run: the wire broke", err: true, calls: []string{"start"},
		},
		"wait fails": {
			term: &toolstest.Terminal{ID: "t", Errors: map[string]error{"wait": broken}, Hang: true},
			want: "the command's exit status is unknown: the wire broke", err: true, calls: []string{"start", "wait", "release"},
		},
		"output fails": {
			term: &toolstest.Terminal{ID: "t", Errors: map[string]error{"output": broken}},
			want: "the command ended, but its output is lost: the wire broke", err: true, calls: ended,
		},
		"kill fails": {
			term: &toolstest.Terminal{ID: "t", Errors: map[string]error{"kill": broken}, Hang: true}, timeout: 1,
			want: "(no output)\n\n[the wire broke]\n\nCommand timed out after 1 second", failed: true, calls: stopped,
		},
		"output fails after a timeout": {
			term: &toolstest.Terminal{ID: "t", Errors: map[string]error{"output": broken}, Hang: true}, timeout: 1,
			want: "(no output)\n\n[the wire broke]\n\nCommand timed out after 1 second", failed: true, calls: stopped,
		},
		"release fails": {
			term: &toolstest.Terminal{ID: "t", Errors: map[string]error{"release": broken}, Chunks: []toolstest.Chunk{{Text: "hi"}}, Exit: agent.ExitStatus{Code: 1}},
			want: "[the wire broke]\nhi\n\nCommand exited with code 1", failed: true, calls: ended,
		},
		"escape sequences": {
			term: &toolstest.Terminal{Chunks: []toolstest.Chunk{{Text: "\x1b[1;31mred\x1b[0m\r\n 10%\r 20%\rdone\n\x1b]0;title\x07ab\bc\x00\n"}}},
			want: "red\ndone\nac", calls: ended,
		},
		"bytes that are no text": {
			term: &toolstest.Terminal{Chunks: []toolstest.Chunk{{Text: "a\xff\xfeb"}}}, want: "a\uFFFDb", calls: ended,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := bashWorld(t, c.term)
			synctest.Test(t, func(t *testing.T) {
				in := toolstest.Input{"command": cmp.Or(c.line, "echo hi")}
				if c.timeout != 0 {
					in["timeout"] = c.timeout
				}
				_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "bash"), w.Call(t, "bash", in))
				if (err != nil) != c.err {
					t.Fatalf("error %v", err)
				}
				if c.err {
					toolstest.Same(t, "error", err.Error(), c.want)
					if res != nil || name != "start fails" && !errors.Is(err, broken) {
						t.Errorf("result %v, error %v", res, err)
					}
				} else {
					toolstest.Same(t, "text", res.Text, c.want)
					toolstest.Same(t, "failed", res.IsError, c.failed)
				}
				toolstest.Same(t, "calls", c.term.Calls(), c.calls)
			})
		})
	}
}

// The terminal must be in the tool call before the command has ended, and its output must not appear twice.
func TestBashShowsTheEditorsTerminal(t *testing.T) {
	term := &toolstest.Terminal{ID: "term_1", Chunks: []toolstest.Chunk{{After: time.Second, Text: "hi\n"}}}
	w := bashWorld(t, term)
	synctest.Test(t, func(t *testing.T) {
		done := make(chan *agent.Result)
		go func() { done <- toolstest.Run(t, w, "bash", toolstest.Input{"command": "echo hi"}) }()
		synctest.Wait()
		toolstest.Same(t, "progress while it runs", w.Progress(), []agent.Progress{{TerminalID: "term_1"}})
		res := <-done
		toolstest.Same(t, "text", res.Text, "hi")
		toolstest.Same(t, "content", res.Content, []agent.Content{agent.TextContent{Text: "$ echo hi"}, agent.TerminalContent{TerminalID: "term_1"}})
	})
	toolstest.Same(t, "output limit", term.Command().OutputLimit, 50<<10)
}

// head and tail apply to the model's text. People see all of the output, and the outcome of the command is kept.
func TestBashHeadAndTail(t *testing.T) {
	for _, tt := range []struct {
		head, tail int
		want       string
	}{
		{0, 0, "1\n2\n3\n4\n5"},
		{2, 0, "1\n2\n\n[2 of 5 lines, by head and tail]"},
		{0, 2, "4\n5\n\n[2 of 5 lines, by head and tail]"},
		{4, 2, "3\n4\n\n[2 of 5 lines, by head and tail]"},
		{5, 9, "1\n2\n3\n4\n5"},
		{1, 0, "1\n\n[1 of 5 lines, by head and tail]"},
	} {
		w := bashWorld(t, &toolstest.Terminal{Chunks: []toolstest.Chunk{{Text: "1\n2\n3\n4\n5\n"}}, Exit: agent.ExitStatus{Code: 3}})
		_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "bash"), w.Call(t, "bash", toolstest.Input{"command": "x", "head": tt.head, "tail": tt.tail}))
		if err != nil {
			t.Fatal(err)
		}
		toolstest.Same(t, fmt.Sprintf("head %d, tail %d", tt.head, tt.tail), res.Text, tt.want+"\n\nCommand exited with code 3")
		toolstest.Same(t, "content", res.Content[1], agent.Content(agent.TextContent{Text: "1\n2\n3\n4\n5"}))
	}
	w := bashWorld(t, &toolstest.Terminal{})
	if _, _, err := toolstest.Do(t.Context(), toolstest.Tool(t, "bash"), w.Call(t, "bash", toolstest.Input{"command": "x", "tail": -1})); !errors.Is(err, agent.ErrBadInput) {
		t.Errorf("tail -1: %v", err)
	}
}

func TestBashCutByTheEditor(t *testing.T) {
	w := bashWorld(t, &toolstest.Terminal{ID: "t", Chunks: []toolstest.Chunk{{Text: strings.Repeat("0123456789\n", 10_000)}}})
	res := toolstest.Run(t, w, "bash", toolstest.Input{"command": "x"})
	if !strings.Contains(res.Text, "The start of the output is cut off") {
		t.Errorf("nothing says so:\n%s", res.Text[len(res.Text)-200:])
	}
}

func TestBashCancel(t *testing.T) {
	for _, id := range []string{"", "term_1"} {
		term := &toolstest.Terminal{ID: id, Hang: true, Chunks: []toolstest.Chunk{{Text: "so far"}}}
		w := bashWorld(t, term)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				time.Sleep(5 * time.Second) // on the bubble's clock
				cancel(errors.New("the user said stop"))
			}()
			start := time.Now()
			_, res, err := toolstest.Do(ctx, toolstest.Tool(t, "bash"), w.Call(t, "bash", toolstest.Input{"command": "x"}))
			if err != nil {
				t.Fatal(err)
			}
			toolstest.Same(t, "text", res.Text, "so far\n\nCommand cancelled")
			toolstest.Same(t, "failed", res.IsError, true)
			toolstest.Same(t, "time", time.Since(start), 5*time.Second)
		})
		toolstest.Same(t, "calls", term.Calls(), []string{"start", "wait", "kill", "output", "release"})
	}
}

// A command with a lot of output must not flood the editor, and the output of one with little must not be delayed.
func TestBashStreams(t *testing.T) {
	var chunks []toolstest.Chunk
	for i := range 1000 {
		chunks = append(chunks, toolstest.Chunk{After: time.Millisecond, Text: fmt.Sprintf("%03d é\n", i)})
	}
	chunks = append(chunks, toolstest.Chunk{After: 10 * time.Millisecond, Text: "waiting…\xC3"}, toolstest.Chunk{After: 10 * time.Second, Text: "\xA9 end"})
	w := bashWorld(t, &toolstest.Terminal{Chunks: chunks})
	synctest.Test(t, func(t *testing.T) {
		done := make(chan *agent.Result)
		go func() { done <- toolstest.Run(t, w, "bash", toolstest.Input{"command": "x"}) }()
		time.Sleep(5 * time.Second) // on the bubble's clock
		synctest.Wait()
		var text strings.Builder
		reports := w.Progress()
		for _, p := range reports {
			text.WriteString(p.Text)
		}
		if len(reports) < 5 || len(reports) > 13 {
			t.Errorf("%d reports in one second and a bit", len(reports))
		}
		if !strings.HasPrefix(text.String(), "000 é\n001 é\n") || !strings.HasSuffix(text.String(), "999 é\nwaiting…") {
			t.Errorf("reported so far: %.40q … %q", text.String(), text.String()[max(0, len(text.String())-40):])
		}
		if res := <-done; !strings.HasSuffix(res.Text, "999 é\nwaiting…é end") {
			t.Errorf("result: %q", res.Text[len(res.Text)-40:])
		}
	})
}

// A command that never stops printing must fill neither the memory nor the editor.
func TestBashStreamIsBounded(t *testing.T) {
	line := strings.Repeat("x", 1023) + "\n"
	var chunks []toolstest.Chunk
	for range 200 {
		chunks = append(chunks, toolstest.Chunk{After: 50 * time.Millisecond, Text: strings.Repeat(line, 16)})
	}
	w := bashWorld(t, &toolstest.Terminal{Chunks: chunks})
	synctest.Test(t, func(t *testing.T) { toolstest.Run(t, w, "bash", toolstest.Input{"command": "x"}) })
	streamed := 0
	for _, p := range w.Progress() {
		streamed += len(p.Text)
		for _, c := range p.Content {
			if text, ok := c.(agent.TextContent); ok && len(text.Text) > 16<<10 {
				t.Fatalf("a report of %d bytes", len(text.Text))
			}
		}
	}
	if streamed > 128<<10 {
		t.Errorf("%d bytes streamed as text", streamed)
	}
}

func TestBashLongOutput(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	full := b.String()
	for _, kept := range []bool{true, false} {
		w := bashWorld(t, &toolstest.Terminal{Chunks: []toolstest.Chunk{{Text: full}}})
		if !kept {
			w.Artifacts = nil
		}
		res := toolstest.Run(t, w, "bash", toolstest.Input{"command": "x"})
		if len(res.Text) > 72<<10 || len(res.Text) < 60<<10 {
			t.Errorf("the text has %d bytes", len(res.Text))
		}
		head, rest, ok := strings.Cut(res.Text, "\n… ")
		elided, tail, ok2 := strings.Cut(rest, " left out …\n")
		if !ok || !ok2 || !strings.HasPrefix(head, "line 0\nline 1\n") || !strings.Contains(tail, "line 19998\nline 19999") {
			t.Fatalf("head %.30q, elided %q, tail %.30q", head, elided, tail)
		}
		shown := 1 + strings.Count(head, "\nline ") + strings.Count(tail, "\nline ")
		want := fmt.Sprintf("%d lines (", 20_000-shown)
		if !strings.HasPrefix(elided, want) {
			t.Errorf("elided %q; %d lines are shown", elided, shown)
		}
		if note := "artifact://1"; strings.Contains(tail, note) != kept {
			t.Errorf("kept %v, tail %q", kept, tail[len(tail)-100:])
		}
		if kept {
			got := toolstest.Run(t, w, "read", toolstest.Input{"path": "artifact://1:10001-10001:raw"})
			toolstest.Same(t, "artifact", got.Text, "line 10000")
		}
	}
	w := bashWorld(t, &toolstest.Terminal{Chunks: []toolstest.Chunk{{Text: full}}})
	w.Artifacts.Fail = errors.New("the disk is full")
	if res := toolstest.Run(t, w, "bash", toolstest.Input{"command": "x"}); res.IsError || strings.Contains(res.Text, "artifact") {
		t.Errorf("a failing artifact: %s", res.Text[len(res.Text)-100:])
	}
	just := strings.Repeat("0123456\n", 70<<10/8)
	w = bashWorld(t, &toolstest.Terminal{Chunks: []toolstest.Chunk{{Text: just}}})
	toolstest.Same(t, "just fits", toolstest.Run(t, w, "bash", toolstest.Input{"command": "x"}).Text, strings.TrimSpace(just))
	w = bashWorld(t, &toolstest.Terminal{Chunks: []toolstest.Chunk{{Text: strings.Repeat("é", 1000)}}})
	toolstest.Same(t, "long line", toolstest.Run(t, w, "bash", toolstest.Input{"command": "x"}).Text, strings.Repeat("é", 768)+"… [232 more characters]")
}

func TestBashPlan(t *testing.T) {
	w := bashWorld(t, &toolstest.Terminal{})
	outside := filepath.Dir(w.Dir)
	for command, c := range map[string]struct {
		in          toolstest.Input
		title       string
		line        string
		dir         string
		outsideRead bool
	}{
		"plain":           {toolstest.Input{"command": " go test ./... "}, "go test ./...", "go test ./...", w.Dir, false},
		"several lines":   {toolstest.Input{"command": "a\nb"}, "a…", "a\nb", w.Dir, false},
		"long":            {toolstest.Input{"command": strings.Repeat("é", 100)}, strings.Repeat("é", 79) + "…", strings.Repeat("é", 100), w.Dir, false},
		"cwd":             {toolstest.Input{"command": "ls", "cwd": "sub"}, "ls", "ls", w.Path("sub"), true},
		"cwd outside":     {toolstest.Input{"command": "ls", "cwd": ".."}, "ls", "ls", outside, true},
		"cd":              {toolstest.Input{"command": "cd sub && ls -l || true"}, "cd sub && ls -l || true", "ls -l || true", w.Path("sub"), true},
		"cd and cwd":      {toolstest.Input{"command": "cd sub && ls", "cwd": "."}, "cd sub && ls", "cd sub && ls", w.Dir, false},
		"cd with a job":   {toolstest.Input{"command": "cd sub && sleep 1 & ls"}, "cd sub && sleep 1 & ls", "cd sub && sleep 1 & ls", w.Dir, false},
		"cd a variable":   {toolstest.Input{"command": "cd $HOME && ls"}, "cd $HOME && ls", "cd $HOME && ls", w.Dir, false},
		"cd back":         {toolstest.Input{"command": "cd - && ls"}, "cd - && ls", "cd - && ls", w.Dir, false},
		"cd home":         {toolstest.Input{"command": "cd ~/x && ls"}, "cd ~/x && ls", "cd ~/x && ls", w.Dir, false},
		"cd of two words": {toolstest.Input{"command": "cd a b && ls"}, "cd a b && ls", "cd a b && ls", w.Dir, false},
		"cd and a line":   {toolstest.Input{"command": "cd sub && ls\npwd"}, "cd sub && ls…", "cd sub && ls\npwd", w.Dir, false},
		"cd or":           {toolstest.Input{"command": "cd sub || ls"}, "cd sub || ls", "cd sub || ls", w.Dir, false},
		"cd in a subshell": {
			toolstest.Input{"command": "(cd sub && ls)"}, "(cd sub && ls)", "(cd sub && ls)", w.Dir, false,
		},
		"cd that does not parse": {toolstest.Input{"command": "cd sub && if"}, "cd sub && if", "cd sub && if", w.Dir, false},
	} {
		p := toolstest.MustPlan(t, w, "bash", c.in)
		toolstest.Same(t, command+": title", p.Title, c.title)
		shown := "$ " + strings.TrimSpace(c.in["command"].(string))
		switch c.in["cwd"] {
		case "sub":
			shown = "in sub\n" + shown
		case "..":
			shown = "in " + outside + "\n" + shown
		}
		toolstest.Same(t, command+": content", p.Content, []agent.Content{agent.TextContent{Text: shown}})
		want := []approval.Effect{{Action: approval.ActionCommand, Command: c.line, Dir: c.dir, Title: c.title}}
		if c.outsideRead {
			want = append(want, approval.Effect{Action: approval.ActionRead, Path: c.dir, Title: "Run a command in " + c.dir})
		}
		toolstest.Same(t, command+": effects", p.Effects, want)
	}
}

func TestBashCommand(t *testing.T) {
	term := &toolstest.Terminal{}
	w := bashWorld(t, term)
	toolstest.Run(t, w, "bash", toolstest.Input{"command": "cd sub && make", "env": toolstest.Input{"B": "2=3", "A_1": ""}, "pty": true})
	got := term.Command()
	got.OnOutput = nil
	if got.StateDir == "" {
		t.Error("the shell does not report the processes that it leaves")
	}
	got.StateDir = ""
	toolstest.Same(t, "command", got, agent.Command{
		Line: "make", Dir: w.Path("sub"), Env: []string{"A_1=", "B=2=3"}, OutputLimit: 50 << 10, PTY: true,
	})
}

func TestBashRefuses(t *testing.T) {
	w := bashWorld(t, &toolstest.Terminal{})
	for want, in := range map[string]toolstest.Input{
		"command is empty":                                        {"command": " \n"},
		"NUL byte":                                                {"command": "a\x00b"},
		`"1A" is not a valid name`:                                {"command": "x", "env": toolstest.Input{"1A": "x"}},
		`"" is not a valid name`:                                  {"command": "x", "env": toolstest.Input{"": "x"}},
		`"A=B" is not a valid name`:                               {"command": "x", "env": toolstest.Input{"A=B": "x"}},
		"variable A contains a NUL byte":                          {"command": "x", "env": toolstest.Input{"A": "\x00"}},
		"working directory does not exist: " + w.Path("nope"):     {"command": "x", "cwd": "nope"},
		"working directory does not exist: " + w.Path("gone"):     {"command": "cd gone && x"},
		"working directory is not a directory: " + w.Path("file"): {"command": "x", "cwd": "file"},
		"command missing":                                         {},
	} {
		if err := toolstest.Fails(t, w, "bash", in); !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v does not say %q", in, err, want)
		}
	}
	if calls := w.Terminal.(*toolstest.Terminal).Calls(); calls != nil {
		t.Errorf("calls: %v", calls)
	}
	w.FS.Fail = func(op, _ string) error {
		if op == "stat" {
			return &os.PathError{Op: "stat", Path: "x", Err: os.ErrPermission}
		}
		return nil
	}
	if err := toolstest.Fails(t, w, "bash", toolstest.Input{"command": "x"}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v", err)
	}
}

// A line with variables is judged unchanged: before "!" or "for" they would change the command.
func TestBashPlan_JudgesTheLine(t *testing.T) {
	w := bashWorld(t, &toolstest.Terminal{})
	for line, risky := range map[string]bool{
		"go test ./...": false, "for i in 1 2; do echo $i; done": false, "(cd sub && ls)": false, "if true; then ls; fi": false,
		"! rm -rf /elsewhere": true, "export PATH=./x; ls": true, "coproc sudo ls": true, "sudo ls": true,
	} {
		e := toolstest.MustPlan(t, w, "bash", toolstest.Input{"command": line, "env": map[string]string{"CI": "1"}}).Effects[0]
		c := shell.Read(e.Command, w.Dir, &places.Paths{Roots: []string{w.Dir}, Home: "/home/u"})
		if (len(c.Notes) > 0) != risky {
			t.Errorf("%s: %q", line, c.Notes)
		}
	}
	for name, risky := range map[string]bool{"CI": false, "LD_PRELOAD": true, "PATH": true} {
		e := toolstest.MustPlan(t, w, "bash", toolstest.Input{"command": "ls", "env": map[string]string{name: "1"}}).Effects[0]
		c := shell.Read(e.Command, w.Dir, &places.Paths{Roots: []string{w.Dir}, Home: "/home/u"})
		if (len(c.Notes) > 0) != risky {
			t.Errorf("%s: %q", name, c.Notes)
		}
	}
}

// The question includes a call's variables: one like BASH_ENV makes a harmless command run another.
func TestBashPlan_NamesTheEnvironment(t *testing.T) {
	w := bashWorld(t, &toolstest.Terminal{})
	p := toolstest.MustPlan(t, w, "bash", toolstest.Input{"command": "git status", "env": map[string]string{"BASH_ENV": "it's evil.sh", "A": "1"}})
	const want = `A='1' BASH_ENV='it'\''s evil.sh' git status`
	if judged := strings.NewReplacer("A='1' ", "A='1'\n", "' git", "'\ngit").Replace(want); p.Effects[0].Command != judged || p.Title != want {
		t.Errorf("effect %q, title %q; want %q and %q", p.Effects[0].Command, p.Title, judged, want)
	}
	toolstest.Same(t, "content", p.Content, []agent.Content{agent.TextContent{Text: "$ " + want}})
}
