package dap_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/daptest"
)

// hangingAdapter returns an adapter that does not answer initialize. received is closed when it receives the request.
func hangingAdapter(t *testing.T) (spec *dap.Spec, received chan struct{}) {
	t.Helper()
	a, spec := daptest.Process(t)
	received = make(chan struct{})
	a.Handle("initialize", func(*daptest.Request) { close(received) })
	return spec, received
}

// TestStart_EndedDuringStart checks that Close and Terminate end a start that is under way.
func TestStart_EndedDuringStart(t *testing.T) {
	for name, end := range map[string]func(*dap.Debugger) error{
		"Close": func(d *dap.Debugger) error { return d.Close(within(t)) },
		"Terminate": func(d *dap.Debugger) error {
			s := d.Sessions()[0]
			err := s.Terminate(within(t), false)
			if s.State() != dap.StateTerminated {
				t.Errorf("the session is %s", s.State())
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDebugger(t, dap.Options{})
			spec, received := hangingAdapter(t)
			started := make(chan error, 1)
			go func() {
				_, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: t.TempDir()})
				started <- err
			}()
			<-received
			if err := end(d); err != nil {
				t.Error(err)
			}
			if err := <-started; err == nil {
				t.Error("it was started")
			}
			if len(d.Sessions()) != 0 && name == "Close" {
				t.Error("there is a session")
			}
		})
	}
}

// TestRestart_EndedDuringRestart checks that Terminate ends a restart that is under way.
func TestRestart_EndedDuringRestart(t *testing.T) {
	d := newDebugger(t, dap.Options{})
	a, spec := daptest.Process(t)
	caps := daptest.All()
	caps.SupportsRestartRequest = false
	p := daptest.NewProgram(a, source(t), caps)
	s, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: filepath.Dir(p.Path), Program: p.Path})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	next := a.Next(t)
	received := make(chan struct{})
	next.Handle("initialize", func(*daptest.Request) { close(received) })
	restarted := make(chan error, 1)
	go func() { restarted <- s.Restart(within(t)) }()
	<-received
	if err := s.Restart(within(t)); err == nil || !strings.Contains(err.Error(), "being started already") {
		t.Errorf("a second restart: %v", err)
	}
	if err := s.Terminate(within(t), false); err != nil {
		t.Error(err)
	}
	if err := <-restarted; err == nil {
		t.Error("it was restarted")
	}
	if s.State() != dap.StateTerminated {
		t.Errorf("it is %s", s.State())
	}
}

// TestRestart_Attached checks that a process that was attached to is not killed for a restart.
func TestRestart_Attached(t *testing.T) {
	d := newDebugger(t, dap.Options{})
	a, spec := daptest.Process(t)
	caps := daptest.All()
	caps.SupportsRestartRequest = false
	p := daptest.NewProgram(a, source(t), caps)
	s, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "attach", Arguments: map[string]any{"pid": 1}, Dir: filepath.Dir(p.Path)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(within(t)); !errors.Is(err, dap.ErrUnsupported) || s.State() != dap.StateStopped {
		t.Errorf("%v, and it is %s", err, s.State())
	}
	if err := s.Terminate(within(t), false); err != nil {
		t.Error(err)
	}
	if err := s.Restart(within(t)); !errors.Is(err, dap.ErrUnsupported) {
		t.Errorf("after its end: %v", err)
	}
}

// TestRunInTerminal_AttachedAdapter checks that gjc runs no program for an adapter that it has attached to: it may run on
// another machine.
func TestRunInTerminal_AttachedAdapter(t *testing.T) {
	d := newDebugger(t, dap.Options{RunInTerminal: func(context.Context, *dap.TerminalRequest) (dap.Terminal, error) {
		t.Error("the program was run")
		return nil, errors.New("no")
	}})
	a, address := daptest.Listen(t)
	p := daptest.NewProgram(a, source(t), daptest.All())
	s, err := d.Start(within(t), &dap.Start{Request: "attach", Address: address, Dir: filepath.Dir(p.Path)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if got := a.Ask("runInTerminal", map[string]any{"cwd": "/", "args": []string{"sh", "-c", "evil"}}); got.Success {
		t.Errorf("answer = %+v", got)
	}
}

// TestStart_Temporary checks that the temporary files of an adapter that died are removed.
func TestStart_Temporary(t *testing.T) {
	for name, hang := range map[string]bool{"running": false, "initializing": true} {
		t.Run(name, func(t *testing.T) {
			d := newDebugger(t, dap.Options{})
			a, spec := daptest.Process(t)
			p := daptest.NewProgram(a, source(t), daptest.All())
			left := filepath.Join(t.TempDir(), "left")
			a.Handle("initialize", func(r *daptest.Request) {
				if err := os.WriteFile(left, nil, 0o600); err != nil {
					t.Error(err)
				}
				if hang {
					a.Exit(1)
					return
				}
				r.Respond(daptest.All())
				a.Exit(1)
			})
			s, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: filepath.Dir(p.Path), Temporary: []string{left, left + ".none"}})
			if err == nil {
				_ = s.Wait(within(t)) // it dies
			}
			if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file exists: %v", err)
			}
		})
	}
}

// TestEvaluate_FrameZero checks that the frame ID zero is sent: gdb counts frames from zero.
func TestEvaluate_FrameZero(t *testing.T) {
	_, s, p := begin(t, dap.Options{}, func(p *daptest.Program) {
		p.Handle("stackTrace", func(r *daptest.Request) {
			r.Respond(godap.StackTraceResponseBody{StackFrames: []godap.StackFrame{
				{Id: 0, Name: "top", Line: 1, Source: &godap.Source{Path: p.Path}}, {Id: 1, Name: "below", Line: 2, Source: &godap.Source{Path: p.Path}},
			}})
		})
	})
	var got []string
	for _, command := range []string{"evaluate", "setExpression", "completions", "dataBreakpointInfo"} {
		p.Handle(command, func(r *daptest.Request) {
			got = append(got, r.Command)
			if !strings.Contains(string(r.Arguments), `"frameId":0`) {
				t.Errorf("%s: %s", r.Command, r.Arguments)
			}
			r.Respond(map[string]any{"result": "1", "value": "1", "targets": []any{}, "dataId": "x", "description": "x"})
		})
	}
	frames, _, err := s.StackTrace(within(t), 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Evaluate(within(t), "x", "watch", frames[0].ID); err != nil {
		t.Error(err)
	}
	if _, err := s.SetExpression(within(t), "x", "1", frames[0].ID); err != nil {
		t.Error(err)
	}
	if _, err := s.Completions(within(t), "x", 1, frames[0].ID); err != nil {
		t.Error(err)
	}
	if _, err := s.DataBreakpointInfo(within(t), "x", 0, frames[0].ID); err != nil {
		t.Error(err)
	}
	if len(got) != 4 {
		t.Errorf("requests: %q", got)
	}
}

// TestWait_ChildStartsAfterStop checks that the start of a child session does not hide the stop of another session.
func TestWait_ChildStartsAfterStop(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	if err := s.Resume(within(t), dap.Resume{Command: "continue"}); err != nil {
		t.Fatal(err)
	}
	child := p.Next(t)
	c := daptest.NewProgram(child, p.Path, daptest.All())
	runs := make(chan struct{})
	c.Handle("configurationDone", func(r *daptest.Request) { r.Respond(nil); close(runs) })
	p.Stop("breakpoint")
	if got := p.Ask("startDebugging", map[string]any{"request": "launch", "configuration": map[string]any{"program": "c"}}); !got.Success {
		t.Fatalf("startDebugging: %+v", got)
	}
	<-runs
	ctx, cancel := context.WithTimeout(within(t), 5*time.Second)
	defer cancel()
	if err := s.Wait(ctx); err != nil {
		t.Errorf("Wait: %v; state %s", err, s.State())
	}
}

// TestCapabilities_FiltersReplaced checks that the filters of a capabilities event replace the earlier ones entirely.
func TestCapabilities_FiltersReplaced(t *testing.T) {
	_, s, p := begin(t, dap.Options{}, func(p *daptest.Program) {
		caps := daptest.All()
		caps.ExceptionBreakpointFilters = []godap.ExceptionBreakpointsFilter{{Filter: "a", Label: "A", Default: true, Description: "of a"}}
		p.Handle("initialize", func(r *daptest.Request) { r.Respond(caps); p.Event("initialized", nil) })
	})
	before := s.ExceptionFilters()
	p.Event("capabilities", map[string]any{"capabilities": map[string]any{"exceptionBreakpointFilters": []any{map[string]any{"filter": "b", "label": "B"}}}})
	if _, err := s.Threads(within(t)); err != nil {
		t.Fatal(err)
	}
	if before[0].Filter != "a" {
		t.Errorf("the list that was returned before has changed: %+v", before)
	}
	if got := s.ExceptionFilters(); len(got) != 1 || got[0] != (godap.ExceptionBreakpointsFilter{Filter: "b", Label: "B"}) {
		t.Errorf("filters = %+v", got)
	}
}

// TestInitializedEvent_WhileStopped checks that a second initialized event does not change a stopped program.
func TestInitializedEvent_WhileStopped(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	p.Event("initialized", nil)
	if _, err := s.Threads(within(t)); err != nil {
		t.Fatal(err)
	}
	if s.State() != dap.StateStopped {
		t.Errorf("it is %s", s.State())
	}
	if _, _, err := s.StackTrace(within(t), 0, 0, 0); err != nil {
		t.Error(err)
	}
}

// TestBreakpoints_VerifiedByPresentAdapter checks that Verified is the current adapter's answer for the current list.
func TestBreakpoints_VerifiedByPresentAdapter(t *testing.T) {
	d := newDebugger(t, dap.Options{})
	a, spec := daptest.Process(t)
	caps := daptest.All()
	caps.SupportsRestartRequest = false
	p := daptest.NewProgram(a, source(t), caps)
	s, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: filepath.Dir(p.Path)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	at := dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: p.Path, Line: 3}
	if list, err := s.SetBreakpoint(within(t), at); err != nil || !list[0].Verified {
		t.Fatalf("%+v, %v", list, err)
	}
	p.Reply("setBreakpoints", godap.SetBreakpointsResponseBody{}) // no status
	at.Condition = "x"
	if list, err := s.SetBreakpoint(within(t), at); err != nil || list[0].Verified || list[0].Message == "" {
		t.Errorf("after an answer without a status: %+v, %v", list, err)
	}
	p.Reply("setBreakpoints", godap.SetBreakpointsResponseBody{Breakpoints: []godap.Breakpoint{{Id: 1, Verified: true}}})
	if list, err := s.SetBreakpoint(within(t), at); err != nil || !list[0].Verified {
		t.Fatalf("%+v, %v", list, err)
	}
	b, second := daptest.Process(t)
	spec.Env = second.Env
	daptest.NewProgram(b, p.Path, caps).Handle("launch", func(*daptest.Request) {
		for _, o := range s.Breakpoints() {
			if o.Kind == dap.SourceBreakpoint && o.Verified {
				t.Errorf("before the new adapter has received it: %+v", o)
			}
		}
		b.Exit(1)
	})
	b.Handle("initialize", func(r *daptest.Request) { r.Respond(caps) })
	if err := s.Restart(within(t)); err != nil {
		t.Fatal(err)
	}
	_ = s.Wait(within(t)) // it dies
}
