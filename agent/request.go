package agent

import (
	"context"

	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/providers"
)

// ContextUse describes the use of a model's window, in tokens. All numbers except Used and Size are estimates.
type ContextUse struct {
	// Used is the size of the last request; zero if it is unknown. Size is that of the window.
	Used, Size int
	// Next is the size of the next request without its prompt.
	Next int
	// System, Tools and Conversation are the parts of the next request.
	System, Tools, Conversation int
	ToolCount, Messages         int
}

// ContextUse returns the use of the model's window.
func (s *Session) ContextUse(ctx context.Context) (ContextUse, error) {
	var view requestState
	if err := s.do(func(st *state) error {
		view = st.request()
		return nil
	})(); err != nil {
		return ContextUse{}, err
	}
	tools := s.offered(&view.model, view.mode)
	w := &view.window
	use := ContextUse{
		Used: w.Usage().Context(), Size: view.model.ContextWindow, Conversation: contextwindow.Estimate(&view.model, w.Messages),
		ToolCount: len(tools), Messages: len(w.Messages), System: contextwindow.Tokens(len(prompter{s}.systemPrompt(ctx, view.mode, tools))),
	}
	for _, tool := range tools {
		spec := tool.Spec()
		use.Tools += contextwindow.Tokens(len(spec.Name) + len(spec.Description) + len(spec.Schema))
	}
	w.SetOverhead(use.System + use.Tools)
	use.Next = w.Next(&view.model)
	return use, nil
}

// requestState is the part of a session's state that a request is made of.
type requestState struct {
	choices
	window contextwindow.Window
}

// request returns the state for a request, with messages of its own.
func (st *state) request() requestState { return requestState{st.choices, st.window.Clone()} }

// assemble makes a request.
func (s *Session) assemble(ctx context.Context, view *requestState, tools []Tool) *providers.Request {
	req := &providers.Request{
		System:   prompter{s}.briefed(prompter{s}.systemPrompt(ctx, view.mode, tools)),
		Messages: contextwindow.Messages(view.window.Messages, view.model.Images),
		Thinking: view.thinking, ServiceTier: view.tier,
		SessionID: s.opts.ID,
		HasCall:   s.opts.Log.HasCall,
	}
	for _, tool := range tools {
		spec := tool.Spec()
		description := spec.Description
		if spec.Name == TaskTool {
			description += prompter{s}.helperList(ctx)
		}
		req.Tools = append(req.Tools, providers.Tool{Name: spec.Name, Description: description, Schema: spec.Schema})
	}
	return req
}
