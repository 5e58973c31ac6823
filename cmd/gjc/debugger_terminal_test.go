package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/dap/daptest"
)

// inTerminal makes a fake adapter run a program in the user's terminal on launch. The program stops once it has
// started.
func inTerminal(p *daptest.Program, dir string, args ...string) <-chan *daptest.Answer {
	answered := make(chan *daptest.Answer, 1)
	p.Handle("configurationDone", func(r *daptest.Request) { r.Respond(nil) })
	p.Handle("launch", func(r *daptest.Request) {
		answer := p.AskLater("runInTerminal", map[string]any{
			"kind": "integrated", "title": "the program", "cwd": dir, "args": args, "env": map[string]any{"FROM_ADAPTER": "yes it is", "NOT_THERE": nil},
		})
		go func() { // ends with the answer, or with the test that waits for it
			answered <- <-answer
			r.Respond(nil)
			p.Stop("entry")
		}()
	})
	return answered
}

// A program that an adapter runs in a terminal runs in the editor's, with its exact arguments, and is shown in the tool
// call; the terminal is released with the debug session.
func TestDebugger_EditorsTerminal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the program is for a POSIX shell")
	}
	e, p := startFake(t, &debugEditorOptions{terminal: true}, nil)
	odd := []string{"a b", `"quoted" $HOME`, "", "*"}
	args := append([]string{"/bin/sh", "-c", `printf '%s|' "$FROM_ADAPTER" "$PWD" "$@"; read never`, "sh"}, odd...)
	answered := inTerminal(p, e.work, args...)
	from := len(e.Updates(e.id))
	e.do(t, does("launch program=main.x terminal=true", "Status: stopped", "Location: main.x:1"))
	answer := <-answered
	if !answer.Success {
		t.Errorf("the adapter received %s", answer.Message)
	}
	created := received[acp.CreateTerminalRequest](e)
	if len(created) != 1 {
		t.Fatalf("%d terminals were created", len(created))
	}
	if c := created[0]; c.Command != args[0] || !slices.Equal(c.Args, args[1:]) || c.Cwd != e.work {
		t.Errorf("the terminal is %+v, want %q", c, args)
	}
	shown := acp.TerminalID("")
	for _, u := range e.Updates(e.id)[from:] {
		if u, ok := u.(*acp.ToolCallUpdate); ok {
			content, _ := u.Content.Get()
			for _, part := range content {
				if term, ok := part.(*acp.Terminal); ok {
					shown = term.TerminalID
				}
			}
		}
	}
	if shown == "" {
		t.Error("the tool call does not show the terminal")
	}
	if n := e.OpenTerminals(); n != 1 {
		t.Errorf("%d terminals while the program runs", n)
	}
	e.do(t, debugStep{do: "output", until: "yes it is|"})
	e.do(t, does("terminate", "Debug session terminated."))
	if n := e.OpenTerminals(); n != 0 {
		t.Errorf("%d terminals are left", n)
	}
	if said, want := e.Printed(shown), "yes it is|"+e.work+"|"+strings.Join(odd, "|")+"|"; said != want {
		t.Errorf("the program saw %q, want %q", said, want)
	}
	e.do(t, does("output session=debug-1", "yes it is|"))
	e.stop()
}

// Without the editor's terminals, gjc provides one for the program, and its output arrives.
func TestDebugger_OwnTerminal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the program is for a POSIX shell")
	}
	mark := markOf(t)
	e, p := startFake(t, &debugEditorOptions{env: []string{mark}}, nil)
	answered := inTerminal(p, e.work, "/bin/sh", "-c", `test -t 0 && test -t 1 && echo "a terminal, $FROM_ADAPTER"; read never`)
	e.do(t, does("launch program=main.x terminal=true", "Status: stopped"))
	var started struct {
		ProcessID int `json:"processId"`
	}
	if answer := <-answered; !answer.Success || json.Unmarshal(answer.Body, &started) != nil || started.ProcessID == 0 {
		t.Errorf("the adapter received %+v", answer)
	}
	e.do(t, debugStep{do: "output", until: "a terminal, yes it is"})
	e.do(t, does("terminate", "Debug session terminated."))
	wantOnlyGjc(t, mark)
	e.stop()
	wantNoneLeft(t, mark)
}

// A missing program is reported to the adapter, and through it to the model; the turn does not hang.
func TestDebugger_TerminalThatFails(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{true, false} {
		e, p := startFake(t, &debugEditorOptions{terminal: terminal}, nil)
		missing := filepath.Join(e.work, "nothing-here")
		p.Reply("configurationDone", nil)
		p.Handle("launch", func(r *daptest.Request) {
			answer := p.AskLater("runInTerminal", map[string]any{"cwd": e.work, "args": []string{missing}})
			go func() { r.Refuse("the terminal failed: " + (<-answer).Message) }()
		})
		e.do(t, fails("launch program=main.x terminal=true", "the terminal failed", "nothing-here"))
		e.do(t, does("sessions", "Status: terminated"))
		e.alive(e.id)
		e.stop()
	}
}

// The editor follows to every stop: the tool call's locations have the absolute path and the line.
func TestDebugger_Locations(t *testing.T) {
	t.Parallel()
	e, p := startFake(t, new(debugEditorOptions), nil)
	follow := func(do, want string) {
		t.Helper()
		from := len(e.Updates(e.id))
		e.do(t, does(do, strings.TrimPrefix(want, "W/")))
		if places := e.locations(from); len(places) == 0 || places[len(places)-1] != want {
			t.Errorf("%s: the editor goes to %v, want %s", do, places, want)
		}
	}
	follow("launch program=main.x", "W/main.x:1")
	follow("step_over", "W/main.x:2")
	follow("step_in", "W/main.x:3")
	follow("step_out", "W/main.x:4")
	follow("pause", "W/main.x:4")
	// A call that waits shows the stop when it happens, not only at its end.
	p.Handle("continue", func(r *daptest.Request) {
		r.Respond(map[string]any{"allThreadsContinued": true})
		p.Event("output", map[string]any{"category": "stdout", "output": "half way\n"})
	})
	from, ended := e.later("!debug continue timeout=60")
	e.shows(t, from, "half way")
	select {
	case err := <-ended:
		t.Fatalf("the call is over: %v", err)
	default:
	}
	p.Stop("breakpoint")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if places := e.locations(from); len(places) == 0 || places[len(places)-1] != "W/main.x:4" {
		t.Errorf("the editor goes to %v", places)
	}
	e.do(t, does("output", "half way"))
	e.do(t, does("terminate", "terminated"))
	e.stop()
}

// The program's output is shown while the call runs, with a real adapter too.
func TestDebugger_OutputIsStreamed(t *testing.T) {
	t.Parallel()
	a := goAdapter()
	env := a.env(t)
	e := startDebugEditor(t, &debugEditorOptions{env: env, files: map[string]string{
		"go.mod": "module example.test/live\n\ngo 1.26\n",
		"main.go": `package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Println("before the gate")
	for {
		if _, err := os.Stat(os.Args[1]); err == nil {
			break
		}
	}
	fmt.Println("after the gate")
}
`,
	}})
	gate := filepath.Join(e.work, "gate")
	input, err := json.Marshal(map[string]any{"program": ".", "args": []string{gate}, "stop_on_entry": false, "timeout": 300})
	if err != nil {
		t.Fatal(err)
	}
	from, ended := e.later("!debug launch " + string(input))
	e.shows(t, from, "before the gate")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if call := outcomeOf(e.Updates(e.id)[from:]).only(t); call.Status != "completed" || !strings.Contains(call.Text, "after the gate") {
		t.Errorf("the call ends with %+v", call)
	}
	e.stop()
}

// Source lines come from the disk, like the debugger's: unsaved text was not built.
func TestDebugger_UnsavedText(t *testing.T) {
	t.Parallel()
	e, _ := startFake(t, new(debugEditorOptions), nil)
	e.Open(filepath.Join(e.work, "main.x"), "nothing\nof this\nruns\n")
	text := e.do(t, does("launch program=main.x", "→ 1  one", "  2  two"))
	if strings.Contains(text, "nothing") {
		t.Errorf("the text of the editor is shown as what runs:\n%s", text)
	}
	e.do(t, does("terminate", "terminated"))
	e.stop()
}
