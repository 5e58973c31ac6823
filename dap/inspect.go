package dap

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	godap "github.com/google/go-dap"
)

const (
	// maxValue bounds a value that is kept, in bytes. Adapters may send megabytes for one string.
	maxValue = 16 << 10
	// defaultCount is the default number of variables in a page, and maxCount the maximum.
	defaultCount = 200
	maxCount     = 5000
)

// Threads returns the threads of the program.
func (s *Session) Threads(ctx context.Context) ([]Thread, error) {
	defer s.tree.use()()
	t, err := s.debuggee.connected()
	if err != nil {
		return nil, err
	}
	return t.threads(ctx)
}

// StackTrace returns up to levels frames of a thread, beginning with frame number start, and the total number of frames, or zero if
// the adapter does not report it. Thread zero is the one that stopped; levels zero means 20.
func (s *Session) StackTrace(ctx context.Context, thread, start, levels int) (frames []Frame, total int, err error) {
	defer s.tree.use()()
	t, err := s.debuggee.stopped()
	if err != nil {
		return nil, 0, err
	}
	return t.stackTrace(ctx, thread, start, levels)
}

// Scopes returns the scopes of a frame; zero is the active one (see [Snapshot]).
func (s *Session) Scopes(ctx context.Context, frame int) ([]Scope, error) {
	defer s.tree.use()()
	t, err := s.debuggee.stopped()
	if err != nil {
		return nil, err
	}
	f, err := t.frame(ctx, frame)
	if err != nil {
		return nil, err
	}
	var body godap.ScopesResponseBody
	err = t.withScope(ctx, &f.id, true, func() error {
		return t.adapter.do(ctx, "scopes", &godap.ScopesArguments{FrameId: f.id}, &body)
	})
	if err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	list := make([]Scope, 0, len(body.Scopes))
	for _, sc := range body.Scopes {
		list = append(list, Scope{
			Name: valid(sc.Name), Hint: sc.PresentationHint, Ref: t.debuggee.exec.handles.scope(sc.VariablesReference, f.id),
			Named: sc.NamedVariables, Indexed: sc.IndexedVariables, Expensive: sc.Expensive,
		})
	}
	return list, nil
}

// Page selects a part of a variable's children.
type Page struct {
	// Filter is "indexed" or "named"; empty for both.
	Filter string
	// Start is the number of the first child. Count is the number of children; zero means [defaultCount].
	Start, Count int
}

// Variables returns the variables in a scope or a variable. more reports whether others follow the page, if the adapter reports it.
func (s *Session) Variables(ctx context.Context, ref int, p Page) (list []Variable, more bool, err error) {
	defer s.tree.use()()
	t, err := s.debuggee.stopped()
	if err != nil {
		return nil, false, err
	}
	v, err := t.variables(ref)
	if err != nil {
		return nil, false, err
	}
	if p.Count <= 0 {
		p.Count = defaultCount
	}
	p.Count = min(p.Count, maxCount)
	var body godap.VariablesResponseBody
	args := &godap.VariablesArguments{VariablesReference: v.id, Filter: p.Filter, Start: p.Start, Count: p.Count}
	err = t.withScope(ctx, v.scope, false, func() error { return t.adapter.do(ctx, "variables", args, &body) })
	if err != nil {
		return nil, false, err
	}
	vars := body.Variables
	if len(vars) > p.Count { // an adapter without paging sends all variables, or all of the other kind
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
		v := &vars[i]
		list = append(list, Variable{
			Name: truncate(v.Name), Value: truncate(v.Value), Type: truncate(v.Type), Ref: t.debuggee.exec.handles.variables(v.VariablesReference),
			Named: v.NamedVariables, Indexed: v.IndexedVariables, EvaluateName: v.EvaluateName, MemoryReference: v.MemoryReference,
			Hint: v.PresentationHint,
		})
	}
	return list, more, nil
}

// truncate bounds a value to [maxValue].
func truncate(text string) string {
	if len(text) <= maxValue {
		return valid(text)
	}
	return valid(text[:maxValue]) + fmt.Sprintf("… [%d bytes more]", len(text)-maxValue)
}

// These arguments differ from those of go-dap, which leave out the frame zero: gdb counts frames from zero.
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

// Evaluate evaluates an expression in a frame; zero is the active frame (see [Snapshot]). While the program runs, the context must
// be "repl" and the frame zero. The contexts are those of the protocol: watch, repl, hover, clipboard, variables.
func (s *Session) Evaluate(ctx context.Context, expression, context string, frame int) (*Variable, error) {
	defer s.tree.use()()
	t, err := s.debuggee.connected()
	if err != nil {
		return nil, err
	}
	args := &evaluateArguments{Expression: expression, Context: context}
	s.tree.mu.Lock()
	state := t.debuggee.state
	s.tree.mu.Unlock()
	switch {
	case state == StateStopped:
		switch f, err := t.frame(ctx, frame); {
		case err == nil:
			args.FrameID = &f.id
		case frame != 0 || !errors.Is(err, errNoFrame):
			return nil, err
		}
	case frame != 0 || context != "repl":
		return nil, fmt.Errorf("%w. Use pause first, or wait for the next stop", ErrRunning)
	}
	body, err := request[godap.EvaluateResponseBody](ctx, t, "evaluate", args)
	if err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return &Variable{
		Name: expression, Value: truncate(body.Result), Type: truncate(body.Type), Ref: t.debuggee.exec.handles.variables(body.VariablesReference),
		Named: body.NamedVariables, Indexed: body.IndexedVariables, MemoryReference: body.MemoryReference, Hint: body.PresentationHint,
	}, nil
}

// Completions returns the completions of text at column, which counts UTF-16 units from 1.
func (s *Session) Completions(ctx context.Context, text string, column, frame int) ([]godap.CompletionItem, error) {
	defer s.tree.use()()
	t, err := s.debuggee.stoppedFor("completions", s.debuggee.capabilities().SupportsCompletionsRequest)
	if err != nil {
		return nil, err
	}
	f, err := t.frame(ctx, frame)
	if err != nil {
		return nil, err
	}
	body, err := request[godap.CompletionsResponseBody](ctx, t, "completions", &completionsArguments{FrameID: f.id, Text: text, Column: column})
	return body.Targets, err
}

// ExceptionInfo describes the exception that a thread stopped for; zero is the thread that stopped.
func (s *Session) ExceptionInfo(ctx context.Context, thread int) (*godap.ExceptionInfoResponseBody, error) {
	defer s.tree.use()()
	t, err := s.debuggee.stoppedFor("exception info", s.debuggee.capabilities().SupportsExceptionInfoRequest)
	if err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	if stop := t.debuggee.exec.stop; thread == 0 && stop != nil {
		thread = stop.Thread
	}
	s.tree.mu.Unlock()
	body, err := request[godap.ExceptionInfoResponseBody](ctx, t, "exceptionInfo", &godap.ExceptionInfoArguments{ThreadId: thread})
	if err != nil {
		return nil, err
	}
	return &body, nil
}

// Modules returns up to count modules, beginning with module number start, and the total number. A count of zero means all modules.
func (s *Session) Modules(ctx context.Context, start, count int) (list []godap.Module, total int, err error) {
	defer s.tree.use()()
	t, err := s.debuggee.connected()
	if err != nil {
		return nil, 0, err
	}
	if !s.debuggee.capabilities().SupportsModulesRequest {
		return nil, 0, unsupported("module introspection")
	}
	body, err := request[godap.ModulesResponseBody](ctx, t, "modules", &godap.ModulesArguments{StartModule: start, ModuleCount: count})
	if err != nil {
		return nil, 0, err
	}
	return body.Modules, body.TotalModules, nil
}

// LoadedSources returns the sources that the program has loaded.
func (s *Session) LoadedSources(ctx context.Context) ([]godap.Source, error) {
	defer s.tree.use()()
	t, err := s.debuggee.connected()
	if err != nil {
		return nil, err
	}
	if !s.debuggee.capabilities().SupportsLoadedSourcesRequest {
		return nil, unsupported("loaded sources")
	}
	body, err := request[godap.LoadedSourcesResponseBody](ctx, t, "loadedSources", nil)
	return body.Sources, err
}

// GotoTargets returns the targets of [Session.Resume] with goto for a line of a file.
func (s *Session) GotoTargets(ctx context.Context, path string, line int) ([]godap.GotoTarget, error) {
	defer s.tree.use()()
	t, err := s.debuggee.stoppedFor("goto", s.debuggee.capabilities().SupportsGotoTargetsRequest)
	if err != nil {
		return nil, err
	}
	body, err := request[godap.GotoTargetsResponseBody](ctx, t, "gotoTargets", &godap.GotoTargetsArguments{Source: source(path), Line: line})
	return body.Targets, err
}

// StepInTargets returns the functions that [Session.Resume] with stepIn can step into, in a frame; zero is the active one
// (see [Snapshot]).
func (s *Session) StepInTargets(ctx context.Context, frame int) ([]godap.StepInTarget, error) {
	defer s.tree.use()()
	t, err := s.debuggee.stoppedFor("step-in targets", s.debuggee.capabilities().SupportsStepInTargetsRequest)
	if err != nil {
		return nil, err
	}
	f, err := t.frame(ctx, frame)
	if err != nil {
		return nil, err
	}
	body, err := request[godap.StepInTargetsResponseBody](ctx, t, "stepInTargets", &godap.StepInTargetsArguments{FrameId: f.id})
	return body.Targets, err
}

// source returns the source of a file on the disk.
func source(path string) godap.Source { return godap.Source{Name: filepath.Base(path), Path: path} }
