package dap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	godap "github.com/google/go-dap"
)

// maxBreakpoints bounds the breakpoints of a session.
const maxBreakpoints = 500

// SetBreakpoint sets a breakpoint, or replaces the one at its place, and returns all breakpoints of the same file or kind.
// Before the program has started, the breakpoint is sent with the others at the start. A breakpoint that the adapter refuses
// is not kept.
func (s *Session) SetBreakpoint(ctx context.Context, b Breakpoint) ([]Breakpoint, error) {
	defer s.tree.use()()
	if err := s.debuggee.checkBreakpoint(&b); err != nil {
		return nil, err
	}
	return s.tree.changeBreakpoints(ctx, s.debuggee, &b, func(list []Breakpoint) ([]Breakpoint, error) {
		list = putBreakpoint(list, b)
		if len(list) > maxBreakpoints {
			return nil, fmt.Errorf("there are %d breakpoints already; remove some", maxBreakpoints)
		}
		return list, nil
	})
}

// RemoveBreakpoint removes the breakpoint at the location of b, if it exists, and returns the others of the same file or kind. For
// a source breakpoint without a column it removes all breakpoints on the line.
func (s *Session) RemoveBreakpoint(ctx context.Context, b Breakpoint) ([]Breakpoint, error) {
	defer s.tree.use()()
	return s.tree.changeBreakpoints(ctx, s.debuggee, &b, func(list []Breakpoint) ([]Breakpoint, error) {
		return slices.DeleteFunc(list, func(o Breakpoint) bool {
			return o.samePlace(&b) || b.Kind == SourceBreakpoint && b.Column == 0 && o.sameRequest(&b) && o.Line == b.Line
		}), nil
	})
}

// SetExceptionBreakpoints replaces all exception breakpoints (see [Session.ExceptionFilters]). Until the first call, the
// adapter's default filters apply.
func (s *Session) SetExceptionBreakpoints(ctx context.Context, filters []Breakpoint) ([]Breakpoint, error) {
	defer s.tree.use()()
	for i := range filters {
		filters[i].Kind = ExceptionBreakpoint
		if err := s.debuggee.checkBreakpoint(&filters[i]); err != nil {
			return nil, err
		}
	}
	return s.tree.changeBreakpoints(ctx, s.debuggee, &Breakpoint{Kind: ExceptionBreakpoint}, func(list []Breakpoint) ([]Breakpoint, error) {
		list = slices.DeleteFunc(list, func(o Breakpoint) bool { return o.Kind == ExceptionBreakpoint })
		return append(list, filters...), nil
	})
}

// Breakpoints returns all breakpoints.
func (s *Session) Breakpoints() []Breakpoint {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return slices.Clone(s.tree.breakpoints.all)
}

// sendToAll sends the group of b to adapters. It succeeds if one of them accepts it.
func sendToAll(ctx context.Context, adapters []*adapter, b *Breakpoint) error {
	errs := make([]error, len(adapters))
	var all sync.WaitGroup
	for i, a := range adapters {
		all.Go(func() { errs[i] = a.sendBreakpoints(ctx, b) })
	}
	all.Wait()
	for _, err := range errs {
		if err == nil {
			return nil
		}
	}
	return errors.Join(errs...)
}

// sendBreakpoints sends the group of b to the adapter and records its answer.
func (a *adapter) sendBreakpoints(ctx context.Context, b *Breakpoint) error {
	d, t := a.debuggee, a.debuggee.tree
	t.mu.Lock()
	list, caps := t.breakpoints.group(b), d.caps
	t.mu.Unlock()
	if b.Kind != ExceptionBreakpoint && caps.checkBreakpoint(&Breakpoint{Kind: b.Kind}) != nil {
		return nil // an adapter may not answer a request that it does not support
	}
	command, args := breakpointsRequest(list, b, &caps)
	var body struct {
		Breakpoints []godap.Breakpoint `json:"breakpoints"`
	}
	if err := a.do(ctx, command, args, &body); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range list {
		answer := &godap.Breakpoint{Message: "the debug adapter did not report its status"}
		if i < len(body.Breakpoints) {
			answer = &body.Breakpoints[i]
		} else if b.Kind == ExceptionBreakpoint { // the answer may omit exception breakpoints
			answer = &godap.Breakpoint{Verified: true}
		}
		t.breakpoints.setAnswer(&list[i], answer)
	}
	return nil
}

// configure sends all breakpoints to the adapter, then configurationDone.
func (a *adapter) configure(ctx context.Context) error {
	d, t := a.debuggee, a.debuggee.tree
	unlock, err := t.breakpoints.lockSending(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	t.mu.Lock()
	if d.state == StateLaunching {
		d.state = StateConfiguring
		t.announceLocked()
	}
	caps := d.caps
	groups := t.breakpoints.groups(&caps)
	t.mu.Unlock()
	var all sync.WaitGroup
	errs := make([]error, len(groups))
	for i := range groups {
		all.Go(func() { errs[i] = a.sendBreakpoints(ctx, &groups[i]) })
	}
	all.Wait()
	for i, err := range errs {
		if _, refused := errors.AsType[*RequestError](err); refused {
			t.mu.Lock()
			t.breakpoints.refuse(&groups[i], err)
			t.mu.Unlock()
		} else if err != nil {
			return err
		}
	}
	t.mu.Lock()
	a.configured = true
	t.mu.Unlock()
	if !caps.SupportsConfigurationDoneRequest {
		return nil
	}
	return a.do(ctx, "configurationDone", nil, nil)
}

// These arguments differ from those of go-dap, which leave out empty lists: an empty list removes all breakpoints.
type (
	setBreakpoints struct {
		Source      godap.Source             `json:"source"`
		Breakpoints []godap.SourceBreakpoint `json:"breakpoints"`
		Lines       []int                    `json:"lines"`
	}
	setExceptionBreakpoints struct {
		Filters       []string                       `json:"filters"`
		FilterOptions []godap.ExceptionFilterOptions `json:"filterOptions,omitzero"`
	}
)

// breakpointsRequest returns the request that sends list, the group of b.
func breakpointsRequest(list []Breakpoint, b *Breakpoint, caps *capabilities) (command string, args any) {
	switch b.Kind {
	case FunctionBreakpoint:
		a := &godap.SetFunctionBreakpointsArguments{Breakpoints: []godap.FunctionBreakpoint{}}
		for _, o := range list {
			a.Breakpoints = append(a.Breakpoints, godap.FunctionBreakpoint{Name: o.Function, Condition: o.Condition, HitCondition: o.HitCondition})
		}
		return "setFunctionBreakpoints", a
	case InstructionBreakpoint:
		a := &godap.SetInstructionBreakpointsArguments{Breakpoints: []godap.InstructionBreakpoint{}}
		for _, o := range list {
			a.Breakpoints = append(a.Breakpoints, godap.InstructionBreakpoint{
				InstructionReference: o.Instruction, Offset: o.Offset, Condition: o.Condition, HitCondition: o.HitCondition,
			})
		}
		return "setInstructionBreakpoints", a
	case DataBreakpoint:
		a := &godap.SetDataBreakpointsArguments{Breakpoints: []godap.DataBreakpoint{}}
		for _, o := range list {
			a.Breakpoints = append(a.Breakpoints, godap.DataBreakpoint{
				DataId: o.DataID, AccessType: godap.DataBreakpointAccessType(o.AccessType), Condition: o.Condition, HitCondition: o.HitCondition,
			})
		}
		return "setDataBreakpoints", a
	case ExceptionBreakpoint:
		a := &setExceptionBreakpoints{Filters: []string{}}
		for _, o := range list {
			if o.Condition != "" && caps.SupportsExceptionFilterOptions {
				a.FilterOptions = append(a.FilterOptions, godap.ExceptionFilterOptions{FilterId: o.Filter, Condition: o.Condition})
				continue
			}
			a.Filters = append(a.Filters, o.Filter)
		}
		return "setExceptionBreakpoints", a
	default:
		a := &setBreakpoints{Source: source(b.Path), Breakpoints: []godap.SourceBreakpoint{}, Lines: []int{}}
		for _, o := range list {
			a.Breakpoints = append(a.Breakpoints, godap.SourceBreakpoint{
				Line: o.Line, Column: o.Column, Condition: o.Condition, HitCondition: o.HitCondition, LogMessage: o.LogMessage,
			})
			a.Lines = append(a.Lines, o.Line)
		}
		return "setBreakpoints", a
	}
}

// DataInfo is an adapter's answer to [Session.DataBreakpointInfo].
type DataInfo struct {
	// ID is the data ID for a breakpoint. It is empty if no breakpoint can be set; Description then gives the reason.
	ID, Description string
	AccessTypes     []string
	Persistent      bool
}

// DataBreakpointInfo returns the data ID for a variable in a scope or variable ref, or, if ref is zero, for an expression in
// a frame.
func (s *Session) DataBreakpointInfo(ctx context.Context, name string, ref, frame int) (*DataInfo, error) {
	defer s.tree.use()()
	t, err := s.debuggee.stoppedFor("data breakpoints", s.debuggee.capabilities().SupportsDataBreakpoints)
	if err != nil {
		return nil, err
	}
	args := &dataBreakpointInfoArguments{Name: name}
	var scope *int
	if ref != 0 {
		v, err := t.variables(ref)
		if err != nil {
			return nil, err
		}
		args.VariablesReference, scope = v.id, v.scope
	} else {
		f, err := t.frame(ctx, frame)
		if err != nil {
			return nil, err
		}
		args.FrameID = &f.id
	}
	var body godap.DataBreakpointInfoResponseBody
	err = t.withScope(ctx, scope, false, func() error { return t.adapter.do(ctx, "dataBreakpointInfo", args, &body) })
	if err != nil {
		return nil, err
	}
	info := &DataInfo{Description: valid(body.Description), Persistent: body.CanPersist}
	info.ID, _ = body.DataId.(string)
	for _, a := range body.AccessTypes {
		info.AccessTypes = append(info.AccessTypes, string(a))
	}
	return info, nil
}
