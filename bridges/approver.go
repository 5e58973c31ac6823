package bridges

import (
	"context"
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// ClientApprover asks through the editor.
type ClientApprover struct {
	client  acp.Caller
	session acp.SessionID
}

var _ agent.Approver = (*ClientApprover)(nil)

// LocalApprover is for a session with nobody to ask: what needs leave does not run.
type LocalApprover struct{}

var _ agent.Approver = LocalApprover{}

// ErrNobody is the answer of a [LocalApprover].
var ErrNobody = errors.New("there is nobody to ask for permission")

// Approve implements [agent.Approver].
func (LocalApprover) Approve(ctx context.Context, _ agent.Question) (agent.Decision, error) {
	if ctx.Err() != nil {
		return agent.RejectOnce, context.Cause(ctx)
	}
	return agent.RejectOnce, ErrNobody
}

// maxTitle bounds a question's title in characters; the content has the whole.
const maxTitle = 80

// Approve implements [agent.Approver]. It fails closed: whatever is not clearly a yes is a no.
func (a *ClientApprover) Approve(ctx context.Context, q agent.Question) (agent.Decision, error) {
	always := ""
	if q.Always != "" {
		always = " (" + q.Always + ")"
	}
	call := acp.ToolCallUpdate{
		ToolCallID: acp.ToolCallID(q.ToolCallID),
		Title:      acp.Value(cut(q.Title, maxTitle)),
		Kind:       acp.Value(acp.ToolKind(q.Kind)),
		Status:     acp.Value(acp.ToolCallStatusPending),
		RawInput:   q.Input,
	}
	if shown := content.ToolCall(q.Content); shown != nil {
		call.Content = acp.Value(shown)
	}
	if places := content.Locations(q.Locations); places != nil {
		call.Locations = acp.Value(places)
	}
	resp, err := acp.MethodSessionRequestPermission.Call(ctx, a.client, &acp.RequestPermissionRequest{
		SessionID: a.session, ToolCall: call,
		Options: []acp.PermissionOption{
			{OptionID: "allow_once", Name: "Allow once", Kind: acp.PermissionOptionKindAllowOnce},
			{OptionID: "allow_always", Name: "Always allow" + always, Kind: acp.PermissionOptionKindAllowAlways},
			{OptionID: "reject_once", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce},
			{OptionID: "reject_always", Name: "Always reject" + always, Kind: acp.PermissionOptionKindRejectAlways},
		},
	})
	if err != nil {
		if ctx.Err() != nil {
			return agent.RejectOnce, context.Cause(ctx)
		}
		if errors.Is(err, &acp.Error{Code: acp.ErrorCodeMethodNotFound}) {
			return LocalApprover{}.Approve(ctx, q)
		}
		if _, malformed := errors.AsType[*jsonx.DecodeError](err); malformed {
			return agent.RejectOnce, fmt.Errorf("the editor's answer makes no sense: %w", err)
		}
		return agent.RejectOnce, fmt.Errorf("the editor could not ask: %w", err)
	}
	switch o := resp.Outcome.(type) {
	case *acp.CancelledPermissionOutcome:
		return agent.Cancelled, nil
	case *acp.SelectedPermissionOutcome:
		if d, ok := decisions[o.OptionID]; ok {
			return d, nil
		}
		return agent.RejectOnce, fmt.Errorf("the editor chose the option %q, which was not offered", o.OptionID)
	default:
		return agent.RejectOnce, errors.New("the editor's answer is neither a choice nor a cancellation")
	}
}

var decisions = map[acp.PermissionOptionID]agent.Decision{
	"allow_once": agent.AllowOnce, "allow_always": agent.AllowAlways,
	"reject_once": agent.RejectOnce, "reject_always": agent.RejectAlways,
}

func cut(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
