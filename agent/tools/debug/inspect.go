package debug

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/text"
)

// Limits of the inspect action.
const (
	inspectDepth    = 3
	maxInspectDepth = 10
	// maxInspect bounds the text, in bytes.
	maxInspect = 12 << 10
	// maxInspected bounds the number of variables shown for a scope, maxNested the number shown inside an expanded variable.
	maxInspected = 30
	maxNested    = 8
	// maxOpened bounds the number of expanded variables.
	maxOpened = 24
	// maxAtOnce bounds the number of concurrent requests.
	maxAtOnce = 8
)

// inspected is a frame with its scopes.
type inspected struct {
	frame  dap.Frame
	scopes []inspectedScope
	err    error
}

type inspectedScope struct {
	dap.Scope
	variables []dap.Variable
	more      bool
	// nested holds the variables inside expanded variables, by reference.
	nested map[int][]dap.Variable
	err    error
}

// runInspect shows the top frames in one text. It sends its requests to the adapter concurrently.
func runInspect(ctx context.Context, c *debugCall) (*agent.Result, error) {
	depth := inspectDepth
	if c.in.Depth != 0 {
		depth = min(c.in.Depth, maxInspectDepth)
	}
	frames, total, err := c.session.StackTrace(ctx, c.in.Thread, 0, depth)
	if err != nil {
		return nil, err
	}
	if len(frames) == 0 {
		return nil, errNoFrame
	}
	all := make([]inspected, len(frames))
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxAtOnce)
	for i := range frames {
		all[i].frame = frames[i]
		wg.Go(func() { c.look(ctx, &all[i], i == 0, slots) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.open(ctx, all, slots)
	snap := c.session.Peek()
	var b strings.Builder
	fmt.Fprintf(&b, "Session: %s, %s", snap.ID, snap.State)
	if snap.Stop != nil {
		fmt.Fprintf(&b, " (%s)", oneLine(snap.Stop.Reason, toolkit.MaxShownColumns))
	}
	b.WriteString("\n")
	left := 0
	for i := range all {
		text := c.inspectedText(&all[i], i)
		if b.Len()+len(text) > maxInspect {
			if i > 0 {
				left = len(all) - i
				break
			}
			text = toolkit.CutBytes(text, maxInspect-b.Len()) + "…\n"
		}
		b.WriteString(text)
	}
	switch {
	case left > 0:
		fmt.Fprintf(&b, "… %s left out: use scopes with their frame_id\n", text.Count(left, "frame"))
	case total > len(frames):
		b.WriteString("… more frames below\n") // not all adapters report the number
	}
	c.follow(frames[0].Path, frames[0].Line)
	return c.result(ctx, b.String()), nil
}

var errNoFrame = errors.New("no active stack frame; run stack_trace first or supply frame_id")

// look requests the scopes of a frame and their variables.
func (c *debugCall) look(ctx context.Context, f *inspected, top bool, slots chan struct{}) {
	slots <- struct{}{}
	scopes, err := c.session.Scopes(ctx, f.frame.ID)
	<-slots
	if f.err = err; err != nil {
		return
	}
	f.scopes = make([]inspectedScope, len(scopes))
	var wg sync.WaitGroup
	for i, s := range scopes {
		f.scopes[i].Scope = s
		if s.Ref == 0 || s.Expensive || wide(&s) || !top && s.Hint == "returnValue" {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			sc := &f.scopes[i]
			sc.variables, sc.more, sc.err = c.session.Variables(ctx, s.Ref, dap.Page{Count: maxInspected})
			if len(sc.variables) > maxInspected {
				sc.variables, sc.more = sc.variables[:maxInspected], true
			}
		})
	}
	wg.Wait()
}

// wide reports whether a scope belongs to more than one frame.
func wide(s *dap.Scope) bool {
	name := strings.ToLower(s.Name)
	return slices.ContainsFunc([]string{"global", "register", "static", "builtin", "module"}, func(word string) bool {
		return s.Hint == word+"s" || strings.Contains(name, word)
	})
}

// open requests the content of small variables whose values do not show it.
func (c *debugCall) open(ctx context.Context, all []inspected, slots chan struct{}) {
	var wg sync.WaitGroup
	opened := 0
	for i := range all {
		for j := range all[i].scopes {
			sc := &all[i].scopes[j]
			sc.nested = make(map[int][]dap.Variable)
			var mu sync.Mutex // guards nested
			for _, v := range sc.variables {
				if v.Ref == 0 || v.Named+v.Indexed > maxNested || !opaque(&v) || opened >= maxOpened {
					continue
				}
				opened++
				wg.Go(func() {
					slots <- struct{}{}
					defer func() { <-slots }()
					list, more, err := c.session.Variables(ctx, v.Ref, dap.Page{Count: maxNested})
					if err != nil || more || len(list) > maxNested {
						return // shows only the value
					}
					mu.Lock()
					defer mu.Unlock()
					sc.nested[v.Ref] = list
				})
			}
		}
	}
	wg.Wait()
}

// opaque reports whether a value does not show its content: some adapters write it out, others only the type.
func opaque(v *dap.Variable) bool {
	value := strings.TrimSpace(v.Value)
	if value == "" || strings.Contains(value, "...") || strings.Contains(value, "…") || strings.HasPrefix(value, "0x") || strings.HasPrefix(value, "<") {
		return true
	}
	return !strings.ContainsAny(value, "{[(")
}

func (p *printer) inspectedText(f *inspected, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s [frame_id=%d]\n", n, p.frameText(&f.frame), f.frame.ID)
	if f.err != nil {
		fmt.Fprintf(&b, "  (no scopes: %s)\n", oneLine(f.err.Error(), maxShownValue))
	}
	for i := range f.scopes {
		sc := &f.scopes[i]
		switch {
		case sc.err != nil:
			fmt.Fprintf(&b, "  %s: (%s)\n", sc.Name, oneLine(sc.err.Error(), maxShownValue))
			continue
		case sc.variables == nil && sc.Ref != 0 && (sc.Expensive || wide(&sc.Scope)):
			if n == 0 {
				fmt.Fprintf(&b, "  %s: not shown [ref=%d]\n", sc.Name, sc.Ref)
			}
			continue
		case len(sc.variables) == 0:
			continue
		}
		fmt.Fprintf(&b, "  %s:\n", oneLine(sc.Name, maxShownValue))
		for j := range sc.variables {
			v := &sc.variables[j]
			b.WriteString("  - " + valueText(v.Name, v.Value, v.Type, v.Ref) + "\n")
			for k := range sc.nested[v.Ref] {
				in := &sc.nested[v.Ref][k]
				if v.Ref != 0 {
					b.WriteString("      " + valueText(in.Name, in.Value, in.Type, in.Ref) + "\n")
				}
			}
		}
		if sc.more {
			fmt.Fprintf(&b, "    … more: use variables with scope_id %d\n", sc.Ref)
		}
	}
	return b.String()
}

// frameText describes a frame on one line.
func (p *printer) frameText(f *dap.Frame) string {
	text := oneLine(f.Name, toolkit.MaxShownColumns)
	switch {
	case f.Path != "":
		text += " @ " + p.place(f.Path, f.Line, f.Column)
	case f.Source != nil && f.Source.Name != "":
		text += fmt.Sprintf(" @ %s:%d", oneLine(f.Source.Name, toolkit.MaxShownColumns), f.Line)
	case f.InstructionPointer != "":
		text += " @ " + f.InstructionPointer
	}
	return text
}

func runStackTrace(ctx context.Context, c *debugCall) (*agent.Result, error) {
	frames, total, err := c.session.StackTrace(ctx, c.in.Thread, c.in.Offset, c.in.Levels)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("Stack trace:\n")
	for i := range frames {
		f := &frames[i]
		fmt.Fprintf(&b, "- #%d %s", f.ID, c.frameText(f))
		if f.CanRestart && f.Subtle {
			b.WriteString(" (subtle)")
		}
		b.WriteString("\n")
		c.follow(f.Path, f.Line)
	}
	if len(frames) == 0 {
		return c.result(ctx, "The stack is empty."), nil
	}
	if shown := max(c.in.Offset, 0) + len(frames); total > shown {
		b.WriteString("… more frames; use levels and offset\n")
	}
	return c.result(ctx, b.String()), nil
}

// maxThreads bounds the list of threads: a Go program can have thousands.
const maxThreads = 200

func runThreads(ctx context.Context, c *debugCall) (*agent.Result, error) {
	threads, err := c.session.Threads(ctx)
	if err != nil {
		return nil, err
	}
	if len(threads) == 0 {
		return nil, errors.New("the debugger reported no threads")
	}
	var b strings.Builder
	for _, t := range threads[:min(len(threads), maxThreads)] {
		fmt.Fprintf(&b, "- %d: %s", t.ID, oneLine(t.Name, maxShownValue))
		if !t.Stopped {
			b.WriteString(" (running)")
		}
		b.WriteString("\n")
	}
	if more := len(threads) - maxThreads; more > 0 {
		fmt.Fprintf(&b, "… %s\n", text.Count(more, "more thread"))
	}
	return c.result(ctx, b.String()), nil
}

func runScopes(ctx context.Context, c *debugCall) (*agent.Result, error) {
	scopes, err := c.session.Scopes(ctx, c.in.FrameID)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, s := range scopes {
		fmt.Fprintf(&b, "- %s: ref=%d, expensive=%s%s\n", oneLine(s.Name, maxShownValue), s.Ref, yesNo[s.Expensive], between(", hint=", s.Hint, ""))
	}
	return c.result(ctx, cmp.Or(b.String(), "The frame has no scopes.")), nil
}

func runVariables(ctx context.Context, c *debugCall) (*agent.Result, error) {
	list, more, err := c.session.Variables(ctx, c.ref(), dap.Page{Start: max(c.in.Offset, 0), Count: c.in.Count})
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i := range list {
		v := &list[i]
		b.WriteString("- " + valueText(v.Name, v.Value, v.Type, v.Ref) + between(" [mem=", v.MemoryReference, "]") + "\n")
	}
	switch {
	case len(list) == 0 && c.in.Offset > 0:
		return c.result(ctx, "No more variables."), nil
	case len(list) == 0:
		return c.result(ctx, "No variables."), nil
	case more:
		fmt.Fprintf(&b, "… more: use variables with offset %d\n", max(c.in.Offset, 0)+len(list))
	}
	return c.result(ctx, b.String()), nil
}

// ref returns the reference of the scope or the variable in the call, or zero.
func (c *debugCall) ref() int {
	if c.in.VariableRef != 0 {
		return c.in.VariableRef
	}
	return c.in.ScopeID
}
