package dap

import (
	"cmp"
	"context"

	godap "github.com/google/go-dap"
)

// SetVariable sets a variable in a scope or a variable, by name.
func (s *Session) SetVariable(ctx context.Context, ref int, name, value string) (*Variable, error) {
	defer s.tree.use()()
	t, err := s.debuggee.stoppedFor("setting variables", s.debuggee.capabilities().SupportsSetVariable)
	if err != nil {
		return nil, err
	}
	v, err := t.variables(ref)
	if err != nil {
		return nil, err
	}
	var body struct {
		godap.SetVariableResponseBody
		Result string `json:"result"` // lldb-dap up to version 19 uses this name for value
	}
	args := &godap.SetVariableArguments{VariablesReference: v.id, Name: name, Value: value}
	err = t.withScope(ctx, v.scope, false, func() error { return t.adapter.do(ctx, "setVariable", args, &body) })
	if err != nil {
		return nil, err
	}
	t.invalidate()
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return &Variable{
		Name: name, Value: truncate(cmp.Or(body.Value, body.Result)), Type: truncate(body.Type),
		Ref: t.debuggee.exec.handles.variables(body.VariablesReference), Named: body.NamedVariables, Indexed: body.IndexedVariables,
	}, nil
}

// SetExpression assigns a value to an expression.
func (s *Session) SetExpression(ctx context.Context, expression, value string, frame int) (*Variable, error) {
	defer s.tree.use()()
	t, err := s.debuggee.stoppedFor("setting expressions", s.debuggee.capabilities().SupportsSetExpression)
	if err != nil {
		return nil, err
	}
	f, err := t.frame(ctx, frame)
	if err != nil {
		return nil, err
	}
	body, err := request[godap.SetExpressionResponseBody](ctx, t, "setExpression", &setExpressionArguments{Expression: expression, Value: value, FrameID: f.id})
	if err != nil {
		return nil, err
	}
	t.invalidate()
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return &Variable{
		Name: expression, Value: truncate(body.Value), Type: truncate(body.Type), Ref: t.debuggee.exec.handles.variables(body.VariablesReference),
		Named: body.NamedVariables, Indexed: body.IndexedVariables,
	}, nil
}
