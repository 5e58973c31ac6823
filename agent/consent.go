package agent

import (
	"context"
	"fmt"
)

// Consent is a question that comes up while a call runs, such as whether programs of the workspace may be started.
type Consent struct {
	// Title names the permission that is requested, in a few words.
	Title string
	// Text explains it.
	Text string
	// Always says what an "always" answer covers.
	Always string
	// Needed is called when the previous questions are answered, because they may have settled this one. Optional.
	Needed func() bool
}

// consent is [Call.Consent].
func (r *toolRun) consent(ctx context.Context, c Consent) (Decision, error) {
	s := r.turn.session
	done, err := s.ask(ctx)
	if err != nil {
		return RejectOnce, err
	}
	defer done()
	if c.Needed != nil && !c.Needed() {
		return Unasked, nil
	}
	hide := s.opts.Secrets.Hide
	decision, err := s.opts.Approver.Approve(ctx, Question{
		ToolCallID: r.call.ID, Title: hide(c.Title), Kind: r.tool.Spec().Kind, Input: r.call.Input,
		Content: []Content{TextContent{hide(c.Text)}}, Always: hide(c.Always),
	})
	switch {
	case ctx.Err() != nil:
		return RejectOnce, context.Cause(ctx)
	case err != nil:
		return RejectOnce, fmt.Errorf("asking the user: %w", err)
	case decision == Cancelled:
		r.turn.Cancel()
		return Cancelled, ErrCancelled
	}
	r.turn.emit(ToolProgress{CallID: r.call.ID, Running: true}) // the question showed the call as waiting
	return decision, nil
}
