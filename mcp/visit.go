package mcp

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// elicitation is a URL that the user must visit before a server does what it was asked.
type elicitation struct {
	ID      string `json:"elicitationId"`
	Mode    string `json:"mode"`
	Message string `json:"message"`
	URL     string `json:"url"`
}

// wantsVisit returns the URLs in an error that asks for a visit before the request is made again.
func wantsVisit(err error) ([]elicitation, bool) {
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

// visit asks the user to visit the URLs and waits until the server has seen them there. It reports whether all of it
// was done.
func (c *connection) visit(ctx context.Context, call *activeCall, elicitations []elicitation) bool {
	if c.server.set.opts.Elicit == nil {
		return false
	}
	var all []*askedURL
	defer func() {
		for _, asked := range all {
			c.forget(asked)
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
