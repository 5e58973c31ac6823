package debug

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/dap"
	dapconfig "github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
)

// trustingAdapters is a catalog of debug adapters that omits those that the user does not trust.
type trustingAdapters interface {
	Untrusted(ctx context.Context) (*trust.Subject, error)
	UntrustedFor(ctx context.Context, w dap.Wanted) (*trust.Subject, error)
	Answer(ctx context.Context, sub *trust.Subject, state trust.State, remember bool) error
}

// configurations is a catalog that reads launch.json.
type configurations interface {
	Configuration(ctx context.Context, name string, r dapconfig.Resolve) (*dapconfig.Configuration, error)
}

var (
	_ trustingAdapters = (*dapconfig.Catalog)(nil)
	_ configurations   = (*dapconfig.Catalog)(nil)
)

// adapter returns the debug adapter to use. It first asks the user about an adapter that the workspace defines.
func (c launcher) adapter(ctx context.Context, w dap.Wanted) (*dap.Spec, error) {
	catalog := c.adapters
	if t, ok := catalog.(trustingAdapters); ok {
		err := toolkit.AskTrust(ctx, c.call, toolkit.TrustQuestion{
			Title:     "Trust this workspace to start its own debug adapters?",
			Text:      "Files in this workspace name programs that gjc would start for debugging:",
			Untrusted: func() (*trust.Subject, error) { return t.UntrustedFor(ctx, w) },
			Answer:    t.Answer,
		})
		if err != nil {
			return nil, err
		}
	}
	return catalog.Find(ctx, w)
}

// configuration reads a configuration of launch.json. It asks the user for its input variables.
func (c launcher) configuration(ctx context.Context) (*dapconfig.Configuration, error) {
	catalog, ok := c.adapters.(configurations)
	if !ok {
		return nil, errors.New("this session reads no launch.json; give program and args instead")
	}
	r := dapconfig.Resolve{File: c.path, PID: c.in.PID}
	if c.in.Cwd != "" {
		r.Dir = c.call.Workspace.Resolve(c.in.Cwd)
	}
	if r.File == "" && c.in.Program != "" {
		r.File = c.call.Workspace.Resolve(c.in.Program)
	}
	if c.call.Elicitor != nil {
		r.Ask = c.askInput
	}
	return catalog.Configuration(ctx, c.in.Configuration, r)
}

// askInput asks the user for an input variable of launch.json.
func (c launcher) askInput(ctx context.Context, in dapconfig.Input) (string, error) {
	about := cmp.Or(in.Description, in.ID)
	message := fmt.Sprintf("The debug configuration %q needs: %s", c.in.Configuration, about)
	e := c.call.Elicitor
	switch {
	case in.Password || secrets.AskedIn(about):
		return "", fmt.Errorf("the configuration asks for a secret (%s), which a form cannot ask for; set it in the environment and use ${env:NAME}", about)
	case e.Forms():
		return c.askInputForm(ctx, message, about, &in)
	case len(in.Options) == 0:
		return "", fmt.Errorf("the editor cannot ask the user for %s; pass the values as arguments, or use another configuration", about)
	}
	labels := make([]string, len(in.Options))
	for i, o := range in.Options {
		labels[i] = o.Label
	}
	i, action, err := e.Choose(ctx, agent.Choice{ToolCallID: c.call.ID, Title: message, Options: labels})
	switch {
	case err != nil:
		return "", err
	case action != agent.ElicitAccept || i < 0 || i >= len(labels):
		return "", fmt.Errorf("the user gave no answer for %s", about)
	}
	return in.Options[i].Value, nil
}

func (c launcher) askInputForm(ctx context.Context, message, about string, in *dapconfig.Input) (string, error) {
	field := toolkit.FormField{Type: "string", Title: about}
	if in.Default != "" {
		field.Default = in.Default
	}
	for _, o := range in.Options {
		field.Enum = append(field.Enum, o.Label)
		if o.Value == in.Default {
			field.Default = o.Label
		}
	}
	schema, err := jsonx.Marshal(toolkit.FormSchema{Type: "object", Properties: map[string]toolkit.FormField{"value": field}, Required: []string{"value"}})
	if err != nil {
		return "", err
	}
	answer, err := c.call.Elicitor.Form(ctx, agent.Form{ToolCallID: c.call.ID, Message: message, Schema: schema})
	if err != nil {
		return "", err
	}
	var got struct {
		Value string `json:"value"`
	}
	if answer.Action != agent.ElicitAccept {
		return "", fmt.Errorf("the user gave no answer for %s", about)
	}
	if err := jsonx.Unmarshal(answer.Content, &got); err != nil {
		return "", fmt.Errorf("the answer for %s: %w", about, err)
	}
	for _, o := range in.Options {
		if o.Label == got.Value {
			return o.Value, nil
		}
	}
	return got.Value, nil
}

// argumentsOf returns the call's arguments for the adapter, or nil.
func (in *debugInput) argumentsOf() (map[string]any, error) {
	if in.Arguments == "" {
		return nil, nil
	}
	var m map[string]any
	if err := jsonx.Unmarshal([]byte(in.Arguments), &m); err != nil {
		return nil, fmt.Errorf("%w for debug: arguments: %w", agent.ErrBadInput, err)
	}
	return m, nil
}
