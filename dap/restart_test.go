package dap_test

import (
	"path/filepath"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/daptest"
)

// TestRestart_Planned checks that breakpoints that were planned after the end of the program are set before it runs again.
func TestRestart_Planned(t *testing.T) {
	d := newDebugger(t, dap.Options{})
	a, spec := daptest.Process(t)
	p := daptest.NewProgram(a, source(t), daptest.All())
	s, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: filepath.Dir(p.Path)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Terminate(within(t), true); err != nil {
		t.Fatal(err)
	}
	d.Plan(dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: p.Path, Line: 7})
	b, second := daptest.Process(t)
	again := daptest.NewProgram(b, p.Path, daptest.All())
	spec.Env = second.Env // the next process is controlled by the second adapter
	lines := make(chan int, 9)
	b.Handle("setBreakpoints", func(r *daptest.Request) {
		var args godap.SetBreakpointsArguments
		r.Decode(&args)
		for _, b := range args.Breakpoints {
			lines <- b.Line
		}
		r.Respond(nil)
	})
	b.Handle("configurationDone", func(r *daptest.Request) {
		lines <- 0
		r.Respond(nil)
		again.Stop("entry")
	})
	if err := s.Restart(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if line, done := <-lines, <-lines; line != 7 || done != 0 {
		t.Errorf("the adapter received line %d, then %d; want 7, then 0 for configurationDone", line, done)
	}
	if list := d.Planned(); len(list) > 0 {
		t.Errorf("still planned: %+v", list)
	}
}
