package dap_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/daptest"
)

func TestStart_MessageOrder(t *testing.T) {
	d := newDebugger(t, dap.Options{})
	a, address := daptest.Listen(t)
	path := source(t)
	d.Plan(dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: path, Line: 3, Condition: "x > 1"})
	d.Plan(dap.Breakpoint{Kind: dap.FunctionBreakpoint, Function: "work"})
	started := make(chan *dap.Session, 1)
	go func() {
		s, err := d.Start(within(t), &dap.Start{Request: "launch", Address: address, Dir: filepath.Dir(path), Arguments: map[string]any{"program": "p", "n": 1}})
		if err != nil {
			t.Error(err)
		}
		started <- s
	}()
	r := a.Expect("initialize")
	var init map[string]any
	r.Decode(&init)
	for name, want := range map[string]any{
		"clientID": "gjc", "clientName": "Gajae Code", "adapterID": "gjc", "locale": "en-US", "linesStartAt1": true,
		"columnsStartAt1": true, "pathFormat": "path", "supportsStartDebuggingRequest": true, "supportsVariableType": true,
		"supportsMemoryReferences": true, "supportsInvalidatedEvent": true,
	} {
		if diff := cmp.Diff(want, init[name]); diff != "" {
			t.Errorf("initialize: %s (-want +got):\n%s", name, diff)
		}
	}
	if _, ok := init["supportsRunInTerminalRequest"]; ok {
		t.Error("a debugger without terminals announces them")
	}
	r.Respond(daptest.All())
	s := <-started
	if s.State() != dap.StateLaunching {
		t.Errorf("state = %s", s.State())
	}
	launch := a.Expect("launch")
	if got := string(launch.Arguments); got != `{"n":1,"program":"p"}` {
		t.Errorf("launch = %s", got)
	}
	a.ExpectNone() // configuration waits for the initialized event
	a.Event("output", map[string]any{"output": "building\n"})
	a.Event("initialized", nil)
	got := a.ExpectAll("setBreakpoints", "setFunctionBreakpoints", "setExceptionBreakpoints")
	if state := s.Peek(); state.State != dap.StateConfiguring || !state.Pending {
		t.Errorf("state = %+v", state)
	}
	if args := string(got["setExceptionBreakpoints"].Arguments); args != `{"filters":["uncaught"]}` {
		t.Errorf("setExceptionBreakpoints = %s", args)
	}
	if args := string(got["setBreakpoints"].Arguments); !strings.Contains(args, `"breakpoints":[{"line":3,"condition":"x > 1"}]`) {
		t.Errorf("setBreakpoints = %s", args)
	}
	a.ExpectNone() // configurationDone waits for the answers
	got["setBreakpoints"].Respond(map[string]any{"breakpoints": []any{map[string]any{"id": 7, "verified": true, "line": 4}}})
	got["setFunctionBreakpoints"].Refuse("no such function")
	got["setExceptionBreakpoints"].Respond(nil)
	a.Expect("configurationDone").Respond(nil)
	a.Event("stopped", map[string]any{"reason": "entry", "threadId": 1})
	launch.Respond(nil) // the last answer
	if err := s.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	bps := s.Breakpoints()
	if len(bps) != 3 || !bps[0].Verified || bps[0].ActualLine != 4 || bps[1].Verified || bps[1].Message != "no such function" {
		t.Errorf("breakpoints = %+v", bps)
	}
	if len(d.Planned()) != 0 {
		t.Error("the breakpoints are still planned")
	}
	a.Handle("terminate", func(r *daptest.Request) { r.Respond(nil); a.Event("terminated", nil) })
	a.Handle("disconnect", func(r *daptest.Request) { r.Respond(nil); a.Hangup() })
}

// TestStart_OtherMessageOrders covers adapters that send initialized at once, answer launch before they are configured, or
// report a stop before they answer launch.
func TestStart_OtherMessageOrders(t *testing.T) {
	for _, order := range []string{"initialized first", "launch answered first", "stopped before the launch answer"} {
		t.Run(order, func(t *testing.T) {
			d := newDebugger(t, dap.Options{})
			a, address := daptest.Listen(t)
			daptest.NewProgram(a, source(t), daptest.All())
			switch order {
			case "launch answered first":
				a.Handle("initialize", func(r *daptest.Request) { r.Respond(daptest.All()) })
				a.Handle("launch", func(r *daptest.Request) { r.Respond(nil); a.Event("initialized", nil) })
			case "stopped before the launch answer":
				var launch *daptest.Request
				a.Handle("launch", func(r *daptest.Request) { launch = r })
				a.Handle("configurationDone", func(r *daptest.Request) {
					a.Event("stopped", map[string]any{"reason": "entry", "threadId": 1})
					r.Respond(nil)
					launch.Respond(nil)
				})
			}
			s, err := d.Start(within(t), &dap.Start{Request: "launch", Address: address, Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(within(t)); err != nil {
				t.Fatal(err)
			}
			if snap := snapshot(t, s); snap.State != dap.StateStopped || snap.Stop.Reason != "entry" {
				t.Errorf("snapshot = %+v", snap)
			}
		})
	}
}

// The launch request is sent before the configuration, even if the adapter sends its initialized event at once.
func TestStart_LaunchComesFirst(t *testing.T) {
	for range 20 {
		d := newDebugger(t, dap.Options{})
		a, address := daptest.Listen(t)
		daptest.NewProgram(a, source(t), daptest.All())
		a.Handle("initialize", func(r *daptest.Request) { a.Event("initialized", nil); r.Respond(daptest.All()) })
		var order []string
		a.Handle("launch", func(r *daptest.Request) { order = append(order, r.Command); r.Respond(nil) })
		a.Handle("setExceptionBreakpoints", func(r *daptest.Request) { order = append(order, r.Command); r.Respond(nil) })
		s, err := d.Start(within(t), &dap.Start{Request: "launch", Address: address, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(within(t)); err != nil {
			t.Fatal(err)
		}
		if len(order) == 0 || order[0] != "launch" {
			t.Fatalf("the client asked %v", order)
		}
	}
}

func TestStart_LaunchFails(t *testing.T) {
	d := newDebugger(t, dap.Options{})
	a, address := daptest.Listen(t)
	daptest.NewProgram(a, source(t), daptest.All())
	var launch *daptest.Request
	a.Handle("launch", func(r *daptest.Request) { launch = r })
	a.Handle("configurationDone", func(r *daptest.Request) {
		a.Event("output", map[string]any{"category": "stderr", "output": "main.x:3: syntax error\n"})
		r.Refuse("configuration went wrong")
		launch.Refuse("the build failed")
	})
	s, err := d.Start(within(t), &dap.Start{Request: "launch", Address: address, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Wait(within(t))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"launch failed: the build failed", "configuration went wrong", "main.x:3: syntax error"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	if s.State() != dap.StateTerminated {
		t.Errorf("state = %s", s.State())
	}
	a.Gone()
	if _, err := s.Threads(within(t)); !errors.Is(err, dap.ErrTerminated) {
		t.Errorf("a call after the end: %v", err)
	}
}

// phases returns the requests at which an adapter fails in the tests below.
func phases() []string {
	return []string{"initialize", "launch", "setBreakpoints", "configurationDone", "stackTrace", "variables", "next", "disconnect"}
}

// drive runs a session to its end and returns the first error.
func drive(ctx context.Context, d *dap.Debugger, st *dap.Start, path string) error {
	d.Plan(dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: path, Line: 2})
	s, err := d.Start(ctx, st)
	if err != nil {
		return err
	}
	if err := s.Wait(ctx); err != nil {
		return err
	}
	if _, _, err := s.StackTrace(ctx, 0, 0, 5); err != nil {
		return err
	}
	scopes, err := s.Scopes(ctx, 0)
	if err != nil {
		return err
	}
	if _, _, err := s.Variables(ctx, scopes[0].Ref, dap.Page{}); err != nil {
		return err
	}
	if err := s.Resume(ctx, dap.Resume{Command: "next"}); err != nil {
		return err
	}
	if err := s.Wait(ctx); err != nil {
		return err
	}
	if snap, err := s.Snapshot(ctx); err != nil || snap.Ended != nil {
		return errors.Join(err, snap.Ended)
	}
	return s.Terminate(ctx, true)
}

func TestAdapterDies(t *testing.T) {
	for _, phase := range phases() {
		t.Run(phase, func(t *testing.T) {
			d := newDebugger(t, dap.Options{})
			a, spec := daptest.Process(t)
			p := daptest.NewProgram(a, source(t), daptest.All())
			a.Handle("terminate", func(r *daptest.Request) { r.Respond(nil) })
			a.Handle(phase, func(*daptest.Request) {
				a.Complain("cannot open the program\n")
				a.Exit(3)
			})
			err := drive(within(t), d, &dap.Start{Adapter: spec, Request: "launch", Dir: filepath.Dir(p.Path)}, p.Path)
			if phase == "disconnect" {
				if err != nil {
					t.Errorf("the exit of an adapter during disconnect is an error: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range []string{"exited with code 3", "cannot open the program"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
			if phase != "initialize" && !errors.Is(err, dap.ErrAdapterDied) {
				t.Errorf("error %v is not ErrAdapterDied", err)
			}
		})
	}
}

func TestAdapterSilent(t *testing.T) {
	for _, phase := range phases() {
		t.Run(phase, func(t *testing.T) {
			cause := errors.New("the tool timed out")
			ctx, end := context.WithCancelCause(within(t))
			defer end(nil)
			opts := dap.Options{}
			switch phase {
			case "setBreakpoints", "configurationDone", "stackTrace", "variables":
				opts.RequestTimeout = 2 * time.Second
			}
			d := newDebugger(t, opts)
			a, spec := daptest.Process(t)
			p := daptest.NewProgram(a, source(t), daptest.All())
			a.Handle("terminate", func(r *daptest.Request) { r.Respond(nil) })
			a.Handle(phase, func(*daptest.Request) {})
			switch phase {
			case "initialize":
				spec.Slow = 3 * time.Second
			case "launch":
				a.Handle("initialize", func(r *daptest.Request) { r.Respond(daptest.All()) })
				a.Handle("launch", func(*daptest.Request) { end(cause) })
			case "next":
				a.Handle("next", func(*daptest.Request) { end(cause) })
			}
			err := drive(ctx, d, &dap.Start{Adapter: spec, Request: "launch", Dir: filepath.Dir(p.Path)}, p.Path)
			switch phase {
			case "initialize":
				if err == nil || !strings.Contains(err.Error(), "did not answer initialize") {
					t.Errorf("err = %v", err)
				}
				if len(d.Sessions()) != 0 {
					t.Error("a session is left")
				}
			case "launch", "next":
				if !errors.Is(err, cause) {
					t.Errorf("err = %v", err)
				}
				if s, err := d.Find(""); err != nil || s.State() == dap.StateTerminated {
					t.Errorf("the session is lost: %v", err)
				}
			case "setBreakpoints", "configurationDone":
				if !errors.Is(err, dap.ErrTimeout) {
					t.Errorf("err = %v", err)
				}
			case "disconnect":
				if err != nil {
					t.Error(err)
				}
			default:
				if !errors.Is(err, dap.ErrTimeout) {
					t.Errorf("err = %v", err)
				}
				if s, err := d.Find(""); err != nil || s.State() != dap.StateStopped {
					t.Errorf("the session is lost: %v", err)
				}
			}
		})
	}
}

func TestStart_Connections(t *testing.T) {
	for name, change := range map[string]func(*dap.Spec){
		"stdio":       func(s *dap.Spec) { s.Connect = dap.ConnectStdio },
		"socket":      func(s *dap.Spec) { s.Connect = dap.ConnectSocket },
		"dial port":   func(s *dap.Spec) { s.Connect, s.Args = dap.ConnectDial, []string{"--port=${port}"} },
		"dial socket": func(s *dap.Spec) { s.Connect, s.Args = dap.ConnectDial, []string{"--listen=unix:${socket}"} },
		"listen":      func(s *dap.Spec) { s.Connect, s.Args = dap.ConnectListen, []string{"--client-addr=127.0.0.1:${port}"} },
	} {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			d := newDebugger(t, dap.Options{})
			a, spec := daptest.Process(t)
			change(spec)
			p := daptest.NewProgram(a, source(t), daptest.All())
			before := fileNames(t, tmp)
			s, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: filepath.Dir(p.Path)})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(within(t)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, fileNames(t, tmp)); diff != "" {
				t.Errorf("temporary files (-before +now):\n%s", diff)
			}
			if err := s.Terminate(within(t), true); err != nil {
				t.Error(err)
			}
			if s.State() != dap.StateTerminated {
				t.Errorf("state = %s", s.State())
			}
		})
	}
}

// fileNames returns the names of the files in a directory.
func fileNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestStart_NeverConnects(t *testing.T) {
	for name, change := range map[string]func(*dap.Spec){
		"socket": func(s *dap.Spec) { s.Connect = dap.ConnectSocket },
		"dial":   func(s *dap.Spec) { s.Connect = dap.ConnectDial },
		"listen": func(s *dap.Spec) { s.Connect = dap.ConnectListen },
	} {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			d := newDebugger(t, dap.Options{})
			_, spec := daptest.Process(t)
			change(spec)
			spec.Args, spec.Slow = []string{"--never"}, 300*time.Millisecond
			before := fileNames(t, tmp)
			_, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: t.TempDir()})
			if err == nil || !strings.Contains(err.Error(), "not ready within 300ms") {
				t.Errorf("err = %v", err)
			}
			if diff := cmp.Diff(before, fileNames(t, tmp)); diff != "" {
				t.Errorf("temporary files (-before +now):\n%s", diff)
			}
			if len(d.Sessions()) != 0 {
				t.Error("a session is left")
			}
		})
	}
}

func TestStart_CannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "adapter")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho no such option >&2\nexit 2\n"), 0o700); err != nil { //nolint:gosec // an executable
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		spec dap.Spec
		dir  string
		want []string
	}{
		{"missing", dap.Spec{Path: filepath.Join(dir, "none")}, dir, []string{"cannot start", "install it"}},
		{"not executable", dap.Spec{Path: plain}, dir, []string{"cannot start", "make it executable"}},
		{"no directory", dap.Spec{Path: script}, filepath.Join(dir, "gone"), []string{"cannot use the directory"}},
		{"exits at once", dap.Spec{Path: script}, dir, []string{"exited with code 2", "no such option"}},
		{"exits before it listens", dap.Spec{Path: script, Connect: dap.ConnectSocket}, dir, []string{"exited with code 2", "no such option"}},
		{"unknown connection", dap.Spec{Path: script, Connect: "unknown"}, dir, []string{`unknown connect "unknown"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDebugger(t, dap.Options{})
			tt.spec.Name = "fake"
			_, err := d.Start(within(t), &dap.Start{Adapter: &tt.spec, Request: "launch", Dir: tt.dir})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
	t.Run("no listener", func(t *testing.T) {
		d := newDebugger(t, dap.Options{})
		_, err := d.Start(within(t), &dap.Start{Request: "attach", Address: "unix:" + filepath.Join(dir, "none"), Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "cannot reach a debug adapter") {
			t.Errorf("err = %v", err)
		}
	})
}

func TestStart_TooMany(t *testing.T) {
	d := newDebugger(t, dap.Options{})
	for i := range dap.MaxSessions + 1 {
		a, address := daptest.Listen(t)
		daptest.NewProgram(a, source(t), daptest.All())
		_, err := d.Start(within(t), &dap.Start{Request: "launch", Address: address, Dir: t.TempDir()})
		if i < dap.MaxSessions {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err == nil || err.Error() != "debug session debug-1 is still active; terminate it before launching another" {
			t.Errorf("err = %v", err)
		}
	}
	if s, err := d.Find(""); err != nil || s.ID() != fmt.Sprintf("debug-%d", dap.MaxSessions) {
		t.Errorf("the current session is %v, %v", s, err)
	}
	if s, err := d.Find("debug-2"); err != nil || s.ID() != "debug-2" {
		t.Errorf("debug-2 is %v, %v", s, err)
	} else if err := s.Terminate(within(t), true); err != nil {
		t.Error(err)
	}
	if s, err := d.Find(""); err != nil || s.State() == dap.StateTerminated {
		t.Errorf("the current session has ended: %v", err)
	}
	if _, err := d.Find("debug-9"); err == nil || !strings.Contains(err.Error(), "debug-1, debug-2") {
		t.Errorf("err = %v", err)
	}
	var ids []string
	for _, s := range d.Sessions() {
		ids = append(ids, s.ID())
	}
	if !slices.IsSorted(ids) || len(ids) != dap.MaxSessions {
		t.Errorf("sessions = %v", ids)
	}
}
