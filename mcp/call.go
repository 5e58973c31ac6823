package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// CallOptions configures one call. The zero value is valid.
type CallOptions struct {
	// Progress receives the progress reports of the server, one at a time. It must not block.
	Progress func(Progress)
	// Meta is the _meta of the request, for example a trace context (traceparent, tracestate, baggage).
	Meta map[string]any
}

// activeCall is a call under way.
type activeCall struct {
	token    string
	progress func(Progress)
	limit    time.Duration // the maximum time without a message about the call
	silence  *time.Timer
	asking   int // open questions to the user, which stop the timer
	asked    int // all questions to the user
	// posted is set when an HTTP request was made for the call.
	posted atomic.Bool
	// unauthorized is why the user's sign-in does not cover the call; the error of the SDK does not contain it.
	unauthorized atomic.Pointer[error]
}

// callKey is the key of the [activeCall] in the context of a request.
type callKey struct{}

// The methods below require that the connection's mu is held.

func (a *activeCall) alive() {
	if a.asking == 0 {
		a.silence.Reset(a.limit)
	}
}

func (a *activeCall) pause() {
	a.asking++
	a.silence.Stop()
}

func (a *activeCall) resume() {
	a.asking--
	a.alive()
}

// Call runs a tool with the given input, an object. A failure of the tool itself is a result with IsError. The error is a
// [*ServerError], reports a lost connection with the end of its stderr, or is ctx's cause. If ctx ends, the call is cancelled and
// Call returns at once. A call that has not reached the server is retried once on a new connection.
func (s *Set) Call(ctx context.Context, tool *Tool, input jsonx.Raw, opts *CallOptions) (*Result, error) {
	if opts == nil {
		opts = new(CallOptions)
	}
	if !tool.server.spec.Tools.allows(tool.Remote) {
		return nil, fmt.Errorf("the tool %s of the MCP server %s is denied by its configuration", tool.Remote, tool.server.label())
	}
	if len(input) == 0 {
		input = jsonx.Raw("{}")
	}
	params := func() *sdk.CallToolParams {
		return &sdk.CallToolParams{Name: tool.Remote, Arguments: rawJSON(input), Meta: maps.Clone(opts.Meta)}
	}
	var result *Result
	err := tool.server.request(ctx, opts.Progress, func(ctx context.Context, c *connection, call *activeCall) error {
		return c.multiRound(ctx, call, func(answers sdk.InputResponseMap, state string) (sdk.InputRequestMap, string, error) {
			p := params()
			p.SetProgressToken(call.token)
			p.InputResponses, p.RequestState = answers, state
			res, err := c.session.CallTool(ctx, p)
			if elicitations, ok := urlsRequired(err); ok && c.visitURLs(ctx, call, elicitations) {
				res, err = c.session.CallTool(ctx, p)
			}
			if err != nil {
				return nil, "", err
			}
			if res.InputRequests != nil {
				return res.InputRequests, res.RequestState, nil
			}
			result = newResult(res)
			return nil, "", nil
		})
	})
	if err != nil {
		return nil, err
	}
	tool.checkOutput(result)
	return result, nil
}

// rawJSON is JSON that the SDK passes on unchanged.
type rawJSON []byte

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// request makes a request on the server's connection. If the server cannot have received it, it retries on the next connection,
// once. The connection that failed may refuse the request again before it ends: that does not count.
func (s *server) request(ctx context.Context, progress func(Progress),
	do func(ctx context.Context, c *connection, call *activeCall) error,
) error {
	var last *connection
	for attempt := 0; ; attempt++ {
		c, err := s.connected(ctx)
		if err != nil {
			return err
		}
		err = c.request(ctx, progress, do)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case s.ctx.Err() != nil:
			return s.closedError()
		case !unsent(err) || attempt > 1 || attempt == 1 && c != last:
			return c.failure(err)
		}
		last = c
		c.awaitRecovery(ctx, err)
	}
}

// closeTimeout bounds the wait for the end of a session that accepts no more requests.
const closeTimeout = 5 * time.Second

// awaitRecovery waits until a connection that failed to send a request has ended. If err does not show that it will end,
// awaitRecovery waits only for the first backoff pause.
func (c *connection) awaitRecovery(ctx context.Context, err error) {
	wait := closeTimeout
	if !errors.Is(err, sdk.ErrConnectionClosed) && !errors.Is(err, errNotSent) {
		backoff := c.server.set.opts.Backoff
		if len(backoff) == 0 {
			return
		}
		wait = backoff[0]
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-c.done:
	case <-t.C:
	case <-ctx.Done():
	}
}

// unsent reports whether the server has certainly not received the request.
func unsent(err error) bool {
	if errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing) || errors.Is(err, errNotSent) {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func (c *connection) request(ctx context.Context, progress func(Progress),
	do func(ctx context.Context, c *connection, call *activeCall) error,
) error {
	ctx, cancel := c.within(ctx)
	defer cancel(nil)
	call := &activeCall{progress: progress, limit: cmp.Or(c.server.spec.Timeout, c.server.set.opts.CallTimeout)}
	c.mu.Lock()
	c.calls.next++
	call.token = "gjc-" + strconv.FormatInt(c.calls.next, 10)
	call.silence = time.AfterFunc(call.limit, func() {
		c.mu.Lock()
		silent := call.asking == 0
		c.mu.Unlock()
		if silent {
			cancel(fmt.Errorf("timed out waiting for the MCP server %s: no message for %s", c.server.label(), call.limit))
		}
	})
	c.calls.active[call.token] = call
	c.mu.Unlock()
	defer c.endCall(call)
	err := c.guarded(context.WithValue(ctx, callKey{}, call), call, do)
	switch why := call.unauthorized.Load(); {
	case err == nil:
		return nil
	case why != nil:
		return *why
	case ctx.Err() != nil && !c.isDone():
		return context.Cause(ctx)
	case c.http != nil && !call.posted.Load():
		// A request on a broken connection fails with the error that broke it.
		return fmt.Errorf("%w: %w", errNotSent, err)
	case ctx.Err() == nil:
		return err
	case errors.Is(err, context.Canceled):
		return c.closeError() // the end of the connection cancelled the call
	default:
		return err
	}
}

// guarded makes the request and turns a panic into an error: the SDK decodes the server's response in this call.
func (c *connection) guarded(ctx context.Context, call *activeCall,
	do func(ctx context.Context, c *connection, call *activeCall) error,
) (err error) {
	defer c.rescue("the answer", &err)
	return do(ctx, c, call)
}

// endCall removes a call, and ends the questions that belong to no other call.
func (c *connection) endCall(call *activeCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls.active, call.token)
	for q := range c.elicit.questions {
		if delete(q.calls, call); len(q.calls) == 0 {
			q.end(errCallEnded)
		}
	}
	call.silence.Stop()
}

// progressed passes a progress report to its call.
func (c *connection) progressed(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	c.mu.Lock()
	call := c.calls.active[token]
	if call != nil {
		call.alive()
	}
	c.mu.Unlock()
	if call != nil && call.progress != nil {
		call.progress(Progress{Message: text.TruncateBytes(p.Message, 1000), Done: p.Progress, Total: p.Total})
	}
}

// A ServerError is an error that a server answered a request with.
type ServerError struct {
	Server  string
	Code    int64
	Message string
}

func (e *ServerError) Error() string {
	return fmt.Sprintf("the MCP server %s returned an error: %s (%d)", e.Server, e.Message, e.Code)
}

// failure returns the error of a request as documented at [Set.Call].
func (c *connection) failure(err error) error {
	s := c.server
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok && !errors.Is(err, sdk.ErrConnectionClosed) {
		return &ServerError{Server: s.label(), Code: wire.Code, Message: s.secrets.text(text.TruncateBytes(wire.Message, 4<<10))}
	}
	if c.isBroken(err) {
		return fmt.Errorf("the connection to the MCP server %s was lost during the call, which may have taken effect: %w",
			s.label(), c.explain(err))
	}
	if c.http != nil {
		err = c.http.explain(err)
	}
	return fmt.Errorf("the MCP server %s: %w", s.label(), s.secrets.error(err))
}

// isBroken reports whether the connection has ended or is about to.
func (c *connection) isBroken(err error) bool {
	return c.isDone() || errors.Is(err, errOutputEnded) || errors.Is(err, errEnded) || errors.Is(err, sdk.ErrConnectionClosed)
}
