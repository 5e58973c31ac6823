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
	if jsonx.Unmarshal(wire.Data, &data) != nil || len(data.Elicitations) == 0 {
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
func (c *connection) visit(ctx context.Context, elicitations []elicitation) bool {
	ask := c.server.set.opts.Elicit
	if ask == nil {
		return false
	}
	var waits []chan struct{}
	for _, e := range elicitations {
		// Waited for from before the question on: the user may be fast.
		done := make(chan struct{})
		c.mu.Lock()
		c.visited[e.ID] = done
		c.mu.Unlock()
		waits = append(waits, done)
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, e := range elicitations {
			delete(c.visited, e.ID)
		}
	}()
	for _, e := range elicitations {
		answer, err := ask(ctx, ElicitRequest{
			Server: c.server.spec.Name, Mode: "url", Message: e.Message, URL: e.URL, ID: e.ID,
		})
		if err != nil || answer.Action != "accept" {
			return false
		}
	}
	for _, done := range waits {
		select {
		case <-done:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
