package acp

import (
	"context"
	"io"

	"github.com/gajae-code/gjc/internal/jsonrpc"
)

// AgentConn is the agent's end of a connection: it serves an [Agent] and calls the client. The typed methods in
// methods_gen.go take it as their [Caller].
type AgentConn struct{ conn }

var _ Caller = (*AgentConn)(nil)

// NewAgentConn serves a client that writes to r and reads from w. newAgent receives the connection and returns the agent; nothing
// is read before it has returned. The connection closes when ctx ends.
func NewAgentConn(ctx context.Context, r io.Reader, w io.Writer, opts *ConnOptions, newAgent func(*AgentConn) Agent) *AgentConn {
	if opts == nil {
		opts = new(ConnOptions)
	}
	c := new(AgentConn)
	h := &agentHandler{opts: opts, agent: newAgent(c), ready: make(chan struct{})}
	c.rpc = jsonrpc.NewConn(ctx, r, w, opts.rpc(h))
	close(h.ready)
	return c
}

type agentHandler struct {
	opts  *ConnOptions
	agent Agent
	// ready is closed when the agent has been created. The first request may arrive earlier.
	ready chan struct{}
}

func (h *agentHandler) Handle(ctx context.Context, req *jsonrpc.Request) (jsonrpc.Reply, error) {
	<-h.ready
	if req.IsNotification() {
		if handle, ok := agentNotifications[req.Method]; ok {
			return nil, handle(ctx, h.agent, req.Params)
		}
		return h.opts.ext(ctx, req)
	}
	handle, ok := agentRequests[req.Method]
	if !ok {
		return h.opts.ext(ctx, req)
	}
	reply, err := handle(ctx, h.agent, req.Params)
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// Update queues a session/update. While the client is slow, a text chunk may be merged into the preceding one. The connection takes
// ownership of n.
func (c *AgentConn) Update(ctx context.Context, n *SessionNotification) error {
	if m, ok := newChunk(n); ok {
		return c.rpc.NotifyMergeable(ctx, MethodSessionUpdate.Name, m)
	}
	return c.rpc.Notify(ctx, MethodSessionUpdate.Name, n)
}
