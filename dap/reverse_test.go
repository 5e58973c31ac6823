package dap_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/daptest"
)

// terminal is a fake terminal.
type terminal struct {
	id       string
	mu       sync.Mutex
	text     string
	released int
}

func (t *terminal) ID() string                        { return t.id }
func (t *terminal) PID() int                          { return 4321 }
func (t *terminal) Wait(context.Context) (int, error) { return 0, nil }
func (t *terminal) Output(context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text, nil
}

func (t *terminal) Release(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released++
	return nil
}

func TestRunInTerminal(t *testing.T) {
	term := &terminal{id: "term-1", text: "hello from the terminal\n"}
	var req *dap.TerminalRequest
	_, s, p := begin(t, dap.Options{RunInTerminal: func(_ context.Context, r *dap.TerminalRequest) (dap.Terminal, error) {
		req = r
		return term, nil
	}})
	ids := make(chan string, 2)
	defer s.Observe(dap.Observer{Terminal: func(id string) { ids <- id }})()
	answer := p.Ask("runInTerminal", map[string]any{
		"kind": "integrated", "title": "x", "cwd": "/w", "args": []string{"prog", "a b", "$c"}, "env": map[string]any{"A": "1", "B": nil},
	})
	if !answer.Success || string(answer.Body) != `{"processId":4321}` {
		t.Errorf("answer = %+v", answer)
	}
	if id := <-ids; id != "term-1" {
		t.Errorf("terminal = %s", id)
	}
	if diff := cmp.Diff([]string{"prog", "a b", "$c"}, req.Args); diff != "" || req.Dir != "/w" || req.Env[0] != "A=1" || len(req.Env) != 2 || req.Unset[0] != "B" {
		t.Errorf("request = %+v", req)
	}
	if snap := snapshot(t, s); snap.Output != "hello from the terminal\n" || snap.PID != 4321 {
		t.Errorf("snapshot = %+v", snap)
	}
	term.mu.Lock()
	term.text += "more\n"
	term.mu.Unlock()
	if snap := snapshot(t, s); snap.Output != "more\n" {
		t.Errorf("output = %q", snap.Output)
	}
	for name, args := range map[string]map[string]any{"no arguments": {"cwd": "/w", "args": []string{}}, "an empty one": {"cwd": "/w", "args": []string{""}}} {
		if answer := p.Ask("runInTerminal", args); answer.Success || answer.Message == "" {
			t.Errorf("%s: %+v", name, answer)
		}
	}
	if err := s.Terminate(within(t), true); err != nil {
		t.Fatal(err)
	}
	if term.released != 1 {
		t.Errorf("the terminal was released %d times", term.released)
	}
}

func TestReverse_Refused(t *testing.T) {
	_, _, p := begin(t, dap.Options{})
	for command, args := range map[string]map[string]any{
		"runInTerminal": {"cwd": "/w", "args": []string{"x"}}, "handshake": {"value": "x"},
		"startDebugging": {"request": "unknown", "configuration": map[string]any{}},
	} {
		if answer := p.Ask(command, args); answer.Success || answer.Message == "" {
			t.Errorf("%s: %+v", command, answer)
		}
	}
}

// TestStartDebugging simulates js-debug: the launched session has no program, and starts a child session for each process.
func TestStartDebugging(t *testing.T) {
	d := newDebugger(t, dap.Options{})
	a, address := daptest.Listen(t)
	p := daptest.NewProgram(a, source(t), daptest.All())
	p.Handle("configurationDone", func(r *daptest.Request) { r.Respond(nil) })
	s, err := d.Start(within(t), &dap.Start{Request: "launch", Address: address, Dir: filepath.Dir(p.Path), Program: "server.js"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetBreakpoint(within(t), dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: p.Path, Line: 5}); err != nil {
		t.Fatal(err)
	}
	// The child connects to the address of its parent.
	c := a.Next(t)
	child := daptest.NewProgram(c, p.Path, daptest.All())
	launched := make(chan string, 1)
	child.Handle("launch", func(r *daptest.Request) { launched <- string(r.Arguments); r.Respond(nil) })
	answer := a.Ask("startDebugging", map[string]any{"request": "launch", "configuration": map[string]any{"name": "worker", "__pendingTargetId": "7"}})
	if !answer.Success {
		t.Fatalf("answer = %+v", answer)
	}
	if err := s.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if got := <-launched; got != `{"__pendingTargetId":"7","name":"worker"}` {
		t.Errorf("launch = %s", got)
	}
	if got := strings.Join(c.Seen(), " "); !strings.Contains(got, "setBreakpoints") {
		t.Errorf("the child did not receive the breakpoints: %s", got)
	}
	snap := snapshot(t, s)
	if snap.State != dap.StateStopped || snap.Frame == nil || len(snap.Children) != 1 || snap.Children[0].ID != "debug-1.1" || snap.Children[0].Program != "worker" {
		t.Errorf("snapshot = %+v", snap)
	}
	resume(t, s, "next")
	if got := strings.Join(c.Seen(), " "); !strings.Contains(got, "next") {
		t.Errorf("the step did not go to the child: %s", got)
	}
	if only, err := d.Find("debug-1.1"); err != nil || only.State() != dap.StateStopped {
		t.Errorf("debug-1.1: %v", err)
	}
	child.Handle("continue", func(r *daptest.Request) { r.Respond(nil); child.End(0); p.End(0) })
	resume(t, s, "continue")
	if s.State() != dap.StateTerminated {
		t.Errorf("state = %s", s.State())
	}
	a.Gone()
	c.Gone()
}

func TestStartDebugging_OwnProcess(t *testing.T) {
	_, s, a, p, spec := beginProcess(t)
	b, second := daptest.Process(t)
	daptest.NewProgram(b, p.Path, daptest.All())
	spec.Env = second.Env
	if answer := a.Ask("startDebugging", map[string]any{"request": "attach", "configuration": map[string]any{"port": 5}}); !answer.Success {
		t.Fatalf("answer = %+v", answer)
	}
	if err := s.Terminate(within(t), true); err != nil {
		t.Fatal(err)
	}
	a.Gone()
	b.Gone()
}

// TestStartDebugging_Fails checks that the failed start of a child session is reported to the adapter and does not end the
// parent.
func TestStartDebugging_Fails(t *testing.T) {
	d, s, a, _, spec := beginProcess(t)
	b, second := daptest.Process(t)
	b.Handle("initialize", func(r *daptest.Request) { r.Refuse("no more sessions") })
	spec.Env = second.Env
	if answer := a.Ask("startDebugging", map[string]any{"request": "launch", "configuration": map[string]any{}}); answer.Success || !strings.Contains(answer.Message, "no more sessions") {
		t.Fatalf("answer = %+v", answer)
	}
	resume(t, s, "next")
	if snap := snapshot(t, s); snap.State != dap.StateStopped || len(snap.Children) != 1 || snap.Children[0].State != dap.StateTerminated {
		t.Errorf("snapshot = %+v", snap)
	}
	if _, err := d.Find("debug-1.1"); err != nil {
		t.Error(err)
	}
}
