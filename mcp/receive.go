package mcp

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// receive is what every request and notification of the server meets first. It runs in goroutines of the SDK, which
// nobody else recovers: a panic there would be the end of the process. So what needs params and has none goes no
// further, what gjc answers itself is not handed on, and a panic becomes an error.
func (c *connection) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer c.rescue(method, &err)
		switch r := req.(type) {
		case *sdk.ElicitRequest:
			if r.Params == nil {
				return nil, invalidParams("params are missing")
			}
			answer, err := c.ask(ctx, nil, r.Params)
			if err != nil {
				return nil, err // a nil answer in an interface would not be nil
			}
			return answer, nil
		case *sdk.ElicitationCompleteNotificationRequest:
			if r.Params != nil {
				c.elicitationComplete(r.Params.ElicitationID)
			}
			return nil, nil
		case *sdk.ProgressNotificationClientRequest:
			if r.Params != nil {
				c.progressed(r.Params)
			}
			return nil, nil
		}
		switch method {
		case "ping", "roots/list", "notifications/tools/list_changed", "notifications/prompts/list_changed",
			"notifications/resources/list_changed":
			return next(ctx, method, req)
		case "sampling/createMessage":
			// gjc's models work for its user only.
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "sampling is not offered"}
		case "completion/complete":
			// The SDK would send the server its own question.
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "completion is the server's"}
		}
		return nil, nil // notifications that nobody here needs
	}
}

func invalidParams(text string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}

// rescue is deferred. It makes an error of a panic that something from the server has set off, and tells of the first.
func (c *connection) rescue(what string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	*err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("%s can not be dealt with: %v", what, p)}
	log := &c.server.set.opts.Log
	log.Error().Str("server", c.server.spec.Name).Str("what", what).Any("panic", p).Bytes("stack", debug.Stack()).
		Msg("mcp: a message of a server has caused a panic")
	if c.panicked.CompareAndSwap(false, true) {
		c.server.notice("has sent a message that gjc can not deal with; it is left out", *err)
	}
}
