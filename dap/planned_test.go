package dap_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/daptest"
)

// TestStart_FailureKeepsBreakpoints checks that the breakpoints of a failed launch are planned for the next one.
func TestStart_FailureKeepsBreakpoints(t *testing.T) {
	for _, failing := range []string{"initialize", "launch"} {
		t.Run(failing, func(t *testing.T) {
			d := newDebugger(t, dap.Options{})
			path := source(t)
			d.Plan(dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: path, Line: 3, Condition: "x > 1"})
			d.Plan(dap.Breakpoint{Kind: dap.FunctionBreakpoint, Function: "work"})
			a, address := daptest.Listen(t)
			daptest.NewProgram(a, path, daptest.All())
			var launch *daptest.Request
			a.Handle("launch", func(r *daptest.Request) { launch = r })
			a.Handle("configurationDone", func(r *daptest.Request) {
				r.Respond(nil)
				d.Plan(dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: path, Line: 3}) // planned meanwhile: takes precedence
				launch.Refuse("it does not build")
			})
			if failing == "initialize" {
				a.Handle("initialize", func(r *daptest.Request) { r.Refuse("refused") })
			}
			s, err := d.Start(within(t), &dap.Start{Request: "launch", Address: address, Dir: t.TempDir()})
			if err == nil {
				err = s.Wait(within(t))
			}
			if err == nil {
				t.Fatal("no error")
			}
			want := []dap.Breakpoint{
				{Kind: dap.SourceBreakpoint, Path: path, Line: 3, Condition: "x > 1"}, {Kind: dap.FunctionBreakpoint, Function: "work"},
			}
			if failing == "launch" {
				want[0].Condition = ""
			}
			if diff := cmp.Diff(want, d.Planned()); diff != "" {
				t.Errorf("planned (-want +got):\n%s", diff)
			}
			b, address := daptest.Listen(t)
			daptest.NewProgram(b, path, daptest.All())
			if s, err = d.Start(within(t), &dap.Start{Request: "launch", Address: address, Dir: t.TempDir()}); err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(within(t)); err != nil {
				t.Fatal(err)
			}
			if list := s.Breakpoints(); len(list) != 3 || !list[0].Verified || len(d.Planned()) != 0 {
				t.Errorf("the next session has %+v; planned: %+v", list, d.Planned())
			}
		})
	}
}
