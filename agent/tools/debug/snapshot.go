package debug

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/text"
)

// Limits of a snapshot's text.
const (
	// maxShownValue bounds a value in a list of values, in characters.
	maxShownValue = 200
	// maxSnapshotOutput bounds the end of the output that is shown with a stop, in bytes.
	maxSnapshotOutput = 8 << 10
)

// report returns the result of an action after which the program is stopped, runs or has ended: one snapshot. A full one includes
// the program and the directory; steps omit them.
func (c *debugCall) report(ctx context.Context, verb string, full bool) (*agent.Result, error) {
	snap, err := c.session.Snapshot(ctx)
	if err != nil {
		if c.turn.Err() != nil {
			return nil, context.Cause(c.turn)
		}
		snap = c.session.Peek() // a partial snapshot is better than none
		c.notes = append(c.notes, "The adapter did not report everything: "+err.Error())
	}
	if full && strings.Contains(strings.ToLower(snap.Output), "no debug info") {
		c.notes = append(c.notes, noDebugInfo+".")
	}
	text := c.snapshotText(snap, verb, full)
	if at := standing(snap); at.Frame != nil {
		c.follow(at.Frame.Path, at.Frame.Line)
	}
	return c.result(ctx, text), nil
}

// standing returns the session that a snapshot describes: a stopped child if the session itself is not stopped.
func standing(s *dap.Snapshot) *dap.Snapshot {
	if s.Stop != nil || s.State == dap.StateStopped {
		return s
	}
	for _, child := range s.Children {
		if at := standing(child); at.Stop != nil {
			return at
		}
	}
	return s
}

// snapshotText formats a snapshot for the model: the outcome, then the state.
func (p *printer) snapshotText(s *dap.Snapshot, verb string, full bool) string {
	var b strings.Builder
	at := standing(s)
	if said := p.outcome(s, at, verb); said != "" {
		b.WriteString(said + "\n")
	}
	switch {
	case full:
		p.writeHead(&b, s)
	case at != s || len(p.openSessions()) > 1:
		fmt.Fprintf(&b, "Session: %s\n", at.ID)
	}
	p.writeStop(&b, at, full)
	writeVariables(&b, at, full)
	p.writeOutput(&b, s)
	if s.ExitCode != nil && (full || verb == "") {
		fmt.Fprintf(&b, "Exit code: %d\n", *s.ExitCode)
	}
	if len(s.Children) > 0 {
		b.WriteString("Child sessions:\n")
		p.writeChildren(&b, s.Children)
	}
	for _, note := range s.Notes {
		b.WriteString(note + "\n")
	}
	return b.String()
}

// outcome describes the result of a step in one sentence.
func (p *printer) outcome(s, at *dap.Snapshot, verb string) string {
	switch {
	case s.State == dap.StateTerminated:
		return ending(s)
	case verb == "":
		return ""
	case at.Stop != nil && at.Frame == nil:
		return verb + " stopped; there is no stack."
	case at.Stop != nil && at.Top != nil:
		return fmt.Sprintf("%s stopped in %s, called at %s.", verb, p.frameText(at.Top), p.place(at.Frame.Path, at.Frame.Line, at.Frame.Column))
	case at.Stop != nil && at.Frame.Path == "":
		return fmt.Sprintf("%s stopped in %s, which has no source on disk.", verb, oneLine(at.Frame.Name, toolkit.MaxShownColumns))
	case at.Stop != nil:
		return fmt.Sprintf("%s stopped at %s.", verb, p.place(at.Frame.Path, at.Frame.Line, at.Frame.Column))
	case s.State == dap.StateRunning:
		return "Program is running."
	default:
		return ""
	}
}

// ending describes in one sentence how a session has ended.
func ending(s *dap.Snapshot) string {
	text := "Program terminated"
	if s.ExitCode != nil {
		text += fmt.Sprintf(" with exit code %d", *s.ExitCode)
	}
	if s.Ended != nil {
		return text + ": " + strings.TrimSuffix(s.Ended.Error(), ".") + "."
	}
	return text + "."
}

// writeHead writes the program and its session.
func (p *printer) writeHead(b *strings.Builder, s *dap.Snapshot) {
	fmt.Fprintf(b, "Session: %s\n%sStatus: %s\n%s", s.ID, between("Adapter: ", s.Adapter, "\n"), s.State, between("CWD: ", s.Dir, "\n"))
	if s.Program != "" {
		fmt.Fprintf(b, "Program: %s\n", toolkit.Display(p.workspace, s.Program))
	}
	if s.PID != 0 {
		fmt.Fprintf(b, "PID: %d\n", s.PID)
	}
	if s.Pending {
		b.WriteString("Configuration: pending configurationDone; set breakpoints, then continue.\n")
	}
}

// writeStop writes where the program is stopped and why.
func (p *printer) writeStop(b *strings.Builder, s *dap.Snapshot, full bool) {
	if stop := s.Stop; stop != nil {
		reason := oneLine(stop.Reason, toolkit.MaxShownColumns)
		for _, more := range []string{stop.Description, stop.Text} {
			if more != "" && !strings.EqualFold(more, stop.Reason) && !strings.Contains(reason, more) {
				reason += ", " + oneLine(more, toolkit.MaxShownColumns)
			}
		}
		fmt.Fprintf(b, "Stop reason: %s\n", reason)
	}
	if e := s.Exception; e != nil {
		fmt.Fprintf(b, "Exception: %s\n", oneLine(strings.TrimSuffix(e.ExceptionId+": "+e.Description, ": "), toolkit.MaxColumns))
	}
	if s.Top != nil && full {
		fmt.Fprintf(b, "Top frame: %s\n", p.frameText(s.Top))
	}
	if f := s.Frame; f != nil {
		fmt.Fprintf(b, "Frame: %s", oneLine(f.Name, toolkit.MaxShownColumns))
		if s.Stop != nil && s.Stop.Thread > 1 {
			fmt.Fprintf(b, " (thread %d)", s.Stop.Thread)
		}
		b.WriteString("\n")
		if full && f.Path != "" {
			fmt.Fprintf(b, "Location: %s\n", p.place(f.Path, f.Line, f.Column))
		}
		if f.InstructionPointer != "" && (full || f.Path == "") {
			fmt.Fprintf(b, "Instruction pointer: %s\n", f.InstructionPointer)
		}
		writeLines(b, s.Lines, f.Line)
	}
}

// writeLines writes source lines with an arrow at the current one.
func writeLines(b *strings.Builder, lines []dap.SourceLine, current int) {
	width := 0
	for _, l := range lines {
		width = max(width, len(fmt.Sprint(l.Number)))
	}
	for _, l := range lines {
		mark := " "
		if l.Number == current {
			mark = "→"
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%s %*d  %s", mark, width, l.Number, toolkit.CutLine(tidySource(l.Text), toolkit.MaxShownColumns)), " ") + "\n")
	}
}

func tidySource(line string) string {
	return strings.ReplaceAll(toolkit.PlainOutput(strings.ToValidUTF8(line, "\uFFFD")), "\t", "    ")
}

// writeVariables writes the variables that have changed, or all if there is no earlier stop to compare with.
func writeVariables(b *strings.Builder, s *dap.Snapshot, all bool) {
	if s.Frame == nil {
		return
	}
	if s.Compared && !all {
		if len(s.Changes) == 0 {
			b.WriteString("Changed since the last stop: nothing\n")
			return
		}
		b.WriteString("Changed since the last stop:\n")
		for _, ch := range s.Changes {
			if ch.New {
				b.WriteString("- " + valueText(ch.Name, ch.Value, ch.Type, 0) + " new\n")
				continue
			}
			fmt.Fprintf(b, "- %s: %s → %s\n", oneLine(ch.Name, toolkit.MaxShownColumns), oneLine(ch.Old, maxShownValue), oneLine(ch.Value, maxShownValue))
		}
		return
	}
	if len(s.Variables) == 0 {
		return
	}
	b.WriteString("Variables:\n")
	for i := range s.Variables {
		v := &s.Variables[i]
		b.WriteString("- " + valueText(v.Name, v.Value, v.Type, v.Ref) + "\n")
	}
	if s.More > 0 {
		fmt.Fprintf(b, "… %s; use scopes and variables to see them\n", text.Count(s.More, "more variable"))
	}
}

// valueText formats a variable on one line.
func valueText(name, value, typ string, ref int) string {
	value = oneLine(value, maxShownValue)
	text := oneLine(name, toolkit.MaxShownColumns) + " = " + value
	if typ != "" && !strings.HasPrefix(value, typ) { // some adapters write the type before the value
		text += " (" + oneLine(typ, toolkit.MaxShownColumns) + ")"
	}
	if ref != 0 {
		text += fmt.Sprintf(" [ref=%d]", ref)
	}
	return text
}

// oneLine returns a value on one line of at most most characters.
func oneLine(value string, most int) string {
	if len(value) > 8*most { // for a value of megabytes, only its start matters
		value = toolkit.CutBytes(value, 8*most) + "…"
	}
	value = toolkit.PlainOutput(strings.ToValidUTF8(value, "\uFFFD"))
	value = strings.NewReplacer("\r\n", `\n`, "\n", `\n`, "\t", " ").Replace(value)
	return toolkit.CutLine(value, most)
}

// writeOutput writes the output since the last stop.
func (p *printer) writeOutput(b *strings.Builder, s *dap.Snapshot) {
	out := strings.TrimRight(s.Output, "\n")
	if strings.TrimSpace(out) == "" && s.Dropped == 0 {
		return
	}
	left := s.Dropped
	if len(out) > maxSnapshotOutput {
		end := out[len(out)-maxSnapshotOutput:]
		if _, rest, ok := strings.Cut(end, "\n"); ok {
			end = rest
		}
		left += int64(len(out) - len(end))
		out = end
	}
	b.WriteString("Output since the last stop:\n")
	if left > 0 {
		fmt.Fprintf(b, "… %s before this; use the action output to see what was kept …\n", toolkit.Size(left))
	}
	b.WriteString(toolkit.TidyOutput(out) + "\n")
}

func (p *printer) writeChildren(b *strings.Builder, children []*dap.Snapshot) {
	for _, s := range children {
		fmt.Fprintf(b, "- %s: %s", s.ID, s.State)
		if s.Program != "" {
			b.WriteString(", " + toolkit.Display(p.workspace, s.Program))
		}
		if s.Frame != nil {
			b.WriteString(", at " + p.place(s.Frame.Path, s.Frame.Line, 0))
		}
		b.WriteString("\n")
		p.writeChildren(b, s.Children)
	}
}

func runDebugSessions(ctx context.Context, c *debugCall) (*agent.Result, error) {
	sessions := c.debugger.Sessions()
	var blocks []string
	for _, s := range sessions {
		snap := s.Peek()
		text := c.snapshotText(snap, "", true)
		if snap.State == dap.StateTerminated {
			text = fmt.Sprintf("Session: %s\nStatus: %s\nProgram: %s\n%s\n", snap.ID, snap.State, toolkit.Display(&c.call.Workspace, snap.Program), ending(snap))
		}
		// The purpose of custom_request may be the adapter's own events.
		for _, e := range s.Events() {
			text = strings.TrimRight(text, "\n") + fmt.Sprintf("\nAdapter event: %q %s", e.Name, toolkit.CutLine(strconv.Quote(e.Body), toolkit.MaxShownColumns))
		}
		blocks = append(blocks, strings.TrimRight(text, "\n"))
	}
	if len(blocks) == 0 {
		blocks = append(blocks, "No debug sessions.")
	}
	if planned := c.debugger.Planned(); len(planned) > 0 {
		blocks = append(blocks, "Kept for the next launch:\n"+strings.TrimRight(c.breakpointsText(planned, true), "\n"))
	}
	return c.result(ctx, strings.Join(blocks, "\n\n")), nil
}

func runDebugOutput(ctx context.Context, c *debugCall) (*agent.Result, error) {
	if c.session == nil {
		return nil, dap.ErrNoSession
	}
	text, dropped := c.session.Output(ctx)
	if text = strings.TrimRight(toolkit.TidyOutput(text), "\n"); text == "" {
		return c.result(ctx, "(no output captured)"), nil
	}
	if dropped > 0 {
		text = fmt.Sprintf("… %s before this were not kept …\n", toolkit.Size(dropped)) + text
	}
	return c.result(ctx, text), nil
}

func runTerminate(ctx context.Context, c *debugCall) (*agent.Result, error) {
	if c.session == nil {
		return c.result(ctx, "No debug session to terminate."), nil
	}
	if c.session.State() == dap.StateTerminated {
		if c.in.Session == "" {
			return c.result(ctx, "No debug session to terminate."), nil
		}
		return c.result(ctx, c.snapshotText(c.session.Peek(), "", true)), nil
	}
	if err := c.session.Terminate(ctx, false); err != nil {
		return nil, err
	}
	snap, err := c.session.Snapshot(ctx)
	if err != nil && !errors.Is(err, dap.ErrTerminated) {
		return nil, err
	}
	if snap == nil {
		snap = c.session.Peek()
	}
	var b strings.Builder
	c.writeHead(&b, snap)
	c.writeOutput(&b, snap)
	if snap.ExitCode != nil {
		fmt.Fprintf(&b, "Exit code: %d\n", *snap.ExitCode)
	}
	b.WriteString("Debug session terminated.")
	return c.result(ctx, b.String()), nil
}
