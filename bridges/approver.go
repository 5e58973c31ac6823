package bridges

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// clientApprover asks for permission through the editor.
type clientApprover struct {
	client  acp.Caller
	session acp.SessionID
}

var _ agent.Approver = (*clientApprover)(nil)

// errCannotAsk is the error for an editor that has no permission requests.
var errCannotAsk = errors.New("the editor cannot ask for permission")

// maxReason bounds the reason of a rejection, in characters.
const maxReason = 500

// maxTitle bounds the title of a question, in characters. The content has the whole title.
const maxTitle = 80

// Approve implements [agent.Approver]. It fails closed: any answer that is not clearly a yes is a no.
func (a *clientApprover) Approve(ctx context.Context, q agent.Question) (agent.Decision, error) {
	call := acp.ToolCallUpdate{
		ToolCallID: acp.ToolCallID(q.ToolCallID),
		Title:      acp.Value(text.Truncate(q.Title, maxTitle)),
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
	request := &acp.RequestPermissionRequest{SessionID: a.session, ToolCall: call, Options: options(&q)}
	if q.Trust {
		if err := request.Meta.Set(content.TrustMeta, true); err != nil {
			return agent.RejectOnce, err
		}
	}
	resp, err := acp.MethodSessionRequestPermission.Call(ctx, a.client, request)
	if err != nil {
		if ctx.Err() != nil {
			return agent.RejectOnce, context.Cause(ctx)
		}
		if errors.Is(err, &acp.Error{Code: acp.ErrorCodeMethodNotFound}) {
			return agent.RejectOnce, errCannotAsk
		}
		if _, malformed := errors.AsType[*jsonx.DecodeError](err); malformed {
			return agent.RejectOnce, fmt.Errorf("the editor sent an invalid answer: %w", err)
		}
		return agent.RejectOnce, fmt.Errorf("the editor could not ask: %w", err)
	}
	switch o := resp.Outcome.(type) {
	case *acp.CancelledPermissionOutcome:
		return agent.Cancelled, nil
	case *acp.SelectedPermissionOutcome:
		offered := slices.ContainsFunc(options(&q), func(p acp.PermissionOption) bool { return p.OptionID == o.OptionID })
		if d, ok := decisions[o.OptionID]; ok && offered {
			var reason string
			if had, err := resp.Meta.Get(content.ReasonMeta, &reason); had && err == nil && reason != "" && d == agent.RejectOnce {
				return d, &agent.RefusalError{Reason: text.Truncate(text.VisibleLine(reason), maxReason)}
			}
			return d, nil
		}
		return agent.RejectOnce, fmt.Errorf("the editor chose the option %q, which was not offered", o.OptionID)
	default:
		return agent.RejectOnce, errors.New("the editor's answer is neither a choice nor a cancellation")
	}
}

// options returns the answers that a question offers.
func options(q *agent.Question) []acp.PermissionOption {
	always := ""
	if q.Always != "" {
		always = " (" + q.Always + ")"
	}
	all := []acp.PermissionOption{{OptionID: "allow_once", Name: "Allow once", Kind: acp.PermissionOptionKindAllowOnce}}
	if !q.Once {
		all = append(all, acp.PermissionOption{OptionID: "allow_always", Name: "Always allow" + always, Kind: acp.PermissionOptionKindAllowAlways})
		if q.Workspace {
			all = append(all, acp.PermissionOption{OptionID: "allow_workspace", Name: "Always allow in this workspace" + always, Kind: acp.PermissionOptionKindAllowAlways})
		}
	}
	return append(
		all, acp.PermissionOption{OptionID: "reject_once", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce},
		acp.PermissionOption{OptionID: "reject_always", Name: "Always reject" + always, Kind: acp.PermissionOptionKindRejectAlways},
	)
}

var decisions = map[acp.PermissionOptionID]agent.Decision{
	"allow_once": agent.AllowOnce, "allow_always": agent.AllowAlways, "allow_workspace": agent.AllowWorkspace,
	"reject_once": agent.RejectOnce, "reject_always": agent.RejectAlways,
}
