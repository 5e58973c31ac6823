package acptest

import (
	"context"

	"github.com/gajae-code/gjc/acp"
)

// CompleteElicitation implements [acp.Client].
func (e *Editor) CompleteElicitation(_ context.Context, p *acp.CompleteElicitationNotification) error {
	return e.note(acp.MethodElicitationComplete.Name, p)
}

// CreateElicitation implements [acp.Client].
func (e *Editor) CreateElicitation(ctx context.Context, p *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
	if err := e.note(acp.MethodElicitationCreate.Name, p); err != nil {
		return nil, err
	}
	if e.opts.Elicit != nil {
		return e.opts.Elicit(ctx, p)
	}
	form, ok := p.Mode.(*acp.ElicitationFormMode)
	if !ok {
		return &acp.CreateElicitationResponse{Action: &acp.ElicitationAcceptAction{}}, nil
	}
	return &acp.CreateElicitationResponse{Action: &acp.ElicitationAcceptAction{Content: Fill(&form.RequestedSchema)}}, nil
}

// Fill answers the required fields of a form with their defaults or the first valid values.
func Fill(schema *acp.ElicitationSchema) map[string]acp.ElicitationContentValue {
	values := make(map[string]acp.ElicitationContentValue)
	for name, p := range schema.Properties {
		switch p := p.(type) {
		case *acp.StringPropertySchema:
			values[name] = acp.ElicitationString("text")
			switch {
			case p.Default != nil:
				values[name] = acp.ElicitationString(*p.Default)
			case len(p.Enum) > 0:
				values[name] = acp.ElicitationString(p.Enum[0])
			case len(p.OneOf) > 0:
				values[name] = acp.ElicitationString(p.OneOf[0].Const)
			}
		case *acp.BooleanPropertySchema:
			values[name] = acp.ElicitationBoolean(true)
		case *acp.IntegerPropertySchema:
			values[name] = acp.ElicitationInteger(1)
		case *acp.NumberPropertySchema:
			values[name] = acp.ElicitationNumber(1)
		case *acp.MultiSelectPropertySchema:
			if items, ok := p.Items.(*acp.StringMultiSelectItems); ok && len(items.Enum) > 0 {
				values[name] = acp.ElicitationStrings{items.Enum[0]}
			}
		}
	}
	for name := range values {
		required := false
		for _, r := range schema.Required {
			required = required || r == name
		}
		if !required && len(schema.Required) > 0 {
			delete(values, name)
		}
	}
	return values
}

// MessageMCP implements [acp.Client].
func (e *Editor) MessageMCP(ctx context.Context, p *acp.MessageMCPRequest) (*acp.MessageMCPResponse, error) {
	if err := e.note(acp.MethodMCPMessage.Name, p); err != nil {
		return nil, err
	}
	if e.opts.MCP == nil {
		return nil, unsupported(acp.MethodMCPMessage.Name)
	}
	return e.opts.MCP(ctx, p)
}
