// Package headless runs one prompt without an editor. It is a client of the server that editors talk to, in the same process.
package headless

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gajae-code/gjc/acp"
)

// Options describe a run.
type Options struct {
	Serve ServeFunc
	// Version is the version of gjc.
	Version string
	Session Session
	Prompt  []acp.ContentBlock
	Limits  Limits
	// Schema is for the answer; nil for text. The server must offer its tool.
	Schema *Schema
	// Structured reports whether a model has structured output. If nil, none has.
	Structured func(model string) bool
	// Approve answers a question with the ID of one of its options. If nil, all are refused.
	Approve func(ctx context.Context, p *acp.RequestPermissionRequest) (acp.PermissionOptionID, error)
	// Opened is called with the session's model before the prompt is sent. After an error, it is not sent. Optional.
	Opened func(model string) error
	// Updated is called with each update of the session and its helpers, in order. It must not block. Optional.
	Updated func(n *acp.SessionNotification)
}

// Limits end a run; zero is none. The server has the limit of requests.
type Limits struct {
	Time time.Duration
	// CostUSD is checked after each request to the model.
	CostUSD float64
}

// Causes of the end of a turn, besides the context of [Run].
var (
	errTime = errors.New("the time is over")
	errCost = errors.New("the cost has reached its limit")
)

// Run runs the prompt. If ctx ends, the turn is cancelled and stored as far as it came, and Run returns nevertheless a result. An error means
// that there is none: the session could not be opened.
func Run(ctx context.Context, opts Options) (*Result, error) {
	// A cancelled turn is still to be stored and reported.
	c := &client{opts: &opts, result: newResult()}
	conn, end := Connect(context.WithoutCancel(ctx), opts.Serve, c)
	r, err := c.run(ctx, conn)
	serveErr := end()
	if err == nil && serveErr != nil {
		err = fmt.Errorf("ending the session: %w", serveErr)
	}
	return r, err
}

// run opens the session, sends the prompt and returns what came of it.
func (c *client) run(ctx context.Context, conn *acp.ClientConn) (*Result, error) {
	detached := context.WithoutCancel(ctx)
	if _, err := acp.MethodInitialize.Call(detached, conn, &acp.InitializeRequest{
		ProtocolVersion: 1, ClientInfo: &acp.Implementation{Name: "gjc-run", Version: c.opts.Version},
		ClientCapabilities: acp.ClientCapabilities{Session: &acp.ClientSessionCapabilities{Notices: &acp.NoticeCapabilities{}, Compaction: &acp.CompactionCapabilities{}}},
	}); err != nil {
		return nil, err
	}
	id, options, err := c.opts.Session.Open(detached, conn)
	if err != nil {
		return nil, err
	}
	if options, err = c.opts.Session.Configure(detached, conn, id, options); err != nil {
		return nil, err
	}
	c.result.SessionID, c.result.Model = id, Current(options, "model")
	if c.opts.Opened != nil {
		if err := c.opts.Opened(c.result.Model); err != nil {
			return nil, err
		}
	}
	before, err := cost(detached, conn, id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if limit := c.opts.Limits.Time; limit > 0 {
		timer := time.AfterFunc(limit, func() { cancel(errTime) })
		defer timer.Stop()
	}
	c.begin(id, before, cancel)
	response, err := c.turns(ctx, conn, id, cancel)
	after, costErr := cost(detached, conn, id)
	if costErr != nil {
		after = before // the answer is what counts
	}
	return c.finish(ctx, response, err, after-before), nil
}

// cost returns what a session has cost so far, in US dollars; zero if that is unknown.
func cost(ctx context.Context, conn acp.Caller, id acp.SessionID) (float64, error) {
	var all struct {
		Reports []struct {
			SessionID acp.SessionID `json:"sessionId"`
			CostUSD   float64       `json:"costUsd"`
		} `json:"reports"`
	}
	if err := conn.Call(ctx, "_gjc/usage", struct{}{}, &all); err != nil {
		return 0, err
	}
	for _, r := range all.Reports {
		if r.SessionID == id {
			return r.CostUSD, nil
		}
	}
	return 0, nil
}

// turns sends the prompt, and asks for an answer that fits a schema.
func (c *client) turns(ctx context.Context, conn acp.Caller, id acp.SessionID, cancel context.CancelCauseFunc) (*acp.PromptResponse, error) {
	schema := c.opts.Schema
	if schema == nil {
		return Prompt(ctx, conn, id, c.opts.Prompt)
	}
	schema.failed = func() { cancel(errSchema) }
	asks := &schemaAsker{c, schema, conn, id}
	if structured := c.opts.Structured; structured != nil && structured(c.result.Model) {
		return asks.afterwards(ctx, c.opts.Prompt)
	}
	return asks.withTool(ctx, c.opts.Prompt, nil)
}

// sum adds usages.
func sum(a, b *acp.Usage) *acp.Usage {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &acp.Usage{
		TotalTokens: a.TotalTokens + b.TotalTokens, InputTokens: a.InputTokens + b.InputTokens, OutputTokens: a.OutputTokens + b.OutputTokens,
		ThoughtTokens: sumOf(a.ThoughtTokens, b.ThoughtTokens), CachedReadTokens: sumOf(a.CachedReadTokens, b.CachedReadTokens),
		CachedWriteTokens: sumOf(a.CachedWriteTokens, b.CachedWriteTokens),
	}
}

func sumOf(a, b *int64) *int64 {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return new(*a + *b)
}
