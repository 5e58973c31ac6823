package mcp

import (
	"context"
	"slices"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// CompleteRequest names an argument of a prompt, or of a resource template.
type CompleteRequest struct {
	Server string
	// Prompt is the name of a prompt, and Template the URI template of a resource. Exactly one is set.
	Prompt, Template string
	// Argument is the name of the argument, and Value the beginning of its value.
	Argument, Value string
	// Given has the other arguments, as far as they are known.
	Given map[string]string
}

// Completion has the values that a server suggests for an argument, at most maxCompletions.
type Completion struct {
	Values []string
	// More reports that the server has further values.
	More bool
}

const (
	// maxCompletions bounds the values of a [Completion]. It is the limit of the protocol.
	maxCompletions = 100
	// maxCompleted bounds a value in bytes.
	maxCompleted = 1000
)

// Complete requests the values that a server suggests for an argument. It returns none for a server that does not complete. Its errors
// are those of [Set.Call].
func (s *Set) Complete(ctx context.Context, req *CompleteRequest) (*Completion, error) {
	srv, err := s.server(req.Server)
	if err != nil {
		return nil, err
	}
	params := &sdk.CompleteParams{
		Ref:      &sdk.CompleteReference{Type: "ref/prompt", Name: req.Prompt},
		Argument: sdk.CompleteParamsArgument{Name: req.Argument, Value: req.Value},
	}
	if req.Template != "" {
		params.Ref = &sdk.CompleteReference{Type: "ref/resource", URI: req.Template}
	}
	if len(req.Given) > 0 {
		params.Context = &sdk.CompleteContext{Arguments: req.Given}
	}
	found := new(Completion)
	err = srv.request(ctx, nil, func(ctx context.Context, c *connection, _ *activeCall) error {
		if init := c.session.InitializeResult(); init == nil || init.Capabilities == nil || init.Capabilities.Completions == nil {
			return nil
		}
		res, err := c.session.Complete(ctx, params)
		if err != nil {
			return err
		}
		found = newCompletion(&res.Completion)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// newCompletion converts a server's suggestions. It omits values that users cannot type.
func newCompletion(d *sdk.CompletionResultDetails) *Completion {
	c := &Completion{More: d.HasMore || d.Total > len(d.Values)}
	for _, v := range d.Values {
		switch {
		case v == "" || len(v) > maxCompleted || strings.ContainsFunc(v, unicode.IsControl) || slices.Contains(c.Values, v):
		case len(c.Values) == maxCompletions:
			c.More = true
			return c
		default:
			c.Values = append(c.Values, v)
		}
	}
	return c
}
