package debug

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/dap"
)

// breakpoint returns the breakpoint that the call is about.
func (c *debugCall) breakpoint() dap.Breakpoint {
	in := c.in
	b := dap.Breakpoint{Kind: dap.SourceBreakpoint, Condition: in.Condition, HitCondition: string(in.HitCondition), LogMessage: in.LogMessage}
	switch {
	case strings.Contains(in.Action, "instruction"):
		b.Kind, b.Instruction, b.Offset, b.LogMessage = dap.InstructionBreakpoint, in.InstructionReference, in.Offset, ""
	case strings.Contains(in.Action, "data"):
		b.Kind, b.DataID, b.AccessType, b.LogMessage = dap.DataBreakpoint, in.DataID, in.AccessType, ""
	case in.Function != "":
		b.Kind, b.Function = dap.FunctionBreakpoint, in.Function
	default:
		b.Path, b.Line, b.Column = c.path, in.Line, in.Column
	}
	return b
}

func runSetBreakpoint(ctx context.Context, c *debugCall) (*agent.Result, error) {
	b := c.breakpoint()
	switch {
	case b.Kind == dap.FunctionBreakpoint && b.LogMessage != "":
		return nil, fmt.Errorf("%w for debug: log_message goes with file and line, not with a function", agent.ErrBadInput)
	case b.AccessType != "" && b.AccessType != "read" && b.AccessType != "write" && b.AccessType != "readWrite":
		return nil, fmt.Errorf("%w for debug: access_type is %q; it must be read, write or readWrite", agent.ErrBadInput, b.AccessType)
	case b.Kind == dap.SourceBreakpoint:
		if err := c.sourceThere(ctx); err != nil {
			return nil, err
		}
	}
	if c.session == nil {
		return c.planned(ctx, &b, c.debugger.Plan(b)), nil
	}
	list, err := c.session.SetBreakpoint(ctx, b)
	if err != nil {
		return nil, err
	}
	return c.result(ctx, c.listText(&b, list, false)), nil
}

func runRemoveBreakpoint(ctx context.Context, c *debugCall) (*agent.Result, error) {
	b := c.breakpoint()
	if c.session == nil {
		return c.planned(ctx, &b, c.debugger.Unplan(b)), nil
	}
	before := len(c.session.Breakpoints())
	list, err := c.session.RemoveBreakpoint(ctx, b)
	if err != nil {
		return nil, err
	}
	if len(c.session.Breakpoints()) == before {
		c.notes = append(c.notes, "There was no breakpoint there.")
	}
	return c.result(ctx, c.listText(&b, list, false)), nil
}

// sourceThere returns an error for a breakpoint in a file that does not exist.
func (c *debugCall) sourceThere(ctx context.Context) error {
	info, err := c.call.FS.Stat(ctx, c.path)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		if c.session != nil {
			for _, s := range c.session.Breakpoints() { // the adapter may know files that are not on the disk
				if sameFile(s.Path, c.path) {
					return nil
				}
			}
		}
		if _, rerr := c.call.FS.ReadFile(ctx, c.path); rerr == nil {
			return nil // an unsaved new file in the editor
		}
		return toolkit.Missing(ctx, c.call, c.path)
	case info.IsDir():
		return fmt.Errorf("%s is a directory; give the path of a source file", c.place(c.path, 0, 0))
	}
	return nil
}

// planned returns the result of an action on the breakpoints that are stored for the next launch.
func (c *debugCall) planned(ctx context.Context, b *dap.Breakpoint, all []dap.Breakpoint) *agent.Result {
	var list []dap.Breakpoint
	for _, o := range all {
		if o.Kind == b.Kind && (b.Kind != dap.SourceBreakpoint || sameFile(o.Path, b.Path)) {
			list = append(list, o)
		}
	}
	text := c.listText(b, list, true)
	if len(list) > 0 {
		text += "No session is open: they are kept for the next launch.\n"
	}
	return c.result(ctx, text)
}

// listText returns a list of the breakpoints in b's file or of b's kind.
func (p *printer) listText(b *dap.Breakpoint, list []dap.Breakpoint, planned bool) string {
	if len(list) == 0 {
		return p.listHead(b) + "(none)\n"
	}
	return p.breakpointsText(list, planned)
}

// listHeads are the headings of lists of breakpoints that are not in files.
var listHeads = map[dap.BreakpointKind]string{
	dap.FunctionBreakpoint: "Function breakpoints:\n", dap.InstructionBreakpoint: "Instruction breakpoints:\n",
	dap.DataBreakpoint: "Data breakpoints:\n", dap.ExceptionBreakpoint: "Exception breakpoints:\n",
}

func (p *printer) listHead(b *dap.Breakpoint) string {
	if head := listHeads[b.Kind]; head != "" {
		return head
	}
	return "Breakpoints for " + p.place(b.Path, 0, 0) + ":\n"
}

// breakpointsText lists breakpoints under a heading for each file and kind.
func (p *printer) breakpointsText(list []dap.Breakpoint, planned bool) string {
	var heads []string
	groups := make(map[string][]string)
	for i := range list {
		b := &list[i]
		head := p.listHead(b)
		if groups[head] == nil {
			heads = append(heads, head)
		}
		groups[head] = append(groups[head], "- "+p.breakpointText(b, planned)+"\n")
	}
	var text strings.Builder
	for _, head := range heads {
		text.WriteString(head + strings.Join(groups[head], ""))
	}
	return text.String()
}

// breakpointText describes one breakpoint: its requested and its actual location, whether the adapter has found code there, and its
// conditions.
func (p *printer) breakpointText(b *dap.Breakpoint, planned bool) string {
	text := cmp.Or(b.Function, b.Instruction, b.DataID, b.Filter)
	if b.Offset != 0 {
		text += fmt.Sprintf("%+d", b.Offset)
	}
	if b.Kind == dap.SourceBreakpoint {
		text = fmt.Sprintf("line %d", b.Line)
		if b.Column > 0 {
			text += fmt.Sprintf(":%d", b.Column)
		}
		if b.ActualLine != 0 && b.ActualLine != b.Line {
			text += fmt.Sprintf(" → %d", b.ActualLine)
		}
	}
	switch {
	case planned:
		text += ": kept for the next launch"
	case b.Verified:
		text += ": verified"
	case b.Kind == dap.ExceptionBreakpoint && b.Message == "":
		text += ": on"
	default:
		text += ": pending"
	}
	if b.ActualPath != "" && b.Kind == dap.FunctionBreakpoint {
		text += " at " + p.place(b.ActualPath, b.ActualLine, 0)
	}
	text += between(" if ", b.Condition, "") + between(" hits ", b.HitCondition, "")
	if b.LogMessage != "" {
		text += fmt.Sprintf(" logs %q", b.LogMessage)
	}
	return text + between(" on ", b.AccessType, "") + between(" (", oneLine(b.Message, maxShownValue), ")")
}

// between returns a text enclosed in two others, or "" if it is empty.
func between(before, text, after string) string {
	if text == "" {
		return ""
	}
	return before + text + after
}

func runBreakpoints(ctx context.Context, c *debugCall) (*agent.Result, error) {
	var parts []string
	if c.session != nil {
		if list := c.session.Breakpoints(); len(list) > 0 {
			parts = append(parts, c.breakpointsText(list, false))
		}
	}
	if list := c.debugger.Planned(); len(list) > 0 {
		parts = append(parts, c.breakpointsText(list, true))
	}
	if len(parts) == 0 {
		return c.result(ctx, "No breakpoints."), nil
	}
	return c.result(ctx, strings.Join(parts, "")), nil
}

// runExceptionBreakpoints sets the exceptions to stop at, or lists the available ones.
func runExceptionBreakpoints(ctx context.Context, c *debugCall) (*agent.Result, error) {
	in := c.in
	for filter := range in.Conditions {
		if !slices.Contains(in.Filters, filter) {
			return nil, fmt.Errorf("%w for debug: conditions has %q, which is not in filters", agent.ErrBadInput, filter)
		}
	}
	var wanted []dap.Breakpoint
	for _, f := range in.Filters {
		wanted = append(wanted, dap.Breakpoint{Kind: dap.ExceptionBreakpoint, Filter: f, Condition: in.Conditions[f]})
	}
	kind := &dap.Breakpoint{Kind: dap.ExceptionBreakpoint}
	switch {
	case c.session == nil && in.Filters == nil:
		return c.result(ctx, "The adapter lists its exceptions once a program is launched. Common ones: raised, uncaught (debugpy); cpp_throw, cpp_catch (lldb-dap); all, uncaught (js-debug). use filters to keep some for the next launch."), nil
	case c.session == nil:
		for _, b := range c.debugger.Planned() {
			if b.Kind == dap.ExceptionBreakpoint {
				c.debugger.Unplan(b)
			}
		}
		all := c.debugger.Planned()
		for _, b := range wanted {
			all = c.debugger.Plan(b)
		}
		return c.planned(ctx, kind, all), nil
	case in.Filters == nil:
		return c.filters(ctx)
	}
	list, err := c.session.SetExceptionBreakpoints(ctx, wanted)
	if err != nil {
		return nil, err
	}
	return c.result(ctx, c.listText(kind, list, false)), nil
}

// filters lists the exception filters of the adapter.
func (c *debugCall) filters(ctx context.Context) (*agent.Result, error) {
	filters := c.session.ExceptionFilters()
	if len(filters) == 0 {
		return nil, fmt.Errorf("%w exception breakpoints", dap.ErrUnsupported)
	}
	on := make(map[string]string)
	for _, b := range c.session.Breakpoints() {
		if b.Kind == dap.ExceptionBreakpoint {
			on[b.Filter] = " [on]"
			if b.Condition != "" {
				on[b.Filter] = " [on if " + b.Condition + "]"
			}
		}
	}
	var b strings.Builder
	b.WriteString("Exception filters:\n")
	for _, f := range filters {
		fmt.Fprintf(&b, "- %s: %s%s", f.Filter, f.Label, on[f.Filter])
		b.WriteString(between(" – ", oneLine(f.Description, maxShownValue), ""))
		if f.SupportsCondition {
			b.WriteString(" (takes a condition" + strings.TrimSuffix(": "+oneLine(f.ConditionDescription, maxShownValue), ": ") + ")")
		}
		b.WriteString("\n")
	}
	return c.result(ctx, b.String()), nil
}

var yesNo = map[bool]string{true: "yes", false: "no"}

func runDataInfo(ctx context.Context, c *debugCall) (*agent.Result, error) {
	info, err := c.session.DataBreakpointInfo(ctx, c.in.Name, c.ref(), c.in.FrameID)
	if err != nil {
		return nil, err
	}
	if info.ID == "" {
		return nil, fmt.Errorf("cannot set a data breakpoint on %s%s", c.in.Name, inParentheses(info.Description))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Data ID: %s\n", info.ID)
	b.WriteString(between("Description: ", info.Description, "\n"))
	fmt.Fprintf(&b, "Access types: %s\nPersistent: %s\n", cmp.Or(strings.Join(info.AccessTypes, ", "), "the adapter's choice"), yesNo[info.Persistent])
	return c.result(ctx, b.String()), nil
}
