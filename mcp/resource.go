package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Resource is a resource of a server.
type Resource struct {
	Server                   string
	URI                      string
	Name, Title, Description string
	MIMEType                 string
	// Size is in bytes; zero if unknown.
	Size int64
}

// ResourceTemplate is a template (RFC 6570) of the URIs of resources.
type ResourceTemplate struct {
	Server                   string
	URITemplate              string
	Name, Title, Description string
	MIMEType                 string
}

// ReadResource reads a resource of a server. Its errors are those of [Set.Call].
func (s *Set) ReadResource(ctx context.Context, server, uri string) (*Result, error) {
	srv, err := s.server(server)
	if err != nil {
		return nil, err
	}
	var result *Result
	err = srv.request(ctx, nil, func(ctx context.Context, c *connection, call *activeCall) error {
		var res *sdk.ReadResourceResult
		err := c.multiRound(ctx, call, func(answers sdk.InputResponseMap, state string) (_ sdk.InputRequestMap, _ string, err error) {
			res, err = c.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri, InputResponses: answers, RequestState: state})
			if err != nil {
				return nil, "", err
			}
			return res.InputRequests, res.RequestState, nil
		})
		if err != nil {
			return err
		}
		b := new(resultBuilder)
		for _, r := range res.Contents {
			b.resource(r, len(res.Contents) == 1)
		}
		result = b.result()
		// The SDK would keep each result until the end of the connection.
		res.Contents, res.TTLMs = nil, 0
		return nil
	})
	return result, err
}
