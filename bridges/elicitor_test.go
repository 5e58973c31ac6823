package bridges_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// asker is a client that gives every question the same answer.
type asker struct {
	action  acp.ElicitationAction
	outcome acp.RequestPermissionOutcome
	err     error
	got     any
}

func (a *asker) Call(ctx context.Context, method string, params, result any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	a.got = params
	if a.err != nil {
		return a.err
	}
	switch r := result.(type) {
	case *acp.CreateElicitationResponse:
		r.Action = a.action
	case *acp.RequestPermissionResponse:
		r.Outcome = a.outcome
	}
	return nil
}

func (a *asker) Notify(_ context.Context, _ string, params any) error {
	a.got = params
	return nil
}

func elicitorOf(client acp.Caller, c *acp.ElicitationCapabilities) agent.Elicitor {
	return bridges.New(bridges.Options{Client: client, Capabilities: acp.ClientCapabilities{Elicitation: c}, SessionID: "s"}).Elicitor
}

const oneText = `{"type":"object","properties":{"value":{"type":"string"}},"required":["value"]}`

// An elicitor that cannot ask returns an error in every mode, and the cause of a context that has ended.
func TestElicitor_CannotAsk(t *testing.T) {
	for name, e := range map[string]agent.Elicitor{
		"no modes":    elicitorOf(&asker{err: &acp.Error{Code: acp.ErrorCodeMethodNotFound}}, &acp.ElicitationCapabilities{}),
		"not at all":  elicitorOf(&asker{err: &acp.Error{Code: acp.ErrorCodeMethodNotFound}}, nil),
		"not in fact": elicitorOf(&asker{err: &acp.Error{Code: acp.ErrorCodeMethodNotFound}}, &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}, URL: &acp.ElicitationURLCapabilities{}}),
	} {
		t.Run(name, func(t *testing.T) {
			ctx := own(t)
			if _, err := e.Form(ctx, agent.Form{Message: "?", Schema: jsonx.Raw(oneText)}); !errors.Is(err, agent.ErrNoElicitation) {
				t.Errorf("Form: %v", err)
			}
			if _, err := e.URL(ctx, agent.URLRequest{ID: "1", URL: "https://example.com"}); !errors.Is(err, agent.ErrNoElicitation) {
				t.Errorf("URL: %v", err)
			}
			if _, _, err := e.Choose(ctx, agent.Choice{Options: []string{"a"}}); !errors.Is(err, agent.ErrNoElicitation) {
				t.Errorf("Choose: %v", err)
			}
			cause := errors.New("over")
			ended, cancel := context.WithCancelCause(ctx)
			cancel(cause)
			if _, _, err := e.Choose(ended, agent.Choice{Options: []string{"a"}}); !errors.Is(err, cause) {
				t.Errorf("Choose with an ended context: %v", err)
			}
		})
	}
}

func TestClientElicitor_Form(t *testing.T) {
	both := &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}}
	accept := func(v acp.ElicitationContentValue) acp.ElicitationAction {
		return &acp.ElicitationAcceptAction{Content: map[string]acp.ElicitationContentValue{"value": v}}
	}
	tests := []struct {
		name   string
		schema string
		client *asker
		action agent.ElicitAction
		want   string // the content, or a part of the error
	}{
		{"accept", oneText, &asker{action: accept(acp.ElicitationString("x"))}, agent.ElicitAccept, `{"value":"x"}`},
		{"decline", oneText, &asker{action: &acp.ElicitationDeclineAction{}}, agent.ElicitDecline, ""},
		{"cancel", oneText, &asker{action: &acp.ElicitationCancelAction{}}, agent.ElicitCancel, ""},
		{"unknown action", oneText, &asker{action: &acp.UnknownElicitationAction{Type: "shrug"}}, agent.ElicitCancel, ""},
		{"no answer", oneText, &asker{}, agent.ElicitCancel, ""},
		{"wrong type", oneText, &asker{action: accept(acp.ElicitationBoolean(true))}, agent.ElicitCancel, "does not fit the form"},
		{"missing value", oneText, &asker{action: &acp.ElicitationAcceptAction{}}, agent.ElicitCancel, "does not fit the form"},
		{"not a choice", `{"type":"object","properties":{"value":{"type":"string","enum":["a","b"]}}}`, &asker{action: accept(acp.ElicitationString("c"))}, agent.ElicitCancel, "does not fit the form"},
		{"too small", `{"type":"object","properties":{"value":{"type":"integer","minimum":3}}}`, &asker{action: accept(acp.ElicitationInteger(2))}, agent.ElicitCancel, "does not fit the form"},
		{"whole number", `{"type":"object","properties":{"value":{"type":"integer","minimum":3}}}`, &asker{action: accept(acp.ElicitationInteger(3))}, agent.ElicitAccept, `{"value":3}`},
		{"too long", oneText, &asker{action: accept(acp.ElicitationString(strings.Repeat("x", 1<<20)))}, agent.ElicitCancel, "too long"},
		{"schema of lies", `{"type":"object","properties":7}`, &asker{}, agent.ElicitCancel, "the editor cannot show a form"},
		{"failing editor", oneText, &asker{err: &acp.Error{Code: acp.ErrorCodeInternalError, Message: "broken"}}, agent.ElicitCancel, "broken"},
		{"password", `{"type":"object","properties":{"password":{"type":"string"}}}`, &asker{}, agent.ElicitCancel, "secret"},
		{"apiKey", `{"type":"object","properties":{"apiKey":{"type":"string"}}}`, &asker{}, agent.ElicitCancel, "secret"},
		{"github_token", `{"type":"object","properties":{"github_token":{"type":"string"}}}`, &asker{}, agent.ElicitCancel, "secret"},
		{"titled secret", `{"type":"object","properties":{"value":{"type":"string","title":"Your passphrase"}}}`, &asker{}, agent.ElicitCancel, "secret"},
		{"max_tokens is none", `{"type":"object","properties":{"max_tokens":{"type":"integer"}}}`, &asker{action: &acp.ElicitationDeclineAction{}}, agent.ElicitDecline, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := elicitorOf(tt.client, both).Form(own(t), agent.Form{ToolCallID: "c", Message: "?", Schema: jsonx.Raw(tt.schema)})
			if got.Action != tt.action {
				t.Errorf("action %v, want %v (%v)", got.Action, tt.action, err)
			}
			if err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if err == nil && string(got.Content) != tt.want {
				t.Errorf("content %s, want %q", got.Content, tt.want)
			}
			if strings.Contains(tt.want, "secret") && tt.client.got != nil {
				t.Error("the form was shown")
			}
		})
	}
}

// A form asks for a secret if its message or a field's title, description or name says so, and the user can type text into it.
func TestClientElicitor_SecretForms(t *testing.T) {
	const text = `{"type":"object","properties":{"value":{"type":"string"}}}`
	for _, tt := range []struct {
		name, message, schema string
		refused               bool
	}{
		{"message", "db: Please type your database password", text, true},
		{"key in the message", "What is your AWS secret access key?", text, true},
		{"description", "Connect", `{"type":"object","properties":{"value":{"type":"string","description":"Your API key"}}}`, true},
		{"of the form", "Connect", `{"type":"object","description":"Enter your password","properties":{"value":{"type":"string"}}}`, true},
		{"title", "Connect", `{"type":"object","properties":{"value":{"type":"string","title":"GitHub token"}}}`, true},
		{"format", "Connect", `{"type":"object","properties":{"value":{"type":"string","format":"password"}}}`, true},
		{"next to a choice", "Enter your password", `{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"type":"string"}}}`, true},
		{"choice", "What is your password hint? Enter your password kind", `{"type":"object","properties":{"value":{"type":"string","enum":["a","b"]}}}`, false},
		{"yes or no", "Enter your password", `{"type":"object","properties":{"value":{"type":"boolean"}}}`, false},
		{"number", "Enter the PIN", `{"type":"object","properties":{"value":{"type":"integer"}}}`, false},
		{"date", "When does your API key expire? Enter your API key", `{"type":"object","properties":{"value":{"type":"string","format":"date"}}}`, false},
		{"limit", "What is the token limit?", `{"type":"object","properties":{"maxTokens":{"type":"string","description":"The most tokens of an answer"}}}`, false},
		{"policy", "Which password policy?", `{"type":"object","properties":{"password_policy":{"type":"string","title":"Password policy"}}}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := &asker{action: &acp.ElicitationDeclineAction{}}
			_, err := elicitorOf(client, &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}}).
				Form(own(t), agent.Form{Message: tt.message, Schema: jsonx.Raw(tt.schema)})
			if errors.Is(err, bridges.ErrSecretForm) != tt.refused || (client.got == nil) != tt.refused {
				t.Errorf("error %v, shown %v", err, client.got != nil)
			}
		})
	}
}

// Only an option that was offered can be chosen.
func TestClientElicitor_Choose(t *testing.T) {
	for _, tt := range []struct {
		name    string
		outcome acp.RequestPermissionOutcome
		index   int
		action  agent.ElicitAction
		fails   bool
	}{
		{"second", &acp.SelectedPermissionOutcome{OptionID: "option_1"}, 1, agent.ElicitAccept, false},
		{"none", &acp.SelectedPermissionOutcome{OptionID: "none"}, 0, agent.ElicitDecline, false},
		{"cancelled", &acp.CancelledPermissionOutcome{}, 0, agent.ElicitStop, false},
		{"unknown", &acp.UnknownRequestPermissionOutcome{}, 0, agent.ElicitCancel, false},
		{"out of range", &acp.SelectedPermissionOutcome{OptionID: "option_2"}, 0, agent.ElicitCancel, true},
		{"invented", &acp.SelectedPermissionOutcome{OptionID: "allow_once"}, 0, agent.ElicitCancel, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i, action, err := elicitorOf(&asker{outcome: tt.outcome}, nil).Choose(own(t), agent.Choice{Title: "?", Options: []string{"a", "b"}})
			if i != tt.index || action != tt.action || (err != nil) != tt.fails {
				t.Errorf("got %d, %v, %v", i, action, err)
			}
		})
	}
}

// Only a client that supports URLs receives their completion.
func TestClientElicitor_URL(t *testing.T) {
	client := &asker{action: &acp.ElicitationAcceptAction{}}
	e := elicitorOf(client, &acp.ElicitationCapabilities{URL: &acp.ElicitationURLCapabilities{}})
	action, err := e.URL(own(t), agent.URLRequest{ToolCallID: "c", ID: "7", Message: "Sign in", URL: "https://example.com/in"})
	if err != nil || action != agent.ElicitAccept {
		t.Errorf("got %v, %v", action, err)
	}
	req := client.got.(*acp.CreateElicitationRequest)
	if mode, ok := req.Mode.(*acp.ElicitationURLMode); !ok || mode.URL != "https://example.com/in" || mode.ElicitationID != "7" {
		t.Errorf("asked %+v", req.Mode)
	}
	if err := e.Completed(own(t), "7"); err != nil {
		t.Error(err)
	}
	if done, ok := client.got.(*acp.CompleteElicitationNotification); !ok || done.ElicitationID != "7" {
		t.Errorf("sent %+v", client.got)
	}
	// A client without forms receives none, even if it supports URLs.
	if _, err := e.Form(own(t), agent.Form{Message: "?", Schema: jsonx.Raw(oneText)}); !errors.Is(err, agent.ErrNoElicitation) {
		t.Errorf("a form: %v", err)
	}
	other := &asker{}
	if err := elicitorOf(other, nil).Completed(own(t), "7"); err != nil || other.got != nil {
		t.Errorf("a client without URLs received %+v, %v", other.got, err)
	}
}
