package bridges_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/jsonx"
)

var question = agent.Question{
	ToolCallID: "c1", Title: "rm -rf " + strings.Repeat("very/", 40) + "deep", Kind: agent.KindExecute, Input: jsonx.Raw(`{"command":"x"}`),
	Content: []agent.Content{agent.TextContent{Text: "$ rm"}}, Locations: []agent.Location{{Path: "/w/a", Line: 3}}, Always: "rm commands",
}

// A question to an editor that does not answer ends with its context, and the answer is no.
func TestClientApprover_EndsWithItsContext(t *testing.T) {
	silent := start(t, acptest.AllCapabilities(), func(o *acptest.EditorOptions) {
		o.Permission = func(ctx context.Context, _ *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	ctx, cancel := context.WithCancelCause(own(t))
	cause := errors.New("the turn is over")
	cancel(cause)
	d, err := silent.Approver.Approve(ctx, question)
	if d != agent.RejectOnce || !errors.Is(err, cause) {
		t.Errorf("decision %v, %v", d, err)
	}
}

// An editor without permission requests cannot allow anything.
func TestClientApprover_CannotAsk(t *testing.T) {
	e := start(t, acptest.AllCapabilities(), func(o *acptest.EditorOptions) {
		o.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			return nil, &acp.Error{Code: acp.ErrorCodeMethodNotFound, Message: "what?"}
		}
	})
	if d, err := e.Approver.Approve(own(t), question); d != agent.RejectOnce || !errors.Is(err, bridges.ErrCannotAsk) {
		t.Errorf("decision %v, %v", d, err)
	}
}

func TestClientApprover_Answers(t *testing.T) {
	var answer *acp.RequestPermissionResponse
	var fail error
	var got *acp.RequestPermissionRequest
	e := start(t, acptest.AllCapabilities(), func(o *acptest.EditorOptions) {
		o.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			got = p
			return answer, fail
		}
	})
	for _, tt := range []struct {
		name   string
		answer *acp.RequestPermissionResponse
		fail   error
		want   agent.Decision
		err    string
	}{
		{"allow once", acptest.Choose("allow_once"), nil, agent.AllowOnce, ""},
		{"allow always", acptest.Choose("allow_always"), nil, agent.AllowAlways, ""},
		{"reject once", acptest.Choose("reject_once"), nil, agent.RejectOnce, ""},
		{"reject always", acptest.Choose("reject_always"), nil, agent.RejectAlways, ""},
		{"cancelled", &acp.RequestPermissionResponse{Outcome: &acp.CancelledPermissionOutcome{}}, nil, agent.Cancelled, ""},
		{"unknown option", acptest.Choose("allow_typo"), nil, agent.RejectOnce, `"allow_typo", which was not offered`},
		{"unknown outcome", &acp.RequestPermissionResponse{Outcome: &acp.UnknownRequestPermissionOutcome{Type: "maybe", Raw: jsonx.Raw(`{"outcome":"maybe"}`)}}, nil, agent.RejectOnce, "neither"},
		{"error", nil, &acp.Error{Code: -32603, Message: "no window"}, agent.RejectOnce, "no window"},
		{"not supported", nil, &acp.Error{Code: -32601, Message: "what?"}, agent.RejectOnce, "cannot ask"},
	} {
		answer, fail = tt.answer, tt.fail
		d, err := e.Approver.Approve(own(t), question)
		if d != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: decision %v, %v", tt.name, d, err)
		}
	}
	title := got.ToolCall.Title.Or("")
	if len([]rune(title)) != 80 || !strings.HasSuffix(title, "…") || got.ToolCall.Kind.Or("") != acp.ToolKindExecute ||
		got.ToolCall.Status.Or("") != acp.ToolCallStatusPending || string(got.ToolCall.RawInput) != `{"command":"x"}` {
		t.Errorf("tool call %+v", got.ToolCall)
	}
	var names []string
	for _, o := range got.Options {
		if string(o.OptionID) != string(o.Kind) {
			t.Errorf("option %+v", o)
		}
		names = append(names, o.Name)
	}
	if strings.Join(names, "; ") != "Allow once; Always allow (rm commands); Reject; Always reject (rm commands)" {
		t.Errorf("options %q", names)
	}
}

// A client can give the reason of a rejection in _meta; it does not turn another answer into one.
func TestClientApprover_Reason(t *testing.T) {
	for _, tt := range []struct {
		option acp.PermissionOptionID
		reason any
		want   agent.Decision
		says   string
	}{
		{"reject_once", "no user is\nthere", agent.RejectOnce, `no user is\nthere`},
		{"reject_once", strings.Repeat("x", 1000), agent.RejectOnce, strings.Repeat("x", 100)},
		{"reject_once", 7, agent.RejectOnce, ""},
		{"reject_once", "", agent.RejectOnce, ""},
		{"allow_once", "why not", agent.AllowOnce, ""},
		{"reject_always", "never", agent.RejectAlways, ""},
	} {
		e := start(t, acptest.AllCapabilities(), func(o *acptest.EditorOptions) {
			o.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				r := acptest.Choose(tt.option)
				return r, r.Meta.Set(content.ReasonMeta, tt.reason)
			}
		})
		d, err := e.Approver.Approve(own(t), question)
		refusal, refused := errors.AsType[*agent.RefusalError](err)
		if d != tt.want || refused != (tt.says != "") || err != nil && !refused {
			t.Errorf("%s with %v: %v, %v", tt.option, tt.reason, d, err)
		} else if refused && (!strings.HasPrefix(refusal.Reason, tt.says) || len(refusal.Reason) > 600) {
			t.Errorf("the reason is %q", refusal.Reason)
		}
	}
}

// TestClientApprover_Trust marks questions about files of the workspace, which a client without a user may decline.
func TestClientApprover_Trust(t *testing.T) {
	for _, trust := range []bool{false, true} {
		var marked bool
		e := start(t, acptest.AllCapabilities(), func(o *acptest.EditorOptions) {
			o.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				_, err := p.Meta.Get(content.TrustMeta, &marked)
				return acptest.Choose("allow_once"), err
			}
		})
		q := question
		q.Trust = trust
		if d, err := e.Approver.Approve(own(t), q); err != nil || d != agent.AllowOnce || marked != trust {
			t.Errorf("trust %v: %v, %v; marked %v", trust, d, err, marked)
		}
	}
}
