package mcp

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Channel carries MCP requests to servers of the editor, over ACP's mcp/message. It supports requests from gjc and their results;
// notifications about an active request arrive at [Set.ChannelNotification]. Servers can ask questions only in results (as in the
// stateless protocol). gjc cannot send notifications: the end of the context cancels a request.
type Channel interface {
	// Request makes an MCP request to the server and waits for the answer: a result, which may be JSON null, or the
	// server's error. err is an error of the channel itself. It returns soon after ctx has ended. params may be nil.
	Request(ctx context.Context, serverID, requestID, method string, params jsonx.Raw) (
		result jsonx.Raw, refusal *ChannelError, err error)
}

// ChannelError is an error that an MCP server answered with.
type ChannelError struct {
	Code    int64
	Message string
	// Data is absent if nil.
	Data jsonx.Raw
}

func (c *connection) connectChannel(context.Context) (sdk.Connection, error) {
	conn := &channelConn{
		channel: c.server.set.opts.Channel, server: c.server.spec.Channel.ID, life: c.ctx,
		active: make(map[string]bool), more: make(chan struct{}, 1), closed: make(chan struct{}),
		prefix: rand.Text() + "-",
	}
	c.raw = conn
	c.server.channel.Store(conn)
	return conn, nil
}

// maxQueued bounds the messages that wait for the reader. Further notifications are dropped.
const maxQueued = 10_000

// channelConn is a connection over a [Channel]. Each request has a goroutine, which ends with it.
type channelConn struct {
	channel Channel
	server  string
	life    context.Context //nolint:containedctx // ends with the connection
	// prefix makes the request IDs unique among all connections and sets: two sessions may have the same server.
	prefix string
	wg     sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	active map[string]bool
	queue  []jsonrpc.Message
	more   chan struct{} // has a token if the queue is not empty

	closing sync.Once
	closed  chan struct{}
}

// SessionID implements sdk.Connection; only HTTP has session IDs.
func (c *channelConn) SessionID() string { return "" }

func (c *channelConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		c.mu.Lock()
		if len(c.queue) > 0 {
			msg := c.queue[0]
			c.queue = c.queue[1:]
			c.mu.Unlock()
			return msg, nil
		}
		c.mu.Unlock()
		select {
		case <-c.more:
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Write begins a request. It drops notifications and answers, which the channel does not support: a request is cancelled by the
// end of its context, and servers send no requests.
func (c *channelConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return nil
	}
	id := c.prefix + fmt.Sprint(req.ID.Raw())
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.closed:
		return fmt.Errorf("%w: %w", errNotSent, io.ErrClosedPipe)
	default:
	}
	c.active[id] = true
	c.wg.Go(func() { c.request(ctx, id, req) })
	return nil
}

func (c *channelConn) request(ctx context.Context, id string, req *jsonrpc.Request) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(context.Cause(c.life)) })()
	result, refusal, err := c.channel.Request(ctx, c.server, id, req.Method, jsonx.Raw(req.Params))
	answer := &jsonrpc.Response{ID: req.ID}
	switch {
	case err != nil:
		answer.Error = fmt.Errorf("the editor's channel: %w", err)
	case refusal != nil:
		answer.Error = &jsonrpc.Error{Code: refusal.Code, Message: refusal.Message, Data: []byte(refusal.Data)}
	case len(result) == 0:
		answer.Result = []byte("null")
	default:
		answer.Result = []byte(result)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.active, id)
	c.push(answer)
}

// notification queues a notification about an active request.
func (c *channelConn) notification(id, method string, params jsonx.Raw) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active[id] && len(c.queue) < maxQueued {
		c.push(&jsonrpc.Request{Method: method, Params: []byte(params.Clone())})
	}
}

// push queues a message. mu is held.
func (c *channelConn) push(msg jsonrpc.Message) {
	c.queue = append(c.queue, msg)
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// Close ends Read and refuses new requests. Active requests end with the connection's context.
func (c *channelConn) Close() error {
	c.closing.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(c.closed)
	})
	return nil
}
