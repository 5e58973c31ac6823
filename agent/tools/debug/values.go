package debug

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// maxResult bounds the value of an expression, in characters.
	maxResult = 8 << 10
	// scopeTime bounds the search for the names in scope that is made for the advice after a failed expression.
	scopeTime = 2 * time.Second
	maxNames  = 40
)

// evaluateContexts are the contexts in which adapters evaluate an expression rather than a command.
var evaluateContexts = []string{"watch", "hover", "variables", "clipboard"}

// evaluateContext returns the context of the call's expression. Because repl may run debugger commands, only an expression that is
// not plain uses it.
func (c *debugCall) evaluateContext(bareCalls bool) string {
	switch {
	case c.in.Context != "":
		return c.in.Context
	case plainExpression(c.in.Expression, bareCalls):
		return "watch"
	default:
		return "repl"
	}
}

func runEvaluate(ctx context.Context, c *debugCall) (*agent.Result, error) {
	v, err := c.session.Evaluate(ctx, c.in.Expression, c.evaluateContext(c.bareCalls(ctx)), c.in.FrameID)
	if err != nil {
		return nil, c.inScope(ctx, err)
	}
	return c.result(ctx, c.valueOf(v)), nil
}

// valueOf returns the value of an expression as text.
func (c *debugCall) valueOf(v *dap.Variable) string {
	var b strings.Builder
	value := toolkit.PlainOutput(strings.ToValidUTF8(v.Value, "\uFFFD"))
	fmt.Fprintf(&b, "Result: %s\n", toolkit.CutLine(value, maxResult))
	b.WriteString(between("Type: ", oneLine(v.Type, toolkit.MaxShownColumns), "\n"))
	if v.Ref != 0 {
		fmt.Fprintf(&b, "Variables ref: %d\n", v.Ref)
	}
	b.WriteString(between("Memory reference: ", v.MemoryReference, "\n"))
	return b.String()
}

// inScope adds the names in scope to an adapter's error about an expression.
func (c *debugCall) inScope(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*dap.RequestError](err); !ok || ctx.Err() != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, scopeTime)
	defer cancel()
	scopes, serr := c.session.Scopes(ctx, c.in.FrameID)
	if serr != nil {
		return err
	}
	var names []string
	for _, s := range scopes {
		if s.Ref == 0 || s.Expensive || wide(&s) {
			continue
		}
		list, _, verr := c.session.Variables(ctx, s.Ref, dap.Page{Count: maxNames})
		if verr != nil {
			continue
		}
		for _, v := range list {
			if v.Name != "" && !slices.Contains(names, v.Name) && len(names) < maxNames {
				names = append(names, v.Name)
			}
		}
	}
	text := strings.TrimRight(err.Error(), ". \n")
	if len(names) == 0 {
		return &debugError{err, text + ". Nothing is in scope in this frame; use frame_id to evaluate in another one."}
	}
	return &debugError{err, text + ". In scope: " + strings.Join(names, ", ") + "."}
}

func runSetVariable(ctx context.Context, c *debugCall) (*agent.Result, error) {
	v, err := c.session.SetVariable(ctx, c.ref(), c.in.Name, string(c.in.Value))
	if err != nil {
		return nil, err
	}
	return c.result(ctx, changedText(c.in.Name, v)), nil
}

func runSetExpression(ctx context.Context, c *debugCall) (*agent.Result, error) {
	v, err := c.session.SetExpression(ctx, c.in.Expression, string(c.in.Value), c.in.FrameID)
	if err != nil {
		return nil, c.inScope(ctx, err)
	}
	return c.result(ctx, changedText(c.in.Expression, v)), nil
}

func changedText(name string, v *dap.Variable) string {
	return "Set: " + valueText(name, v.Value, v.Type, v.Ref)
}

func runCompletions(ctx context.Context, c *debugCall) (*agent.Result, error) {
	column := c.in.Column
	if column == 0 {
		column = len(utf16.Encode([]rune(c.in.Expression))) + 1
	}
	items, err := c.session.Completions(ctx, c.in.Expression, column, c.in.FrameID)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, item := range items {
		if i == maxThreads {
			fmt.Fprintf(&b, "… %s\n", text.Count(len(items)-i, "more completion"))
			break
		}
		b.WriteString("- " + oneLine(item.Label, maxShownValue))
		if item.Text != "" && item.Text != item.Label {
			b.WriteString(" → " + oneLine(item.Text, maxShownValue))
		}
		if detail := strings.TrimPrefix(string(item.Type)+", "+item.Detail, ", "); strings.Trim(detail, ", ") != "" {
			b.WriteString(" (" + oneLine(strings.Trim(detail, ", "), maxShownValue) + ")")
		}
		b.WriteString("\n")
	}
	return c.result(ctx, cmp.Or(b.String(), "No completions.")), nil
}

func runExceptionInfo(ctx context.Context, c *debugCall) (*agent.Result, error) {
	e, err := c.session.ExceptionInfo(ctx, c.in.Thread)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Exception: %s\n", oneLine(e.ExceptionId, toolkit.MaxColumns))
	b.WriteString(between("Description: ", toolkit.CutLine(toolkit.PlainOutput(e.Description), maxResult), "\n"))
	if e.BreakMode != "" {
		fmt.Fprintf(&b, "Break mode: %s\n", e.BreakMode)
	}
	if d := e.Details; d != nil {
		if d.Message != "" && d.Message != e.Description {
			fmt.Fprintf(&b, "Message: %s\n", toolkit.CutLine(toolkit.PlainOutput(d.Message), maxResult))
		}
		if d.FullTypeName != "" || d.TypeName != "" {
			fmt.Fprintf(&b, "Type: %s\n", strings.TrimSpace(d.FullTypeName+" "+d.TypeName))
		}
		if d.StackTrace != "" {
			fmt.Fprintf(&b, "Stack trace:\n%s\n", strings.TrimRight(toolkit.TidyOutput(toolkit.CutBytes(d.StackTrace, maxSnapshotOutput)), "\n"))
		}
		for _, in := range d.InnerException {
			fmt.Fprintf(&b, "Inner exception: %s %s\n", in.TypeName, oneLine(in.Message, toolkit.MaxColumns))
		}
	}
	return c.result(ctx, b.String()), nil
}
