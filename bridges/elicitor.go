package bridges

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// clientElicitor asks the user through the editor, in the modes that the editor advertised.
type clientElicitor struct {
	client      acp.Caller
	session     acp.SessionID
	forms, urls bool
}

var _ agent.Elicitor = (*clientElicitor)(nil)

// noElicitation returns the error for a question that the editor cannot ask.
func noElicitation(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return agent.ErrNoElicitation
}

// Forms implements [agent.Elicitor].
func (e *clientElicitor) Forms() bool { return e.forms }

// URLs implements [agent.Elicitor].
func (e *clientElicitor) URLs() bool { return e.urls }

// errSecretForm is returned for a form that asks for a secret, which the protocol requires a URL for.
var errSecretForm = errors.New("a form must not ask for a secret; use a URL, or gjc login")

// asksSecret returns the name of the first text field that asks for a secret, and whether there is one. It checks the texts of the
// form and of the field.
func asksSecret(message string, schema *acp.ElicitationSchema) (string, bool) {
	asked := secrets.AskedIn(message) || secrets.AskedIn(schema.Title) || secrets.AskedIn(schema.Description)
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		s, ok := schema.Properties[name].(*acp.StringPropertySchema)
		if !ok || len(s.Enum) > 0 || len(s.OneOf) > 0 {
			continue // the user chooses a value that is shown
		}
		// Text in a specific format, such as a date, is not a secret.
		if secrets.NamedIn(name) || secrets.AskedIn(s.Title) || secrets.AskedIn(s.Description) || s.Format == "password" || asked && s.Format == "" {
			return name, true
		}
	}
	return "", false
}

// Form implements [agent.Elicitor].
func (e *clientElicitor) Form(ctx context.Context, f agent.Form) (agent.FormAnswer, error) {
	if !e.forms {
		return agent.FormAnswer{}, noElicitation(ctx)
	}
	var schema acp.ElicitationSchema
	if err := jsonx.Unmarshal(f.Schema, &schema); err != nil {
		return agent.FormAnswer{}, fmt.Errorf("the editor cannot show a form with this schema: %w", err)
	}
	if name, ok := asksSecret(f.Message, &schema); ok {
		return agent.FormAnswer{}, fmt.Errorf("%w (field %q)", errSecretForm, name)
	}
	action, err := e.create(ctx, f.Message, &acp.ElicitationFormMode{RequestedSchema: schema, Scope: e.scope(f.ToolCallID)})
	if err != nil {
		return agent.FormAnswer{}, err
	}
	accepted, ok := action.(*acp.ElicitationAcceptAction)
	if !ok {
		return agent.FormAnswer{Action: elicitAction(action)}, nil
	}
	if accepted.Content == nil {
		accepted.Content = map[string]acp.ElicitationContentValue{}
	}
	content, err := jsonx.Marshal(accepted.Content)
	if err != nil {
		return agent.FormAnswer{}, err
	}
	if len(content) > maxAnswer {
		return agent.FormAnswer{}, fmt.Errorf("%w: %d bytes, at most %d", errLongAnswer, len(content), maxAnswer)
	}
	if err := matches(f.Schema, content); err != nil {
		return agent.FormAnswer{}, fmt.Errorf("the editor's answer does not fit the form: %w", err)
	}
	return agent.FormAnswer{Action: agent.ElicitAccept, Content: content}, nil
}

// errLongAnswer is wrapped by the error for an answer that is too long for a form.
var errLongAnswer = errors.New("the answer to the form is too long; put a long text into a file and name the file")

// maxAnswer bounds the answer to a form, in bytes of JSON.
const maxAnswer = 1 << 20

// matches validates an answer against the schema. Editors do not always do so.
func matches(rawSchema, content jsonx.Raw) error {
	var schema jsonschema.Schema
	if err := jsonx.Unmarshal(rawSchema, &schema); err != nil {
		return err
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return err
	}
	var value any
	if err := jsonx.Unmarshal(content, &value); err != nil {
		return err
	}
	return resolved.Validate(value)
}

// URL implements [agent.Elicitor].
func (e *clientElicitor) URL(ctx context.Context, u agent.URLRequest) (agent.ElicitAction, error) {
	if !e.urls {
		return agent.ElicitCancel, noElicitation(ctx)
	}
	action, err := e.create(ctx, u.Message, &acp.ElicitationURLMode{
		ElicitationID: acp.ElicitationID(u.ID), URL: u.URL, Scope: e.scope(u.ToolCallID),
	})
	if err != nil {
		return agent.ElicitCancel, err
	}
	return elicitAction(action), nil
}

// Completed implements [agent.Elicitor].
func (e *clientElicitor) Completed(ctx context.Context, id string) error {
	if !e.urls {
		return nil
	}
	return acp.MethodElicitationComplete.Notify(ctx, e.client, &acp.CompleteElicitationNotification{ElicitationID: acp.ElicitationID(id)})
}

func (e *clientElicitor) scope(call string) acp.ElicitationScope {
	return &acp.ElicitationSessionScope{SessionID: e.session, ToolCallID: acp.ToolCallID(call)}
}

func (e *clientElicitor) create(ctx context.Context, message string, mode acp.ElicitationMode) (acp.ElicitationAction, error) {
	resp, err := acp.MethodElicitationCreate.Call(ctx, e.client, &acp.CreateElicitationRequest{Message: message, Mode: mode})
	switch {
	case err == nil:
		return resp.Action, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, &acp.Error{Code: acp.ErrorCodeMethodNotFound}):
		return nil, agent.ErrNoElicitation
	}
	if _, malformed := errors.AsType[*jsonx.DecodeError](err); malformed {
		return nil, fmt.Errorf("the editor sent an invalid answer: %w", err)
	}
	return nil, fmt.Errorf("the editor could not ask: %w", err)
}

// elicitAction converts an answer. Any other answer counts as a cancellation.
func elicitAction(action acp.ElicitationAction) agent.ElicitAction {
	switch action.(type) {
	case *acp.ElicitationAcceptAction:
		return agent.ElicitAccept
	case *acp.ElicitationDeclineAction:
		return agent.ElicitDecline
	default:
		return agent.ElicitCancel
	}
}

// Choose implements [agent.Elicitor]. It uses a permission request, which every editor can show.
func (e *clientElicitor) Choose(ctx context.Context, c agent.Choice) (int, agent.ElicitAction, error) {
	req := &acp.RequestPermissionRequest{
		SessionID: e.session,
		ToolCall: acp.ToolCallUpdate{
			ToolCallID: acp.ToolCallID(c.ToolCallID), Title: acp.Value(text.Truncate(c.Title, maxChoiceTitle)),
			Content: acp.Value([]acp.ToolCallContent{&acp.Content{Content: &acp.TextContent{Text: cmp.Or(c.Text, c.Title)}}}),
		},
	}
	for i, o := range c.Options {
		req.Options = append(req.Options, acp.PermissionOption{
			OptionID: acp.PermissionOptionID(optionPrefix + strconv.Itoa(i)), Name: o, Kind: acp.PermissionOptionKindAllowOnce,
		})
	}
	req.Options = append(req.Options, acp.PermissionOption{OptionID: optionNone, Name: "None of these", Kind: acp.PermissionOptionKindRejectOnce})
	resp, err := acp.MethodSessionRequestPermission.Call(ctx, e.client, req)
	if err != nil {
		if ctx.Err() != nil {
			return 0, agent.ElicitCancel, context.Cause(ctx)
		}
		if errors.Is(err, &acp.Error{Code: acp.ErrorCodeMethodNotFound}) {
			return 0, agent.ElicitCancel, agent.ErrNoElicitation
		}
		return 0, agent.ElicitCancel, fmt.Errorf("the editor could not ask: %w", err)
	}
	if _, stop := resp.Outcome.(*acp.CancelledPermissionOutcome); stop {
		// Editors answer this way when the turn is cancelled; a user cannot close a permission request.
		return 0, agent.ElicitStop, nil
	}
	chosen, ok := resp.Outcome.(*acp.SelectedPermissionOutcome)
	if !ok {
		return 0, agent.ElicitCancel, nil
	}
	if chosen.OptionID == optionNone {
		return 0, agent.ElicitDecline, nil
	}
	i, err := strconv.Atoi(strings.TrimPrefix(string(chosen.OptionID), optionPrefix))
	if err != nil || i < 0 || i >= len(c.Options) {
		return 0, agent.ElicitCancel, fmt.Errorf("the editor chose the option %q, which was not offered", chosen.OptionID)
	}
	return i, agent.ElicitAccept, nil
}

// The IDs of a choice's options.
const (
	optionPrefix                        = "option_"
	optionNone   acp.PermissionOptionID = "none"
)

// maxChoiceTitle bounds the title of a choice, in characters. The content has the whole title.
const maxChoiceTitle = 200
