package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/text"
)

// Prompt is a prompt template of a server.
type Prompt struct {
	Server                   string
	Name, Title, Description string
	Arguments                []PromptArgument
}

// PromptArgument is an argument of a [Prompt].
type PromptArgument struct {
	Name, Title, Description string
	// Hint is the name for display, at most 40 characters.
	Hint     string
	Required bool
}

// PromptResult is a prompt with its arguments filled in.
type PromptResult struct {
	Description string
	Messages    []PromptMessage
}

// PromptMessage is one message of a filled prompt.
type PromptMessage struct {
	// Role is "user" or "assistant".
	Role  string
	Parts []Part
}

const (
	// maxLine bounds the description of a prompt or resource; maxHint bounds the displayed name of a prompt's argument. Both are in
	// characters.
	maxLine = 300
	maxHint = 40
	// maxArguments bounds the arguments of a prompt.
	maxArguments = 50
)

// newPrompt converts a prompt in a list. It returns false if it cannot be used.
func newPrompt(server string, p *sdk.Prompt) (Prompt, bool) {
	if p == nil || p.Name == "" || len(p.Name) > maxRemote || len(p.Arguments) > maxArguments {
		return Prompt{}, false
	}
	prompt := Prompt{
		Server: server, Name: p.Name, Title: oneLine(p.Title, 100), Description: oneLine(p.Description, maxLine),
	}
	for _, a := range p.Arguments {
		switch {
		case a == nil || a.Name == "":
		case len(a.Name) > maxRemote:
			return Prompt{}, false // its arguments could not be filled in
		default:
			prompt.Arguments = append(prompt.Arguments, PromptArgument{
				Name: a.Name, Title: oneLine(a.Title, 100), Description: oneLine(a.Description, maxLine),
				Hint: oneLine(a.Name, maxHint), Required: a.Required,
			})
		}
	}
	return prompt, true
}

// oneLine joins the lines of a text and truncates it to limit characters.
func oneLine(s string, limit int) string {
	return text.Truncate(text.OneLine(text.TruncateBytes(s, 16*limit)), limit)
}

// GetPrompt fills in a prompt of a server. Its errors are those of [Set.Call].
func (s *Set) GetPrompt(ctx context.Context, server, name string, args map[string]string) (*PromptResult, error) {
	srv, err := s.server(server)
	if err != nil {
		return nil, err
	}
	var result *PromptResult
	err = srv.request(ctx, nil, func(ctx context.Context, c *connection, call *activeCall) error {
		var res *sdk.GetPromptResult
		err := c.multiRound(ctx, call, func(answers sdk.InputResponseMap, state string) (_ sdk.InputRequestMap, _ string, err error) {
			res, err = c.session.GetPrompt(ctx, &sdk.GetPromptParams{
				Name: name, Arguments: args, InputResponses: answers, RequestState: state,
			})
			if err != nil {
				return nil, "", err
			}
			return res.InputRequests, res.RequestState, nil
		})
		if err != nil {
			return err
		}
		result = &PromptResult{Description: text.TruncateBytes(res.Description, maxDescription)}
		b := new(resultBuilder)
		for _, m := range res.Messages {
			if m == nil {
				continue
			}
			b.parts = nil
			b.content(m.Content)
			if len(b.parts) > 0 {
				result.Messages = append(result.Messages, PromptMessage{Role: string(m.Role), Parts: b.parts})
			}
		}
		return nil
	})
	return result, err
}
