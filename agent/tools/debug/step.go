package debug

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/dap"
)

// wait waits for the next stop or the end and reports it. After a timeout the program keeps running.
func (c *debugCall) wait(ctx context.Context, verb string, full bool) (*agent.Result, error) {
	err := c.session.Wait(ctx)
	if c.stopped != nil {
		c.stopped()
	}
	switch {
	case c.turn.Err() != nil:
		return nil, context.Cause(c.turn)
	case err == nil:
		return c.report(c.after(ctx), verb, full)
	case ctx.Err() != nil:
		return c.stillRunning(verb, full)
	default:
		return nil, err
	}
}

// after returns the context for requests after the program has stopped. The time that the program took does not reduce the
// adapter's time.
func (c *debugCall) after(ctx context.Context) context.Context {
	if ctx.Err() == nil {
		return ctx
	}
	return c.turn
}

// stillRunning reports a program that did not stop in time.
func (c *debugCall) stillRunning(verb string, full bool) (*agent.Result, error) {
	ctx, cancel := context.WithTimeout(c.turn, toolkit.AfterTimeout)
	defer cancel()
	snap, err := c.session.Snapshot(ctx)
	if err != nil {
		snap = c.session.Peek()
	}
	text := c.snapshotText(snap, "", full)
	said := fmt.Sprintf("Program is still running after %ss. Use pause to interrupt and inspect state.", toolkit.Seconds(c.seconds))
	switch {
	case snap.Stop != nil || snap.State == dap.StateTerminated: // it has stopped meanwhile
		return c.report(ctx, verb, full)
	case snap.State == dap.StateLaunching || snap.State == dap.StateConfiguring:
		said = fmt.Sprintf("The program is still starting after %ss: the adapter is building or loading it. Use continue to wait for its first stop.", toolkit.Seconds(c.seconds))
	}
	return c.result(ctx, said+"\n"+text), nil
}

// resume resumes the program and waits.
func (c *debugCall) resume(ctx context.Context, r dap.Resume) (*agent.Result, error) {
	if err := c.session.Resume(ctx, r); err != nil {
		return nil, err
	}
	return c.wait(ctx, c.action.verb, false)
}

// runContinue resumes the program. It also waits for a program that is already running.
func runContinue(ctx context.Context, c *debugCall) (*agent.Result, error) {
	if c.session.State() != dap.StateStopped {
		return c.wait(ctx, c.action.verb, false)
	}
	return c.resume(ctx, dap.Resume{Command: "continue", Thread: c.in.Thread})
}

func runStep(ctx context.Context, c *debugCall) (*agent.Result, error) {
	r := dap.Resume{Command: c.action.command, Thread: c.in.Thread, Frame: c.in.FrameID, Granularity: c.in.Granularity}
	switch {
	case c.in.Target != nil:
		r.Target = *c.in.Target
	case r.Command == "goto":
		targets, err := c.session.GotoTargets(ctx, c.path, c.in.Line)
		if err != nil {
			return nil, err
		}
		if len(targets) == 0 {
			return nil, fmt.Errorf("no goto target at %s; goto_targets lists the targets of a line", c.place(c.path, c.in.Line, 0))
		}
		r.Target = targets[0].Id
	}
	return c.resume(ctx, r)
}

func runPause(ctx context.Context, c *debugCall) (*agent.Result, error) {
	if c.session.State() == dap.StateStopped {
		c.notes = append(c.notes, "The program was already stopped.")
	} else if err := c.session.Pause(ctx, c.in.Thread); err != nil {
		return nil, err
	}
	err := c.session.Wait(ctx)
	switch {
	case c.turn.Err() != nil:
		return nil, context.Cause(c.turn)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("the program has not paused within %ss; it may be in a call that the debugger cannot interrupt. Try again, or terminate", toolkit.Seconds(c.seconds))
	case err != nil:
		return nil, err
	}
	res, err := c.report(ctx, "", false)
	if err != nil {
		return nil, err
	}
	if c.session.State() == dap.StateStopped {
		said := "Program paused."
		if len(res.Locations) > 0 {
			said = "Program paused at " + c.place(res.Locations[0].Path, res.Locations[0].Line, 0) + "."
		}
		res.Text = said + "\n" + res.Text
	}
	return res, nil
}

// runRestart restarts the program.
func runRestart(ctx context.Context, c *debugCall) (*agent.Result, error) {
	if c.session == nil {
		return nil, dap.ErrNoSession
	}
	if err := c.session.Restart(ctx); err != nil {
		return nil, err
	}
	return c.wait(ctx, "Restart", true)
}

// runRunTo runs the program to a line. It always removes its breakpoint, and restores one that existed before.
func runRunTo(ctx context.Context, c *debugCall) (*agent.Result, error) {
	if c.session.State() != dap.StateStopped {
		return nil, fmt.Errorf("run_to needs a stopped program; %w", dap.ErrRunning)
	}
	want := dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: c.path, Line: c.in.Line}
	list := c.session.Breakpoints()
	at := slices.IndexFunc(list, func(b dap.Breakpoint) bool { return samePlace(&b, &want) })
	plain := at >= 0 && list[at].Condition == "" && list[at].HitCondition == "" && list[at].LogMessage == ""
	if !plain {
		before, was, temporary := list, at, want
		c.stopped = sync.OnceFunc(func() { c.restore(before, was, &temporary) })
		defer c.stopped()
		set, err := c.session.SetBreakpoint(ctx, want)
		if err != nil {
			return nil, err
		}
		list, at = set, slices.IndexFunc(set, func(b dap.Breakpoint) bool { return samePlace(&b, &want) })
	}
	if at < 0 {
		return nil, fmt.Errorf("the adapter did not keep the breakpoint at %s", c.place(c.path, c.in.Line, 0))
	}
	there := list[at]
	if !there.Verified {
		return nil, fmt.Errorf("no loaded code at %s%s. The program was not resumed. Give a line with a statement; if the code is loaded later, use set_breakpoint and continue",
			c.place(c.path, c.in.Line, 0), inParentheses(there.Message))
	}
	if there.ActualLine != 0 && there.ActualLine != want.Line {
		c.notes = append(c.notes, fmt.Sprintf("Line %d has no code of its own; using line %d instead.", want.Line, there.ActualLine))
		want.Line = there.ActualLine
	}
	if there.ActualPath != "" {
		want.Path = there.ActualPath
	}
	if err := c.session.Resume(ctx, dap.Resume{Command: "continue", Thread: c.in.Thread}); err != nil {
		return nil, err
	}
	res, err := c.wait(ctx, "Run to line", false)
	if err != nil {
		return nil, err
	}
	snap := c.session.Peek()
	switch {
	case snap.State == dap.StateTerminated:
		res.Text = fmt.Sprintf("The program ended before it reached %s.\n", c.place(c.path, c.in.Line, 0)) + res.Text
	case snap.Stop == nil:
		if !plain {
			res.Text += "\n\n[The breakpoint for run_to was removed; use set_breakpoint to set one that stays.]"
		}
	case snap.Frame == nil || snap.Frame.Line != want.Line || !sameFile(snap.Frame.Path, want.Path):
		res.Text = fmt.Sprintf("It stopped elsewhere before it reached %s.\n", c.place(c.path, c.in.Line, 0)) + res.Text
	}
	return res, nil
}

// restore removes the breakpoint of run_to, or restores the conditions of the earlier one.
func (c *debugCall) restore(before []dap.Breakpoint, at int, temporary *dap.Breakpoint) {
	if c.session.State() == dap.StateTerminated {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.turn), toolkit.AfterTimeout)
	defer cancel()
	var err error
	if at >= 0 {
		_, err = c.session.SetBreakpoint(ctx, before[at])
	} else {
		_, err = c.session.RemoveBreakpoint(ctx, *temporary)
	}
	if err != nil && !errors.Is(err, dap.ErrTerminated) {
		c.notes = append(c.notes, "The breakpoint of run_to may still be set: "+err.Error())
	}
}

func samePlace(a, b *dap.Breakpoint) bool {
	return a.Kind == dap.SourceBreakpoint && sameFile(a.Path, b.Path) && a.Line == b.Line
}

// sameFile compares paths from adapters: some change the case of a drive letter.
func sameFile(a, b string) bool {
	a, b = filepath.Clean(a), filepath.Clean(b)
	return a == b || filepath.VolumeName(a) != "" && strings.EqualFold(a, b)
}

func inParentheses(message string) string {
	return between(" (", strings.TrimRight(message, ". "), ")")
}

func runStepInTargets(ctx context.Context, c *debugCall) (*agent.Result, error) {
	targets, err := c.session.StepInTargets(ctx, c.in.FrameID)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, t := range targets {
		fmt.Fprintf(&b, "- %d: %s\n", t.Id, oneLine(t.Label, toolkit.MaxShownColumns))
	}
	if b.Len() == 0 {
		return c.result(ctx, "No functions to step into here; step_in goes into the next one."), nil
	}
	return c.result(ctx, "Step-in targets (step_in with target):\n"+b.String()), nil
}

func runGotoTargets(ctx context.Context, c *debugCall) (*agent.Result, error) {
	targets, err := c.session.GotoTargets(ctx, c.path, c.in.Line)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, t := range targets {
		fmt.Fprintf(&b, "- %d: %s", t.Id, oneLine(t.Label, toolkit.MaxShownColumns))
		if t.Line > 0 {
			fmt.Fprintf(&b, " @ line %d", t.Line)
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return c.result(ctx, "No goto target at "+c.place(c.path, c.in.Line, 0)+"."), nil
	}
	return c.result(ctx, "Goto targets (goto with target):\n"+b.String()), nil
}
