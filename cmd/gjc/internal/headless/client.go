package headless

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// client is the client's side of the connection.
type client struct {
	NoMachine
	opts *Options

	mu     sync.Mutex // guards the fields below
	result Result
	// id is the session of the prompt; empty before it.
	id     acp.SessionID
	cost   float64 // of the session before the prompt
	cancel context.CancelCauseFunc
	// message is the ID of the last message of the agent, and answer its text.
	message acp.MessageID
	answer  strings.Builder
	calls   map[acp.ToolCallID]*call
	order   []*call
}

var _ acp.Client = (*client)(nil)

// call is a tool call.
type call struct {
	kind    acp.ToolKind
	title   string
	input   jsonx.Raw
	output  jsonx.Raw
	status  acp.ToolCallStatus
	content []acp.ToolCallContent
	ran     bool
	began   time.Time
	lasted  time.Duration
}

// begin notes that the prompt is about to be sent.
func (c *client) begin(id acp.SessionID, cost float64, cancel context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id, c.cost, c.cancel, c.calls = id, cost, cancel, make(map[acp.ToolCallID]*call)
}

// SessionUpdate implements [acp.Client].
func (c *client) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	c.note(n)
	if c.opts.Updated != nil {
		c.opts.Updated(n)
	}
	return nil
}

func (c *client) note(n *acp.SessionNotification) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if notice, ok := n.Update.(*acp.Notice); ok && notice.Severity != acp.NoticeSeverityInfo {
		text := notice.Title
		if notice.Description != "" {
			text = strings.TrimSuffix(text, ".") + ": " + notice.Description
		}
		if !slices.Contains(c.result.Warnings, text) {
			c.result.Warnings = append(c.result.Warnings, text)
		}
	}
	if c.id == "" {
		return
	}
	switch u := n.Update.(type) {
	case *acp.AgentMessageChunk:
		text, ok := u.Content.(*acp.TextContent)
		if !ok || n.SessionID != c.id {
			return
		}
		if u.MessageID != c.message {
			c.answer.Reset()
			c.message = u.MessageID
		}
		c.answer.WriteString(text.Text)
	case *acp.ToolCall:
		one := &call{kind: u.Kind, title: u.Title, input: u.RawInput, status: u.Status, content: u.Content, began: time.Now()}
		c.calls[u.ToolCallID], c.order = one, append(c.order, one)
	case *acp.ToolCallUpdate:
		if one := c.calls[u.ToolCallID]; one != nil {
			one.update(u)
		}
	case *acp.UsageUpdate:
		if limit := c.opts.Limits.CostUSD; limit > 0 && n.SessionID == c.id && u.Cost != nil && u.Cost.Amount-c.cost >= limit {
			c.cancel(errCost)
		}
	}
}

// warn adds a warning to the result.
func (c *client) warn(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Warnings = append(c.result.Warnings, text)
}

// forget makes lastMessage return only what follows.
func (c *client) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.message = ""
	c.answer.Reset()
}

// lastMessage returns the text of the agent's last message.
func (c *client) lastMessage() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answer.String()
}

func (one *call) update(u *acp.ToolCallUpdate) {
	one.kind, one.title = u.Kind.Or(one.kind), u.Title.Or(one.title)
	one.content = u.Content.Or(one.content)
	if u.RawInput != nil {
		one.input = u.RawInput
	}
	if u.RawOutput != nil {
		one.output = u.RawOutput
	}
	one.ran = one.ran || u.Status.Or("") == acp.ToolCallStatusInProgress
	if one.status = u.Status.Or(one.status); one.status == acp.ToolCallStatusCompleted || one.status == acp.ToolCallStatusFailed {
		one.lasted = time.Since(one.began)
	}
}

// noUser is why a question is refused.
const noUser = "this run has no user who could be asked; allow it with --allow or another --mode"

// RequestPermission implements [acp.Client].
func (c *client) RequestPermission(ctx context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	if c.opts.Approve != nil {
		chosen, err := c.opts.Approve(ctx, p)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(p.Options, func(o acp.PermissionOption) bool {
			return o.OptionID == chosen && (o.Kind == acp.PermissionOptionKindRejectOnce || o.Kind == acp.PermissionOptionKindRejectAlways)
		}) {
			c.refuse(p, "")
		}
		return choose(chosen), nil
	}
	var trust bool
	if is, err := p.Meta.Get(content.TrustMeta, &trust); !is || err != nil || !trust {
		c.refuse(p, noUser) // without the files of a workspace the run goes on, after a notice
	}
	for _, o := range p.Options {
		if o.Kind == acp.PermissionOptionKindRejectOnce {
			r := choose(o.OptionID)
			return r, r.Meta.Set(content.ReasonMeta, noUser)
		}
	}
	return &acp.RequestPermissionResponse{Outcome: &acp.CancelledPermissionOutcome{}}, nil
}

func choose(id acp.PermissionOptionID) *acp.RequestPermissionResponse {
	return &acp.RequestPermissionResponse{Outcome: &acp.SelectedPermissionOutcome{OptionID: id}}
}

// refuse notes a refused question.
func (c *client) refuse(p *acp.RequestPermissionRequest, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Refused = append(c.result.Refused, Refusal{Title: p.ToolCall.Title.Or(""), Reason: why})
}
