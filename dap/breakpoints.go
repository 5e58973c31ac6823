package dap

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	godap "github.com/google/go-dap"
)

// maxBreakpoints bounds the breakpoints of a session.
const maxBreakpoints = 500

// same reports whether two breakpoints are at the same place.
func (b *Breakpoint) same(o *Breakpoint) bool {
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

// together reports whether an adapter takes both in one list.
func (b *Breakpoint) together(o *Breakpoint) bool {
	return b.Kind == o.Kind && (b.Kind != SourceBreakpoint || filepath.Clean(b.Path) == filepath.Clean(o.Path))
}

// put adds a breakpoint, or puts it in the place of the one that is there.
func put(list []Breakpoint, b Breakpoint) []Breakpoint {
	for i := range list {
		if o := &list[i]; o.same(&b) {
			b.ID, b.Verified, b.Message, b.ActualPath, b.ActualLine = o.ID, o.Verified, o.Message, o.ActualPath, o.ActualLine
			list[i] = b
			return list
		}
	}
	return append(list, b)
}

// SetBreakpoint sets a breakpoint, or gives the one that is at the place other conditions, and returns all of the same file
// or kind as they are then. In a program that has not started yet it becomes known with the others. Where the adapter
// refuses it, it is not kept.
func (s *Session) SetBreakpoint(ctx context.Context, b Breakpoint) ([]Breakpoint, error) {
	defer s.use()()
	if err := s.takes(&b); err != nil {
		return nil, err
	}
	return s.change(ctx, &b, func(list []Breakpoint) ([]Breakpoint, error) {
		list = put(list, b)
		if len(list) > maxBreakpoints {
			return nil, fmt.Errorf("there are %d breakpoints already; remove some", maxBreakpoints)
		}
		return list, nil
	})
}

// RemoveBreakpoint removes the breakpoint at the place of b, and returns the others of the same file or kind. Where there is
// none it returns those that there are.
func (s *Session) RemoveBreakpoint(ctx context.Context, b Breakpoint) ([]Breakpoint, error) {
	defer s.use()()
	return s.change(ctx, &b, func(list []Breakpoint) ([]Breakpoint, error) {
		return slices.DeleteFunc(list, func(o Breakpoint) bool {
			return o.same(&b) || b.Kind == SourceBreakpoint && b.Column == 0 && o.together(&b) && o.Line == b.Line
		}), nil
	})
}

// SetExceptionBreakpoints has the program stop at these kinds of exceptions (see [Session.ExceptionFilters]) and at no
// others. The adapter's own choice holds before.
func (s *Session) SetExceptionBreakpoints(ctx context.Context, filters []Breakpoint) ([]Breakpoint, error) {
	defer s.use()()
	for i := range filters {
		filters[i].Kind = ExceptionBreakpoint
		if err := s.takes(&filters[i]); err != nil {
			return nil, err
		}
	}
	return s.change(ctx, &Breakpoint{Kind: ExceptionBreakpoint}, func(list []Breakpoint) ([]Breakpoint, error) {
		list = slices.DeleteFunc(list, func(o Breakpoint) bool { return o.Kind == ExceptionBreakpoint })
		return append(list, filters...), nil
	})
}

// Breakpoints returns all breakpoints.
func (s *Session) Breakpoints() []Breakpoint {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return slices.Clone(s.tree.breakpoints)
}

// takes complains about a breakpoint that the adapter can not have. Before the adapter is there nobody knows.
func (s *Session) takes(b *Breakpoint) error {
	s.tree.mu.Lock()
	t := s.targetLocked()
	known, caps := t.life != nil && t.state != StateTerminated, t.caps
	s.tree.mu.Unlock()
	if !known {
		return nil
	}
	return caps.take(b)
}

func (c *capabilities) take(b *Breakpoint) error {
	switch {
	case b.Kind == FunctionBreakpoint && !c.SupportsFunctionBreakpoints:
		return unsupported("function breakpoints")
	case b.Kind == InstructionBreakpoint && !c.SupportsInstructionBreakpoints:
		return unsupported("instruction breakpoints")
	case b.Kind == DataBreakpoint && !c.SupportsDataBreakpoints:
		return unsupported("data breakpoints")
	case b.Kind == ExceptionBreakpoint:
		return c.takeFilter(b)
	case b.Condition != "" && !c.SupportsConditionalBreakpoints:
		return unsupported("conditional breakpoints")
	case b.HitCondition != "" && !c.SupportsHitConditionalBreakpoints:
		return unsupported("hit conditions")
	case b.LogMessage != "" && !c.SupportsLogPoints:
		return unsupported("log messages")
	}
	return nil
}

func (c *capabilities) takeFilter(b *Breakpoint) error {
	var names []string
	for _, f := range c.ExceptionBreakpointFilters {
		if f.Filter == b.Filter {
			if b.Condition != "" && (!c.SupportsExceptionFilterOptions || !f.SupportsCondition) {
				return unsupported("a condition for " + f.Filter)
			}
			return nil
		}
		names = append(names, f.Filter)
	}
	if len(names) == 0 {
		return unsupported("exception breakpoints")
	}
	return fmt.Errorf("there is no exception filter %q; there are %q", b.Filter, names)
}

// change changes the list of breakpoints and tells all adapters of the session those that go together with b.
func (s *Session) change(ctx context.Context, b *Breakpoint, edit func([]Breakpoint) ([]Breakpoint, error)) ([]Breakpoint, error) {
	t := s.tree
	select {
	case t.setting <- struct{}{}:
		defer func() { <-t.setting }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	t.mu.Lock()
	if t.root.state == StateTerminated {
		_, err := t.root.usableLocked()
		t.mu.Unlock()
		return nil, err
	}
	before, chosen := t.breakpoints, t.chosen
	if b.Kind == ExceptionBreakpoint && !t.chosen {
		before = append(slices.Clone(before), s.targetLocked().caps.defaultFilters()...)
	}
	after, err := edit(slices.Clone(before))
	if err != nil {
		t.mu.Unlock()
		return nil, err
	}
	original := t.breakpoints
	t.breakpoints = after
	t.chosen = t.chosen || b.Kind == ExceptionBreakpoint
	lives := t.configuredLocked()
	t.mu.Unlock()

	if err := tellAll(ctx, lives, b); err != nil {
		if _, refused := errors.AsType[*RequestError](err); refused { // the adapter has what it had
			t.mu.Lock()
			t.breakpoints, t.chosen = original, chosen
			t.mu.Unlock()
		}
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.groupLocked(b), nil
}

// groupLocked returns the breakpoints that go together with b. tree.mu is held.
func (t *tree) groupLocked(b *Breakpoint) []Breakpoint {
	var list []Breakpoint
	for _, o := range t.breakpoints {
		if o.together(b) {
			list = append(list, o)
		}
	}
	return list
}

// configuredLocked returns the adapters that take changes of breakpoints: the others get all at once later. tree.mu is held.
func (t *tree) configuredLocked() []*life {
	var lives []*life
	for _, s := range t.root.familyLocked() {
		if s.life != nil && s.life.configured && s.state != StateTerminated {
			lives = append(lives, s.life)
		}
	}
	return lives
}

// tellAll tells adapters the breakpoints that go together with b. One that takes them is enough.
func tellAll(ctx context.Context, lives []*life, b *Breakpoint) error {
	errs := make([]error, len(lives))
	var all sync.WaitGroup
	for i, l := range lives {
		all.Go(func() { errs[i] = l.tell(ctx, b) })
	}
	all.Wait()
	for _, err := range errs {
		if err == nil {
			return nil
		}
	}
	return errors.Join(errs...)
}

// The arguments of the requests, with the empty lists that remove what is there.
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

// tell tells the adapter the breakpoints that go together with b, and keeps its answer.
func (l *life) tell(ctx context.Context, b *Breakpoint) error {
	s := l.session
	s.tree.mu.Lock()
	list, caps := s.tree.groupLocked(b), s.caps
	s.tree.mu.Unlock()
	if b.Kind != ExceptionBreakpoint && caps.take(&Breakpoint{Kind: b.Kind}) != nil {
		return nil // it has none of them, and may not answer a request that it does not know
	}
	command, args := request(list, b, &caps)
	var body struct {
		Breakpoints []godap.Breakpoint `json:"breakpoints"`
	}
	if err := l.do(ctx, command, args, &body); err != nil {
		return err
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	for i := range list {
		if i < len(body.Breakpoints) {
			s.tree.answeredLocked(&list[i], &body.Breakpoints[i])
		} else if b.Kind == ExceptionBreakpoint { // adapters need not say anything of them
			s.tree.answeredLocked(&list[i], &godap.Breakpoint{Verified: true})
		} else { // what it said before was of another list
			s.tree.answeredLocked(&list[i], &godap.Breakpoint{Message: "the debug adapter has not said what became of it"})
		}
	}
	return nil
}

// request makes the request for the breakpoints that go together with b.
func request(list []Breakpoint, b *Breakpoint, caps *capabilities) (command string, args any) {
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

// answeredLocked keeps what an adapter made of a breakpoint. tree.mu is held.
func (t *tree) answeredLocked(b *Breakpoint, a *godap.Breakpoint) {
	for i := range t.breakpoints {
		if o := &t.breakpoints[i]; o.same(b) {
			o.take(a)
			return
		}
	}
}

// forget takes the adapter's answer back: another one knows nothing of it.
func (b *Breakpoint) forget() {
	b.ID, b.Verified, b.Message, b.ActualPath, b.ActualLine = 0, false, "", "", 0
}

func (b *Breakpoint) take(a *godap.Breakpoint) {
	b.Verified, b.Message, b.ActualLine, b.ActualPath = a.Verified, valid(a.Message), a.Line, ""
	if a.Id != 0 {
		b.ID = a.Id
	}
	if a.Source != nil && filepath.IsAbs(a.Source.Path) {
		b.ActualPath = filepath.Clean(a.Source.Path)
	}
}

// breakpointLocked takes a change that the adapter tells of. tree.mu is held.
func (t *tree) breakpointLocked(b *godap.BreakpointEventBody) {
	if b.Breakpoint.Id == 0 {
		return
	}
	for i := range t.breakpoints {
		o := &t.breakpoints[i]
		if o.ID != b.Breakpoint.Id {
			continue
		}
		if b.Reason == "removed" {
			o.Verified, o.Message = false, "the debug adapter has removed it"
			return
		}
		line, path := o.ActualLine, o.ActualPath
		o.take(&b.Breakpoint)
		if o.ActualLine == 0 {
			o.ActualLine = line
		}
		if o.ActualPath == "" {
			o.ActualPath = path
		}
		return
	}
}

// defaultFilters are the kinds of exceptions that the adapter itself would stop at.
func (c *capabilities) defaultFilters() []Breakpoint {
	var list []Breakpoint
	for _, f := range c.ExceptionBreakpointFilters {
		if f.Default {
			list = append(list, Breakpoint{Kind: ExceptionBreakpoint, Filter: f.Filter})
		}
	}
	return list
}

// tellBreakpoints tells the adapter all breakpoints, and that these are all.
func (l *life) tellBreakpoints(ctx context.Context) error {
	s, t := l.session, l.session.tree
	select {
	case t.setting <- struct{}{}:
		defer func() { <-t.setting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	t.mu.Lock()
	if s.state == StateLaunching {
		s.state = StateConfiguring
		t.announceLocked()
	}
	caps := s.caps
	if !t.chosen && !slices.ContainsFunc(t.breakpoints, func(b Breakpoint) bool { return b.Kind == ExceptionBreakpoint }) {
		t.breakpoints = append(t.breakpoints, caps.defaultFilters()...)
	}
	t.chosen = true
	var groups []Breakpoint
	for i := range t.breakpoints {
		b := &t.breakpoints[i]
		if err := caps.take(b); err != nil { // planned before anybody knew
			b.Verified, b.Message = false, err.Error()
			continue
		}
		if b.Kind != ExceptionBreakpoint && !slices.ContainsFunc(groups, func(o Breakpoint) bool { return o.together(b) }) {
			groups = append(groups, *b)
		}
	}
	t.mu.Unlock()
	if len(caps.ExceptionBreakpointFilters) > 0 {
		groups = append(groups, Breakpoint{Kind: ExceptionBreakpoint})
	}
	var all sync.WaitGroup
	errs := make([]error, len(groups))
	for i := range groups {
		all.Go(func() { errs[i] = l.tell(ctx, &groups[i]) })
	}
	all.Wait()
	for i, err := range errs {
		if _, refused := errors.AsType[*RequestError](err); refused {
			t.mu.Lock()
			for j := range t.breakpoints {
				if b := &t.breakpoints[j]; b.together(&groups[i]) {
					b.Verified, b.Message = false, err.Error()
				}
			}
			t.mu.Unlock()
		} else if err != nil {
			return err
		}
	}
	t.mu.Lock()
	l.configured = true
	t.mu.Unlock()
	if !caps.SupportsConfigurationDoneRequest {
		return nil
	}
	return l.do(ctx, "configurationDone", nil, nil)
}

// DataInfo is an adapter's answer to [Session.DataBreakpointInfo].
type DataInfo struct {
	ID, Description string
	AccessTypes     []string
	Persistent      bool
}

// DataBreakpointInfo tells whether there can be a data breakpoint for a variable (of a scope or variable ref), or, with ref
// zero, for an expression in a frame. The data id is empty where there can not; the description says why.
func (s *Session) DataBreakpointInfo(ctx context.Context, name string, ref, frame int) (*DataInfo, error) {
	defer s.use()()
	t, l, err := s.still()
	if err != nil {
		return nil, err
	}
	if !s.Capabilities().SupportsDataBreakpoints {
		return nil, unsupported("data breakpoints")
	}
	args := &dataBreakpointInfoArguments{Name: name}
	var h handle
	if ref != 0 {
		h, err = t.rawRef(ref)
		args.VariablesReference = h.raw
	} else {
		var raw int
		raw, err = t.rawFrame(ctx, frame)
		args.FrameID = &raw
	}
	if err != nil {
		return nil, err
	}
	var body godap.DataBreakpointInfoResponseBody
	err = t.inScope(ctx, l, h.scope, false, func() error { return l.do(ctx, "dataBreakpointInfo", args, &body) })
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
