package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// receive is the middleware for all requests and notifications of the server. It rejects requests without required params, answers
// those that the SDK must not answer, and turns a panic into an error: it runs in goroutines of the SDK, where a panic would
// end the process.
func (c *connection) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer c.rescue(method, &err)
		switch r := req.(type) {
		case *sdk.ElicitRequest:
			if r.Params == nil {
				return nil, invalidParams("params are missing")
			}
			answer, err := c.answerElicitation(ctx, nil, r.Params)
			if err != nil {
				return nil, err // a nil pointer in an interface is not nil
			}
			return answer, nil
		case *sdk.ElicitationCompleteNotificationRequest:
			if r.Params != nil {
				c.elicitationComplete(r.Params.ElicitationID)
			}
			return nil, nil
		case *sdk.LoggingMessageRequest:
			if r.Params != nil {
				c.server.logged(r.Params)
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
			// Only the user may use gjc's models.
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "sampling is not supported"}
		case "completion/complete":
			// The SDK would send the request back to the server.
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "completion is not supported"}
		}
		return nil, nil // gjc ignores other notifications
	}
}

func invalidParams(text string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}

// rescue must be deferred. It turns a panic that input of the server has caused into an error, and notifies the user of the first.
func (c *connection) rescue(what string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	*err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("cannot process %s: %v", what, p)}
	log := &c.server.set.opts.Log
	log.Error().Str("server", c.server.spec.Name).Str("what", what).Any("panic", p).Bytes("stack", debug.Stack()).
		Msg("mcp: a message of a server caused a panic")
	if c.panicked.CompareAndSwap(false, true) {
		c.server.notice("sent a message that gjc cannot process; it is ignored", *err)
	}
}

// maxLogged bounds one log message of a server, in bytes.
const maxLogged = 4 << 10

// logged writes a log message of the server to the log, and notifies the user of an error.
func (s *server) logged(p *sdk.LoggingMessageParams) {
	message, ok := p.Data.(string)
	if !ok {
		raw, err := jsonx.Marshal(p.Data)
		if err != nil {
			return
		}
		message = string(raw)
	}
	message = text.TruncateBytes(s.secrets.text(message), maxLogged)
	level := string(p.Level)
	switch level {
	case "error", "critical", "alert", "emergency":
		s.notice("reports an error", errors.New(message))
	default:
		s.set.opts.Log.Debug().Str("server", s.spec.Name).Str("level", text.TruncateBytes(level, 20)).Msg("mcp: " + message)
	}
}

// askForLogs asks the server for its log messages from warnings on. A server that does not know levels sends what it likes.
func askForLogs(ctx context.Context, c *connection) error {
	init := c.session.InitializeResult()
	if c.stateless || init == nil || init.Capabilities == nil || init.Capabilities.Logging == nil {
		return nil
	}
	_ = c.session.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: "warning"}) // it only saves messages
	return nil
}
