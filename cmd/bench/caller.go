package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
)

// caller makes the offline model call tools in one session, and measures the prompts.
type caller struct {
	ctx     context.Context //nolint:containedctx // that of one measurement
	agent   *acptest.Agent
	session *acp.NewSessionResponse
	ended   *acp.ToolCallUpdate // the text of the last completed call
}

// newCaller starts a gjc with a session in work. The programs in bin come first on its PATH. The caller of newCaller
// ends the agent.
func newCaller(ctx context.Context, binary, dir, work, bin string) (*caller, error) {
	c := &caller{ctx: ctx}
	agent, _, err := startOffline(ctx, binary, dir, acptest.EditorOptions{
		Updated: func(n *acp.SessionNotification) {
			if u, ok := n.Update.(*acp.ToolCallUpdate); ok {
				if _, has := u.Content.Get(); has {
					c.ended = u
				}
			}
		},
	}, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err != nil {
		return nil, err
	}
	if c.session, err = agent.NewSession(ctx, work); err != nil {
		end(agent)
		return nil, err
	}
	c.agent = agent
	return c, nil
}

// call measures one prompt, whose call must end with a text that contains want.
func (c *caller) call(prompt, want string) (time.Duration, error) {
	begin := time.Now()
	if _, err := c.agent.Prompt(c.ctx, c.session.SessionID, prompt); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	if text := textOf(c.ended); !strings.Contains(text, want) {
		return 0, fmt.Errorf("%s: no %q in %.500s", prompt, want, text)
	}
	return took, nil
}

// textOf returns the text of a completed call.
func textOf(u *acp.ToolCallUpdate) string {
	var text strings.Builder
	if u == nil {
		return ""
	}
	content, _ := u.Content.Get()
	for _, c := range content {
		if inner, ok := c.(*acp.Content); ok {
			if t, ok := inner.Content.(*acp.TextContent); ok {
				text.WriteString(t.Text)
			}
		}
	}
	return text.String()
}
