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

// CallOptions adjusts one call. The zero value is fine.
type CallOptions struct {
	// Progress gets what the server reports while the call runs, one report at a time. It must not block.
	Progress func(Progress)
	// Meta goes with the request as its _meta: a trace context (traceparent, tracestate, baggage), for one.
	Meta map[string]any
}

// activeCall is a call that the server may report on.
type activeCall struct {
	token    string
	progress func(Progress)
	limit    time.Duration // of silence
	silence  *time.Timer
	asking   int // open questions, while which the silence is the user's
	// posted is set when an HTTP request was made for it.
	posted atomic.Bool
}

// callKey is where the context of a request has its [activeCall].
type callKey struct{}

// The methods below are called with the connection's mu held.

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

// Call runs a tool with the given input, an object. An error is a call of which no result came: a refusal of the
// server's (a [*ServerError]), a lost connection with the end of its stderr, or ctx's cause, at once, when ctx ends; the
// server is told then. A tool's own failure is a result with IsError. A call that has not reached the server is tried
// once more on a new connection.
func (s *Set) Call(ctx context.Context, tool *Tool, input jsonx.Raw, opts *CallOptions) (*Result, error) {
	if opts == nil {
		opts = new(CallOptions)
	}
	if len(input) == 0 {
		input = jsonx.Raw("{}")
	}
	params := func() *sdk.CallToolParams {
		return &sdk.CallToolParams{Name: tool.Remote, Arguments: rawJSON(input), Meta: maps.Clone(opts.Meta)}
	}
	var result *Result
	err := tool.server.request(ctx, opts.Progress, func(ctx context.Context, c *connection, call *activeCall) error {
		return c.rounds(ctx, call, func(answers sdk.InputResponseMap, state string) (sdk.InputRequestMap, string, error) {
			p := params()
			p.SetProgressToken(call.token)
			p.InputResponses, p.RequestState = answers, state
			res, err := c.session.CallTool(ctx, p)
			if elicitations, ok := wantsVisit(err); ok && c.visit(ctx, call, elicitations) {
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

// rawJSON is JSON that passes through the SDK as it is.
type rawJSON []byte

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// request makes one request on the server's connection, bounded by silence. It is tried once more where the server can
// not have seen it.
func (s *server) request(ctx context.Context, progress func(Progress),
	do func(ctx context.Context, c *connection, call *activeCall) error,
) error {
	for attempt := 0; ; attempt++ {
		c, err := s.live(ctx)
		if err != nil {
			return err
		}
		err = c.request(ctx, progress, do)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case s.set.ctx.Err() != nil:
			return ErrClosed
		case attempt > 0 || !unsent(err):
			return c.failure(err)
		}
		c.recover(ctx, err)
	}
}

// closingSettles is how long a session that takes no requests any more may take to be over.
const closingSettles = 5 * time.Second

// recover waits until a connection that could not take a request is over, or has had a moment to come back where err
// leaves that open.
func (c *connection) recover(ctx context.Context, err error) {
	moment := closingSettles
	if !errors.Is(err, sdk.ErrConnectionClosed) && !errors.Is(err, errNotSent) {
		backoff := c.server.set.opts.Backoff
		if len(backoff) == 0 {
			return
		}
		moment = backoff[0]
	}
	t := time.NewTimer(moment)
	defer t.Stop()
	select {
	case <-c.dead:
	case <-t.C:
	case <-ctx.Done():
	}
}

// unsent reports that the server has not seen the request.
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
	c.nextCall++
	call.token = "gjc-" + strconv.FormatInt(c.nextCall, 10)
	call.silence = time.AfterFunc(call.limit, func() {
		c.mu.Lock()
		silent := call.asking == 0
		c.mu.Unlock()
		if silent {
			cancel(fmt.Errorf("the MCP server %s gave no sign of life for %s", c.server.label(), call.limit))
		}
	})
	c.calls[call.token] = call
	c.mu.Unlock()
	defer c.ended(call)
	err := c.guarded(context.WithValue(ctx, callKey{}, call), call, do)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !c.isDead():
		return context.Cause(ctx)
	case c.http != nil && !call.posted.Load():
		// What is sent on a broken connection fails with what broke it.
		return fmt.Errorf("%w: %w", errNotSent, err)
	case ctx.Err() == nil:
		return err
	case errors.Is(err, context.Canceled):
		return c.deathCause() // it ended the context before it reached the call
	default:
		return err
	}
}

// guarded makes the request. The SDK decodes what the server answers here.
func (c *connection) guarded(ctx context.Context, call *activeCall,
	do func(ctx context.Context, c *connection, call *activeCall) error,
) (err error) {
	defer c.rescue("the answer", &err)
	return do(ctx, c, call)
}

// ended takes a call off the list, and with the last of its calls a question.
func (c *connection) ended(call *activeCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, call.token)
	for q := range c.questions {
		if delete(q.calls, call); len(q.calls) == 0 {
			q.end(errNobodyWaits)
		}
	}
	call.silence.Stop()
}

// progressed hands a report to the call that it is about.
func (c *connection) progressed(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	c.mu.Lock()
	call := c.calls[token]
	if call != nil {
		call.alive()
	}
	c.mu.Unlock()
	if call != nil && call.progress != nil {
		call.progress(Progress{Message: text.TruncateBytes(p.Message, 1000), Done: p.Progress, Total: p.Total})
	}
}

// A ServerError is a server's refusal of a request, in its own words.
type ServerError struct {
	Server  string
	Code    int64
	Message string
}

func (e *ServerError) Error() string {
	return fmt.Sprintf("the MCP server %s refused: %s (%d)", e.Server, e.Message, e.Code)
}

// failure words the error of a request.
func (c *connection) failure(err error) error {
	s := c.server
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok && !errors.Is(err, sdk.ErrConnectionClosed) {
		return &ServerError{Server: s.label(), Code: wire.Code, Message: s.secrets.text(text.TruncateBytes(wire.Message, 4<<10))}
	}
	if c.broken(err) {
		return fmt.Errorf("the connection to the MCP server %s was lost during the call; it is not known whether it took effect: %w",
			s.label(), c.explain(err))
	}
	if c.http != nil {
		err = c.http.explain(err)
	}
	return fmt.Errorf("the MCP server %s: %w", s.label(), s.secrets.error(err))
}

// broken reports that the connection is over, or about to be.
func (c *connection) broken(err error) bool {
	return c.isDead() || errors.Is(err, errOutputEnded) || errors.Is(err, errEnded) || errors.Is(err, sdk.ErrConnectionClosed)
}
