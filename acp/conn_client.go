package acp

import (
	"context"
	"io"

	"github.com/gajae-code/gjc/internal/jsonrpc"
)

// ClientConn is the client's end of a connection: it serves a [Client] and calls the agent. A call's result is
// returned only when every notification that came before it has been handled, so a session's updates are all in when
// its prompt is answered.
type ClientConn struct{ conn }

var _ Caller = (*ClientConn)(nil)

// NewClientConn starts serving what an agent sends on r, writing to w. newClient is given the connection and returns
// the client; nothing is read before it has returned. The client's notification methods are called one at a time, in
// order, and must not call the agent; its request methods run side by side.
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
	// ready is closed when the connection that the client was given can be used.
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
