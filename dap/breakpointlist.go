package dap

import (
	"context"
	"path/filepath"
	"slices"

	godap "github.com/google/go-dap"
)

// breakpointList holds the breakpoints of a session. The breakpoints that an adapter receives in one request (of one file, or of
// one kind) form a group. tree.mu guards the list.
type breakpointList struct {
	all []Breakpoint
	// exceptionsSet says that all has the exception breakpoints; until then the adapter's default filters apply.
	exceptionsSet bool
	// sending is held while breakpoints are sent: the requests for one group must arrive in order.
	sending chan struct{}
}

func newBreakpointList() breakpointList { return breakpointList{sending: make(chan struct{}, 1)} }

// lockSending waits until no other call sends breakpoints. The caller must call unlock, and need not hold tree.mu.
func (l *breakpointList) lockSending(ctx context.Context) (unlock func(), err error) {
	select {
	case l.sending <- struct{}{}:
		return func() { <-l.sending }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// group returns the breakpoints in the group of b.
func (l *breakpointList) group(b *Breakpoint) []Breakpoint {
	var list []Breakpoint
	for _, o := range l.all {
		if o.sameRequest(b) {
			list = append(list, o)
		}
	}
	return list
}

// groups returns one breakpoint of each group that the adapter supports. If no exception breakpoints were set, it first adds the
// adapter's default exception filters. It marks breakpoints that the adapter does not support.
func (l *breakpointList) groups(caps *capabilities) []Breakpoint {
	if !l.exceptionsSet && !slices.ContainsFunc(l.all, func(b Breakpoint) bool { return b.Kind == ExceptionBreakpoint }) {
		l.all = append(l.all, caps.defaultFilters()...)
	}
	l.exceptionsSet = true
	var groups []Breakpoint
	for i := range l.all {
		b := &l.all[i]
		if err := caps.checkBreakpoint(b); err != nil { // set before the capabilities were known
			b.Verified, b.Message = false, err.Error()
			continue
		}
		if b.Kind != ExceptionBreakpoint && !slices.ContainsFunc(groups, func(o Breakpoint) bool { return o.sameRequest(b) }) {
			groups = append(groups, *b)
		}
	}
	if len(caps.ExceptionBreakpointFilters) > 0 {
		groups = append(groups, Breakpoint{Kind: ExceptionBreakpoint})
	}
	return groups
}

// refuse marks the group of b as refused.
func (l *breakpointList) refuse(b *Breakpoint, err error) {
	for i := range l.all {
		if o := &l.all[i]; o.sameRequest(b) {
			o.Verified, o.Message = false, err.Error()
		}
	}
}

// setAnswer records the adapter's answer for the breakpoint at the place of b.
func (l *breakpointList) setAnswer(b *Breakpoint, answer *godap.Breakpoint) {
	for i := range l.all {
		if o := &l.all[i]; o.samePlace(b) {
			o.setAnswer(answer)
			return
		}
	}
}

// clearAnswers removes the answers of an adapter that has been replaced.
func (l *breakpointList) clearAnswers() {
	for i := range l.all {
		l.all[i].clearAnswer()
	}
}

// update handles the adapter's breakpoint event.
func (l *breakpointList) update(e *godap.BreakpointEventBody) {
	if e.Breakpoint.Id == 0 {
		return
	}
	for i := range l.all {
		b := &l.all[i]
		if b.ID != e.Breakpoint.Id {
			continue
		}
		if e.Reason == "removed" {
			b.Verified, b.Message = false, "the debug adapter has removed it"
			return
		}
		line, path := b.ActualLine, b.ActualPath
		b.setAnswer(&e.Breakpoint)
		if b.ActualLine == 0 {
			b.ActualLine = line
		}
		if b.ActualPath == "" {
			b.ActualPath = path
		}
		return
	}
}

// putBreakpoint adds a breakpoint, or replaces the one at its place and keeps the adapter's answer for it.
func putBreakpoint(list []Breakpoint, b Breakpoint) []Breakpoint {
	for i := range list {
		if o := &list[i]; o.samePlace(&b) {
			b.ID, b.Verified, b.Message, b.ActualPath, b.ActualLine = o.ID, o.Verified, o.Message, o.ActualPath, o.ActualLine
			list[i] = b
			return list
		}
	}
	return append(list, b)
}

// samePlace reports whether two breakpoints are at the same place.
func (b *Breakpoint) samePlace(o *Breakpoint) bool {
	if b.Kind != o.Kind {
		return false
	}
	switch b.Kind {
	case FunctionBreakpoint:
		return b.Function == o.Function
	case InstructionBreakpoint:
		return b.Instruction == o.Instruction && b.Offset == o.Offset
	case DataBreakpoint:
		return b.DataID == o.DataID
	case ExceptionBreakpoint:
		return b.Filter == o.Filter
	default:
		return filepath.Clean(b.Path) == filepath.Clean(o.Path) && b.Line == o.Line && b.Column == o.Column
	}
}

// sameRequest reports whether an adapter receives both breakpoints in one request, that is, whether they belong to the same group.
func (b *Breakpoint) sameRequest(o *Breakpoint) bool {
	return b.Kind == o.Kind && (b.Kind != SourceBreakpoint || filepath.Clean(b.Path) == filepath.Clean(o.Path))
}

func (b *Breakpoint) setAnswer(a *godap.Breakpoint) {
	b.Verified, b.Message, b.ActualLine, b.ActualPath = a.Verified, valid(a.Message), a.Line, ""
	if a.Id != 0 {
		b.ID = a.Id
	}
	if a.Source != nil && filepath.IsAbs(a.Source.Path) {
		b.ActualPath = filepath.Clean(a.Source.Path)
	}
}

func (b *Breakpoint) clearAnswer() {
	b.ID, b.Verified, b.Message, b.ActualPath, b.ActualLine = 0, false, "", "", 0
}
