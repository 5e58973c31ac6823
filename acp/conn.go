package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// ConnOptions configures either end of a connection. The zero value is valid.
type ConnOptions struct {
	// Closer is closed when the connection ends, to free a blocked read.
	Closer io.Closer
	// MaxMessageSize caps an inbound line in bytes. If zero, 64 MiB.
	MaxMessageSize int
	// Trace, if set, receives every line in both directions; sent says which. The bytes are valid only during the call.
	Trace func(sent bool, line []byte)
	// Dropped, if set, is called for inbound messages that cannot be used.
	Dropped func(reason error)
	// Panicked, if set, is called after a panic in a handler. The peer receives -32603 in any case.
	Panicked func(method string, value any, stack []byte)
	// MapError maps a handler's error to the one that is sent, unless it is an [*Error] already. If MapError is nil or returns
	// nil, the error is sent as -32603 with its own text.
	MapError func(error) *Error
	// Ext handles requests and notifications whose names begin with "_". Like any handler it runs in the order of the wire and
	// must not block. The function that it returns runs concurrently with others and returns the result; a nil result is sent
	// as {}. If Ext is nil, such requests are answered with -32601.
	Ext func(ctx context.Context, method string, params jsonx.Raw) (func() (any, error), error)
}

// conn is the part that both ends share.
type conn struct{ rpc *jsonrpc.Conn }

// Call sends a request and decodes its result. For an error response it returns an [*Error]. If ctx ends first, it returns the
// cause and notifies the peer with "$/cancel_request".
func (c *conn) Call(ctx context.Context, method string, params, result any) error {
	return wireError(c.rpc.Call(ctx, method, params, result))
}

// Start sends a request, in the order of the calls to Start and Notify, and returns a function that waits for its result as [conn.Call]
// does, which must be called.
func (c *conn) Start(method string, params any) (wait func(ctx context.Context, result any) error) {
	call := c.rpc.Go(method, params)
	return func(ctx context.Context, result any) error { return wireError(call.Await(ctx, result)) }
}

// wireError returns the error of a call as one of this package.
func wireError(err error) error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return &Error{Code: ErrorCode(e.Code), Message: e.Message, Data: e.Data}
	}
	return err
}

// Notify queues a notification. Notifications are sent in the order of the calls.
func (c *conn) Notify(ctx context.Context, method string, params any) error {
	return c.rpc.Notify(ctx, method, params)
}

// Flush waits until everything that was queued before has been written, or the connection or ctx ends.
func (c *conn) Flush(ctx context.Context) error { return c.rpc.Flush(ctx) }

// Done returns a channel that is closed when the connection has ended and its handlers have returned.
func (c *conn) Done() <-chan struct{} { return c.rpc.Done() }

// Closing returns a channel that is closed when the connection begins to end.
func (c *conn) Closing() <-chan struct{} { return c.rpc.Closing() }

// Err returns why the connection ended, or nil.
func (c *conn) Err() error { return c.rpc.Err() }

// Close ends the connection: it cancels the handlers and writes what is queued.
func (c *conn) Close() error { return c.rpc.Close() }

// Shutdown refuses new requests, waits for the running ones until ctx ends, and closes.
func (c *conn) Shutdown(ctx context.Context) error { return c.rpc.Shutdown(ctx) }

// IsGone reports whether err means that the connection has ended, on either side.
func IsGone(err error) bool { return jsonrpc.IsGone(err) }

func (o *ConnOptions) rpc(h jsonrpc.Handler) jsonrpc.Options {
	opts := jsonrpc.Options{
		Framing: frame.Lines, Handler: h, Closer: o.Closer, MaxMessageSize: o.MaxMessageSize,
		CancelMethod: MethodCancelRequest.Name, CancelParam: "requestId",
		Dropped: o.Dropped, Panicked: o.Panicked, MapError: o.wireError,
		// A turn ends immediately if the editor is gone, so that it does not continue for minutes without a user.
		AnswerOptional: func(method string) bool { return method == MethodSessionPrompt.Name },
	}
	if trace := o.Trace; trace != nil {
		opts.Trace = func(dir jsonrpc.Direction, line []byte) { trace(dir == jsonrpc.Sent, line) }
	}
	return opts
}

// wireError maps a handler's error to the error that is sent. A cancellation keeps its code even if MapError returns another one.
func (o *ConnOptions) wireError(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return &jsonrpc.Error{Code: jsonrpc.Code(e.Code), Message: err.Error(), Data: e.Data}
	}
	if e, ok := errors.AsType[*ParamsError](err); ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: e.Error()}
	}
	if o.MapError != nil && !errors.Is(err, jsonrpc.ErrPeerCancelled) {
		if e := o.MapError(err); e != nil {
			return &jsonrpc.Error{Code: jsonrpc.Code(e.Code), Message: e.Message, Data: e.Data}
		}
	}
	return jsonrpc.WireError(err)
}

// ext handles a request or notification whose name begins with "_".
func (o *ConnOptions) ext(ctx context.Context, req *jsonrpc.Request) (jsonrpc.Reply, error) {
	if o.Ext == nil || !strings.HasPrefix(req.Method, "_") {
		return nil, notFound(req.Method)
	}
	reply, err := o.Ext(ctx, req.Method, req.Params)
	if err != nil {
		return nil, err
	}
	return func() (any, error) {
		if reply == nil {
			return struct{}{}, nil
		}
		result, err := reply()
		if err == nil && result == nil {
			result = struct{}{}
		}
		return result, err
	}, nil
}

func notFound(method string) error {
	return &Error{Code: ErrorCodeMethodNotFound, Message: fmt.Sprintf("method not found: %s", method)}
}

// AfterResponse makes fn run immediately after the response to the request of ctx is queued, so that what fn sends follows the
// response on the wire. It must be called from the handler of that request.
func AfterResponse(ctx context.Context, fn func()) { jsonrpc.AfterResponse(ctx, fn) }
