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

// hanging is an adapter that does not answer initialize. It tells when it was asked.
func hanging(t *testing.T) (a *daptest.Adapter, spec *dap.Spec, asked chan struct{}) {
	t.Helper()
	a, spec = daptest.Process(t)
	asked = make(chan struct{})
	a.Handle("initialize", func(*daptest.Request) { close(asked) })
	return a, spec, asked
}

// Who closes the debugger, or ends the session, ends a start that is under way too.
func TestStart_EndedMeanwhile(t *testing.T) {
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
			_, spec, asked := hanging(t)
			started := make(chan error, 1)
			go func() {
				_, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: t.TempDir()})
				started <- err
			}()
			<-asked
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

// A session that is ended while it is restarted does not come back.
func TestRestart_EndedMeanwhile(t *testing.T) {
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
	asked := make(chan struct{})
	next.Handle("initialize", func(*daptest.Request) { close(asked) })
	restarted := make(chan error, 1)
	go func() { restarted <- s.Restart(within(t)) }()
	<-asked
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

// A process that was attached to is not killed to be attached to once more.
func TestRestart_OfAnAttachedProcess(t *testing.T) {
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
		t.Errorf("behind its end: %v", err)
	}
}

// An adapter that was there before may be another machine's: it has nothing run here.
func TestRunInTerminal_OfAnAttachedAdapter(t *testing.T) {
	d := newDebugger(t, dap.Options{RunInTerminal: func(context.Context, *dap.TerminalRequest) (dap.Terminal, error) {
		t.Error("it was run")
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

// What an adapter that is killed leaves of its files is removed.
func TestStart_Temporary(t *testing.T) {
	for name, hang := range map[string]bool{"running": false, "beginning": true} {
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
				t.Errorf("the file is there: %v", err)
			}
		})
	}
}

// Frames are counted from zero by gdb: zero is said too.
func TestEvaluate_InFrameZero(t *testing.T) {
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
		t.Errorf("asked: %q", got)
	}
}

// A child session that begins makes no old stop of that of another one.
func TestWait_AChildBeginsBehindAStop(t *testing.T) {
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
		t.Errorf("Wait: %v, and it is %s", err, s.State())
	}
}

// What an event says of filters takes nothing over from those that there were.
func TestCapabilities_FiltersAreReplaced(t *testing.T) {
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
		t.Errorf("the list that was given out has changed: %+v", before)
	}
	if got := s.ExceptionFilters(); len(got) != 1 || got[0] != (godap.ExceptionBreakpointsFilter{Filter: "b", Label: "B"}) {
		t.Errorf("filters = %+v", got)
	}
}

// An adapter that says initialized once more is told nothing of a program that stands still, and that stays so.
func TestInitialized_AgainWhileStopped(t *testing.T) {
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

// Verified is what the adapter of now has verified.
func TestBreakpoints_VerifiedByThisAdapter(t *testing.T) {
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
	p.Reply("setBreakpoints", godap.SetBreakpointsResponseBody{}) // it forgets to say
	at.Condition = "x"
	if list, err := s.SetBreakpoint(within(t), at); err != nil || list[0].Verified || list[0].Message == "" {
		t.Errorf("behind an answer without it: %+v, %v", list, err)
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
				t.Errorf("before the new adapter was told: %+v", o)
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
