package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Prompt is a text that a server has ready, with gaps to fill.
type Prompt struct {
	Server                   string
	Name, Title, Description string
	Arguments                []PromptArgument
}

// PromptArgument is a gap in a [Prompt].
type PromptArgument struct {
	Name, Title, Description string
	Required                 bool
}

// PromptResult is a prompt with its gaps filled.
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

func newPrompt(server string, p *sdk.Prompt) Prompt {
	prompt := Prompt{
		Server: server, Name: p.Name, Title: head(p.Title, 100), Description: head(p.Description, maxDescription),
	}
	for _, a := range p.Arguments {
		if a != nil && a.Name != "" {
			prompt.Arguments = append(prompt.Arguments, PromptArgument{
				Name: a.Name, Title: head(a.Title, 100), Description: head(a.Description, maxDescription), Required: a.Required,
			})
		}
	}
	return prompt
}

// GetPrompt fills a prompt of the server called server. Its errors are those of [Set.Call].
func (s *Set) GetPrompt(ctx context.Context, server, name string, args map[string]string) (*PromptResult, error) {
	srv, err := s.server(server)
	if err != nil {
		return nil, err
	}
	var result *PromptResult
	err = srv.request(ctx, nil, func(ctx context.Context, c *connection, call *activeCall) error {
		var res *sdk.GetPromptResult
		err := c.rounds(ctx, call, func(answers sdk.InputResponseMap, state string) (_ sdk.InputRequestMap, _ string, err error) {
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
		result = &PromptResult{Description: head(res.Description, maxDescription)}
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
