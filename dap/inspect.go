package dap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	godap "github.com/google/go-dap"
)

const (
	// defaultLevels is how many frames are asked for where nobody says, maxLevels how many can be.
	defaultLevels = 20
	maxLevels     = 1000
	// maxValue bounds a value that is kept, in bytes. Adapters may send megabytes for one string.
	maxValue = 16 << 10
	// DefaultCount is how many variables are asked for at once, maxCount how many can be.
	DefaultCount = 200
	maxCount     = 5000
)

// Threads returns the threads.
func (s *Session) Threads(ctx context.Context) ([]Thread, error) {
	defer s.use()()
	t, l, err := s.current()
	if err != nil {
		return nil, err
	}
	var body godap.ThreadsResponseBody
	if err := l.do(ctx, "threads", nil, &body); err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	list := make([]Thread, 0, len(body.Threads))
	for _, th := range body.Threads {
		still := t.state == StateStopped
		if still {
			if stopped, known := t.threads[th.Id]; known && t.stop != nil && th.Id != t.stop.Thread {
				still = stopped
			}
		}
		list = append(list, Thread{ID: th.Id, Name: valid(th.Name), Stopped: still})
	}
	return list, nil
}

// StackTrace returns levels frames of a thread from start on, and how many there are where the adapter tells (else 0).
// Thread zero is the one that stopped; levels zero stands for 20.
func (s *Session) StackTrace(ctx context.Context, thread, start, levels int) (frames []Frame, total int, err error) {
	defer s.use()()
	t, l, err := s.still()
	if err != nil {
		return nil, 0, err
	}
	return t.stackTrace(ctx, l, thread, start, levels)
}

func (s *Session) stackTrace(ctx context.Context, l *life, thread, start, levels int) (frames []Frame, total int, err error) {
	if levels <= 0 {
		levels = defaultLevels
	}
	levels = min(levels, maxLevels)
	s.tree.mu.Lock()
	stop := s.stop
	s.tree.mu.Unlock()
	if thread == 0 && stop != nil {
		thread = stop.Thread
	}
	if thread == 0 {
		if thread, err = s.anyThread(ctx); err != nil {
			return nil, 0, err
		}
	}
	var body godap.StackTraceResponseBody
	if err := l.do(ctx, "stackTrace", &godap.StackTraceArguments{ThreadId: thread, StartFrame: start, Levels: levels}, &body); err != nil {
		return nil, 0, err
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.stop != stop || s.stop == nil {
		return nil, 0, errRanOn
	}
	for i := range body.StackFrames {
		if len(frames) == levels { // an adapter may send all it has
			break
		}
		frames = append(frames, s.frameLocked(&body.StackFrames[i], thread))
	}
	return frames, body.TotalFrames, nil
}

var errRanOn = fmt.Errorf("%w: it ran on meanwhile. Wait for the next stop", ErrRunning)

func (s *Session) frameLocked(f *godap.StackFrame, thread int) Frame {
	out := Frame{
		Name: valid(f.Name), Source: f.Source, Line: f.Line, Column: f.Column,
		InstructionPointer: f.InstructionPointerReference, Thread: thread, CanRestart: f.CanRestart,
		Subtle: f.PresentationHint == "subtle" || f.PresentationHint == "label",
	}
	if f.Source != nil && f.Source.SourceReference == 0 && filepath.IsAbs(f.Source.Path) {
		out.Path = filepath.Clean(f.Source.Path)
	}
	out.Own = s.own(out.Path)
	out.ID = s.frameHandle(f.Id, &out)
	return out
}

// active returns the frame that calls are about which name none.
func (s *Session) active(ctx context.Context) (*Frame, error) {
	at, err := s.at(ctx)
	if err != nil {
		return nil, err
	}
	return at.frame, nil
}

// at returns where the program stands still, which is asked for once at each stop.
func (s *Session) at(ctx context.Context) (*place, error) {
	_, l, err := s.still()
	if err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	shot := s.shot
	s.tree.mu.Unlock()
	if shot == nil {
		return nil, errRanOn
	}
	return shot.place.get(func() (*place, error) {
		frames, _, err := s.stackTrace(ctx, l, 0, 0, 1)
		if err != nil {
			return nil, err
		}
		if len(frames) == 0 {
			return nil, errNoFrame
		}
		top := &frames[0]
		if top.Own {
			return &place{frame: top}, nil
		}
		frames, _, err = s.stackTrace(ctx, l, 0, 0, defaultLevels)
		if err == nil {
			for i := range frames {
				if f := &frames[i]; f.Own && !f.Subtle {
					return &place{frame: f, top: top}, nil
				}
			}
		}
		return &place{frame: top}, nil
	})
}

// own reports whether a file is the user's own code.
func (s *Session) own(path string) bool {
	roots := s.start.Roots
	if len(roots) == 0 {
		roots = []string{s.start.Dir}
	}
	return path != "" && slices.ContainsFunc(roots, func(root string) bool {
		rel, err := filepath.Rel(root, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

var errNoFrame = errors.New("No active stack frame. Run stack_trace first or supply frame_id.")

// rawFrame returns what the adapter calls a frame; zero is the active one (see [Snapshot]).
func (s *Session) rawFrame(ctx context.Context, frame int) (int, error) {
	if frame == 0 {
		f, err := s.active(ctx)
		if err != nil {
			return 0, err
		}
		frame = f.ID
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	h, err := s.raw(frame, true)
	return h.raw, err
}

func (s *Session) rawRef(ref int) (handle, error) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.raw(ref, false)
}

// kindLLDB is a kind of adapters (see [Spec.Kind]) whose scopes have the same references in all frames, up to version 19 at
// least: they mean those of the frame that scopes was asked for last.
const kindLLDB = "lldb-dap"

// inScope has ask make a request about variables of the scopes of a frame (nil for those that are in other variables), so that
// the adapter knows which are meant. asks says that the request is the one for the scopes.
func (s *Session) inScope(ctx context.Context, l *life, frame *int, asks bool, ask func() error) error {
	if spec := s.start.Adapter; frame == nil || spec == nil || spec.Kind != kindLLDB {
		return ask()
	}
	select {
	case l.client.scoping <- struct{}{}:
		defer func() { <-l.client.scoping }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.tree.mu.Lock()
	there := s.handles.scoped != nil && *s.handles.scoped == *frame
	s.handles.scoped = nil
	s.tree.mu.Unlock()
	if !there && !asks {
		if err := l.do(ctx, "scopes", &godap.ScopesArguments{FrameId: *frame}, nil); err != nil {
			return err
		}
	}
	err := ask()
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if err == nil && s.state == StateStopped {
		s.handles.scoped = frame
	}
	return err
}

// Scopes returns the scopes of a frame; zero is the active one (see [Snapshot]).
func (s *Session) Scopes(ctx context.Context, frame int) ([]Scope, error) {
	defer s.use()()
	t, l, err := s.still()
	if err != nil {
		return nil, err
	}
	raw, err := t.rawFrame(ctx, frame)
	if err != nil {
		return nil, err
	}
	var body godap.ScopesResponseBody
	err = t.inScope(ctx, l, &raw, true, func() error {
		return l.do(ctx, "scopes", &godap.ScopesArguments{FrameId: raw}, &body)
	})
	if err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	list := make([]Scope, 0, len(body.Scopes))
	for _, sc := range body.Scopes {
		list = append(list, Scope{
			Name: valid(sc.Name), Hint: sc.PresentationHint, Ref: t.scopeHandle(sc.VariablesReference, raw), Named: sc.NamedVariables,
			Indexed: sc.IndexedVariables, Expensive: sc.Expensive,
		})
	}
	return list, nil
}

// Page asks for a part of a variable's children.
type Page struct {
	// Filter is "indexed" or "named"; empty for both.
	Filter string
	// Start and Count are a part; Count zero stands for [DefaultCount].
	Start, Count int
}

// Variables returns what is in a scope or a variable. More says that there are others behind the page, as far as is known.
func (s *Session) Variables(ctx context.Context, ref int, p Page) (list []Variable, more bool, err error) {
	defer s.use()()
	t, l, err := s.still()
	if err != nil {
		return nil, false, err
	}
	h, err := t.rawRef(ref)
	if err != nil {
		return nil, false, err
	}
	if p.Count <= 0 {
		p.Count = DefaultCount
	}
	p.Count = min(p.Count, maxCount)
	var body godap.VariablesResponseBody
	args := &godap.VariablesArguments{VariablesReference: h.raw, Filter: p.Filter, Start: p.Start, Count: p.Count}
	err = t.inScope(ctx, l, h.scope, false, func() error { return l.do(ctx, "variables", args, &body) })
	if err != nil {
		return nil, false, err
	}
	vars := body.Variables
	if len(vars) > p.Count { // an adapter that knows no pages sends all there is, or all there is of the other kind
		if p.Start > 0 && len(vars) > p.Start {
			vars = vars[p.Start:]
		}
		more = len(vars) > p.Count
		vars = vars[:min(len(vars), p.Count)]
	} else {
		more = len(vars) == p.Count
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	list = make([]Variable, 0, len(vars))
	for i := range vars {
		list = append(list, t.variableLocked(&vars[i]))
	}
	return list, more, nil
}

func (s *Session) variableLocked(v *godap.Variable) Variable {
	return Variable{
		Name: cut(v.Name), Value: cut(v.Value), Type: cut(v.Type), Ref: s.refHandle(v.VariablesReference), Named: v.NamedVariables,
		Indexed: v.IndexedVariables, EvaluateName: v.EvaluateName, MemoryReference: v.MemoryReference, Hint: v.PresentationHint,
	}
}

// cut bounds a value.
func cut(text string) string {
	if len(text) <= maxValue {
		return valid(text)
	}
	return valid(text[:maxValue]) + fmt.Sprintf("… [%d bytes more]", len(text)-maxValue)
}

// What go-dap leaves out where it is zero, and zero is a frame: gdb counts from there.
type (
	evaluateArguments struct {
		Expression string `json:"expression"`
		FrameID    *int   `json:"frameId,omitzero"`
		Context    string `json:"context,omitzero"`
	}
	setExpressionArguments struct {
		Expression string `json:"expression"`
		Value      string `json:"value"`
		FrameID    int    `json:"frameId"`
	}
	completionsArguments struct {
		FrameID int    `json:"frameId"`
		Text    string `json:"text"`
		Column  int    `json:"column"`
	}
	dataBreakpointInfoArguments struct {
		VariablesReference int    `json:"variablesReference,omitzero"`
		Name               string `json:"name"`
		FrameID            *int   `json:"frameId,omitzero"`
	}
)

// Evaluate evaluates an expression in a frame; zero is the active one (see [Snapshot]), where the program stands still. Context is the
// protocol's: watch, repl, hover, clipboard, variables.
func (s *Session) Evaluate(ctx context.Context, expression, context string, frame int) (*Variable, error) {
	defer s.use()()
	t, l, err := s.current()
	if err != nil {
		return nil, err
	}
	args := &evaluateArguments{Expression: expression, Context: context}
	s.tree.mu.Lock()
	state := t.state
	s.tree.mu.Unlock()
	switch {
	case state == StateStopped:
		switch raw, err := t.rawFrame(ctx, frame); {
		case err == nil:
			args.FrameID = &raw
		case frame != 0 || !errors.Is(err, errNoFrame):
			return nil, err
		}
	case frame != 0 || context != "repl":
		return nil, fmt.Errorf("%w. Use pause first, or wait for the next stop", ErrRunning)
	}
	var body godap.EvaluateResponseBody
	if err := l.do(ctx, "evaluate", args, &body); err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return &Variable{
		Name: expression, Value: cut(body.Result), Type: cut(body.Type), Ref: t.refHandle(body.VariablesReference), Named: body.NamedVariables,
		Indexed: body.IndexedVariables, MemoryReference: body.MemoryReference, Hint: body.PresentationHint,
	}, nil
}

// SetVariable changes a variable in a scope or a variable, by name.
func (s *Session) SetVariable(ctx context.Context, ref int, name, value string) (*Variable, error) {
	defer s.use()()
	t, l, err := s.still()
	if err != nil {
		return nil, err
	}
	if !s.Capabilities().SupportsSetVariable {
		return nil, unsupported("setting variables")
	}
	h, err := t.rawRef(ref)
	if err != nil {
		return nil, err
	}
	var body struct {
		godap.SetVariableResponseBody
		Result string `json:"result"` // lldb-dap up to version 19 calls the value so
	}
	args := &godap.SetVariableArguments{VariablesReference: h.raw, Name: name, Value: value}
	err = t.inScope(ctx, l, h.scope, false, func() error { return l.do(ctx, "setVariable", args, &body) })
	if err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	t.forgetVariables()
	return &Variable{
		Name: name, Value: cut(cmp.Or(body.Value, body.Result)), Type: cut(body.Type), Ref: t.refHandle(body.VariablesReference),
		Named: body.NamedVariables, Indexed: body.IndexedVariables,
	}, nil
}

// SetExpression changes what an assignable expression stands for.
func (s *Session) SetExpression(ctx context.Context, expression, value string, frame int) (*Variable, error) {
	defer s.use()()
	t, l, err := s.still()
	if err != nil {
		return nil, err
	}
	if !s.Capabilities().SupportsSetExpression {
		return nil, unsupported("setting expressions")
	}
	raw, err := t.rawFrame(ctx, frame)
	if err != nil {
		return nil, err
	}
	var body godap.SetExpressionResponseBody
	if err := l.do(ctx, "setExpression", &setExpressionArguments{Expression: expression, Value: value, FrameID: raw}, &body); err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	t.forgetVariables()
	return &Variable{
		Name: expression, Value: cut(body.Value), Type: cut(body.Type), Ref: t.refHandle(body.VariablesReference), Named: body.NamedVariables,
		Indexed: body.IndexedVariables,
	}, nil
}

// Completions returns what could follow in text at column, from 1, in UTF-16 units.
func (s *Session) Completions(ctx context.Context, text string, column, frame int) ([]godap.CompletionItem, error) {
	defer s.use()()
	t, l, err := s.still()
	if err != nil {
		return nil, err
	}
	if !s.Capabilities().SupportsCompletionsRequest {
		return nil, unsupported("completions")
	}
	raw, err := t.rawFrame(ctx, frame)
	if err != nil {
		return nil, err
	}
	var body godap.CompletionsResponseBody
	err = l.do(ctx, "completions", &completionsArguments{FrameID: raw, Text: text, Column: column}, &body)
	return body.Targets, err
}

// ExceptionInfo tells of the exception that a thread stopped for; zero is the thread that stopped.
func (s *Session) ExceptionInfo(ctx context.Context, thread int) (*godap.ExceptionInfoResponseBody, error) {
	defer s.use()()
	t, l, err := s.still()
	if err != nil {
		return nil, err
	}
	if !s.Capabilities().SupportsExceptionInfoRequest {
		return nil, unsupported("exception info")
	}
	s.tree.mu.Lock()
	if thread == 0 && t.stop != nil {
		thread = t.stop.Thread
	}
	s.tree.mu.Unlock()
	var body godap.ExceptionInfoResponseBody
	if err := l.do(ctx, "exceptionInfo", &godap.ExceptionInfoArguments{ThreadId: thread}, &body); err != nil {
		return nil, err
	}
	return &body, nil
}

// Modules returns modules from start on; count zero is all.
func (s *Session) Modules(ctx context.Context, start, count int) (list []godap.Module, total int, err error) {
	defer s.use()()
	_, l, err := s.current()
	if err != nil {
		return nil, 0, err
	}
	if !s.Capabilities().SupportsModulesRequest {
		return nil, 0, unsupported("module introspection")
	}
	var body godap.ModulesResponseBody
	if err := l.do(ctx, "modules", &godap.ModulesArguments{StartModule: start, ModuleCount: count}, &body); err != nil {
		return nil, 0, err
	}
	return body.Modules, body.TotalModules, nil
}

// LoadedSources returns the sources that the program has loaded.
func (s *Session) LoadedSources(ctx context.Context) ([]godap.Source, error) {
	defer s.use()()
	_, l, err := s.current()
	if err != nil {
		return nil, err
	}
	if !s.Capabilities().SupportsLoadedSourcesRequest {
		return nil, unsupported("loaded sources")
	}
	var body godap.LoadedSourcesResponseBody
	err = l.do(ctx, "loadedSources", nil, &body)
	return body.Sources, err
}

// GotoTargets returns where [Session.Resume] with goto can go to, for a line of a file.
func (s *Session) GotoTargets(ctx context.Context, path string, line int) ([]godap.GotoTarget, error) {
	defer s.use()()
	_, l, err := s.still()
	if err != nil {
		return nil, err
	}
	if !s.Capabilities().SupportsGotoTargetsRequest {
		return nil, unsupported("goto")
	}
	var body godap.GotoTargetsResponseBody
	err = l.do(ctx, "gotoTargets", &godap.GotoTargetsArguments{Source: source(path), Line: line}, &body)
	return body.Targets, err
}

// StepInTargets returns which functions [Session.Resume] with stepIn can go into, in a frame; zero is the active one (see [Snapshot]).
func (s *Session) StepInTargets(ctx context.Context, frame int) ([]godap.StepInTarget, error) {
	defer s.use()()
	t, l, err := s.still()
	if err != nil {
		return nil, err
	}
	if !s.Capabilities().SupportsStepInTargetsRequest {
		return nil, unsupported("step-in targets")
	}
	raw, err := t.rawFrame(ctx, frame)
	if err != nil {
		return nil, err
	}
	var body godap.StepInTargetsResponseBody
	err = l.do(ctx, "stepInTargets", &godap.StepInTargetsArguments{FrameId: raw}, &body)
	return body.Targets, err
}

// source names a file to an adapter.
func source(path string) godap.Source { return godap.Source{Name: filepath.Base(path), Path: path} }
