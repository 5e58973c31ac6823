package mcp

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// elicitation is a URL that the user must visit before the request is repeated.
type elicitation struct {
	ID      string `json:"elicitationId"`
	Mode    string `json:"mode"`
	Message string `json:"message"`
	URL     string `json:"url"`
}

// urlsRequired returns the URLs in an error that requires the user to visit them before the request is repeated.
func urlsRequired(err error) ([]elicitation, bool) {
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || wire.Code != sdk.CodeURLElicitationRequired {
		return nil, false
	}
	var data struct {
		Elicitations []elicitation `json:"elicitations"`
	}
	if jsonx.Unmarshal(wire.Data, &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > maxQuestions {
		return nil, false
	}
	for _, e := range data.Elicitations {
		if e.URL == "" || e.ID == "" || e.Mode != "" && e.Mode != "url" {
			return nil, false
		}
	}
	return data.Elicitations, true
}

// visitURLs asks the user to visit the URLs and waits until the server reports their completion. It returns whether all were
// completed.
func (c *connection) visitURLs(ctx context.Context, call *activeCall, elicitations []elicitation) bool {
	if c.server.set.opts.Elicit == nil {
		return false
	}
	var all []*urlElicitation
	defer func() {
		for _, asked := range all {
			c.removeURL(asked)
		}
	}()
	for _, e := range elicitations {
		asked, answer, err := c.askURL(ctx, call, &sdk.ElicitParams{Mode: "url", Message: e.Message, URL: e.URL, ElicitationID: e.ID})
		if err != nil {
			return false
		}
		all = append(all, asked)
		if answer.Action != "accept" {
			return false
		}
	}
	for _, asked := range all {
		select {
		case <-asked.done:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
