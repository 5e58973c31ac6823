package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/text"
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
	// Hint is the name as a line for people, at most 40 characters.
	Hint     string
	Required bool
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

const (
	// maxLine bounds a description of a prompt or resource, and maxHint the name of a prompt's argument as it is shown,
	// in characters.
	maxLine = 300
	maxHint = 40
	// maxArguments bounds the gaps of a prompt.
	maxArguments = 50
)

// newPrompt makes a prompt of what a server lists. It reports false for one that can not be used.
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
			return Prompt{}, false // it could not be filled
		default:
			prompt.Arguments = append(prompt.Arguments, PromptArgument{
				Name: a.Name, Title: oneLine(a.Title, 100), Description: oneLine(a.Description, maxLine),
				Hint: oneLine(a.Name, maxHint), Required: a.Required,
			})
		}
	}
	return prompt, true
}

// oneLine returns s as one line of at most most characters.
func oneLine(s string, most int) string {
	return text.Truncate(text.OneLine(text.TruncateBytes(s, 16*most)), most)
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
