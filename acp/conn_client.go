package acp

import (
	"context"
	"io"

	"github.com/gajae-code/gjc/internal/jsonrpc"
)

// ClientConn is the client's end of a connection: it serves a [Client] and calls the agent. A call
// returns only after every notification that preceded its response has been handled, so all updates of a turn are handled when
// its prompt returns.
type ClientConn struct{ conn }

var _ Caller = (*ClientConn)(nil)

// NewClientConn serves an agent that writes to r and reads from w. newClient receives the connection and returns the client;
// nothing is read before it has returned. The client's notification methods are called one at a time, in order, and must not call
// the agent. Its request methods run concurrently.
func NewClientConn(ctx context.Context, r io.Reader, w io.Writer, opts *ConnOptions, newClient func(*ClientConn) Client) *ClientConn {
	if opts == nil {
		opts = new(ConnOptions)
	}
	c := new(ClientConn)
	h := &clientHandler{opts: opts, client: newClient(c), ready: make(chan struct{})}
	rpc := opts.rpc(h)
	rpc.HandleFirst = true
	c.rpc = jsonrpc.NewConn(ctx, r, w, rpc)
	close(h.ready)
	return c
}

type clientHandler struct {
	opts   *ConnOptions
	client Client
	// ready is closed when the client has been created.
	ready chan struct{}
}

func (h *clientHandler) Handle(ctx context.Context, req *jsonrpc.Request) (jsonrpc.Reply, error) {
	<-h.ready
	if req.IsNotification() {
		if handle, ok := clientNotifications[req.Method]; ok {
			return nil, handle(ctx, h.client, req.Params)
		}
		return h.opts.ext(ctx, req)
	}
	handle, ok := clientRequests[req.Method]
	if !ok {
		return h.opts.ext(ctx, req)
	}
	return func() (any, error) { return handle(ctx, h.client, req.Params) }, nil
}
