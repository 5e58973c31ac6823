package slash

import (
	"context"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/extensions"
	"github.com/gajae-code/gjc/providers"
)

// Typed is a command as the user typed it.
type Typed struct {
	name, args string
	// text is the complete text of the first block.
	text string
	// rest holds the other blocks of the prompt.
	rest []providers.Part
	// mentions are the resources that the text of all blocks mentions.
	mentions []Mention
}

// Parse parses the command at the start of a prompt. It returns nil if there is none. Only the first block can hold a command: a
// file or another text block that begins with a slash is not a command. The error is about the other blocks.
func Parse(blocks []acp.ContentBlock) (*Typed, error) {
	if len(blocks) == 0 {
		return nil, nil
	}
	text, ok := blocks[0].(*acp.TextContent)
	if !ok {
		return nil, nil
	}
	name, args, ok := commands.Parse(text.Text)
	if !ok {
		return nil, nil
	}
	typed := &Typed{name: name, args: args, text: strings.TrimSpace(text.Text), mentions: Mentions(blocks)}
	if len(blocks) > 1 {
		var err error
		if typed.rest, err = content.PromptParts(blocks[1:], 1); err != nil {
			return nil, err
		}
	}
	return typed, nil
}

// IsBuiltIn reports whether gjc itself answers a command, and no model. It may be called on nil.
func (t *Typed) IsBuiltIn() bool {
	return t != nil && slices.ContainsFunc(builtins(), func(b builtin) bool { return b.name == t.name && b.run != nil })
}

// call is one execution of a command, in its own turn of the session.
type call struct {
	context.Context //nolint:containedctx // bounds the one turn that runs the command
	*Typed
	commands *Commands
	session  *agent.Session
	turn     *agent.RunningTurn
}

// Start queues the turn of a command and returns the turn. An unknown command is sent to the model unchanged.
func (c *Commands) Start(session *agent.Session, typed *Typed, prompt agent.Prompt) *agent.Turn {
	own := builtins()
	at := slices.IndexFunc(own, func(b builtin) bool { return b.name == typed.name })
	if at >= 0 && own[at].run != nil {
		prompt.Answer = func(ctx context.Context, t *agent.RunningTurn) error {
			return own[at].run(&call{ctx, typed, c, session, t})
		}
		return session.Prompt(prompt)
	}
	prompt.Prepare = func(ctx context.Context, t *agent.RunningTurn) (agent.Prepared, error) {
		call := &call{ctx, typed, c, session, t}
		var prepared agent.Prepared
		var err error
		if at >= 0 {
			prepared, err = own[at].prompt(call)
		} else {
			prepared, err = call.expand()
		}
		if err != nil || len(prepared.Parts) == 0 {
			return prepared, err
		}
		more, err := call.resources()
		if len(more) > 0 {
			prepared.Parts, prepared.Shown = slices.Concat(prepared.Parts, more), typed.text
		}
		return prepared, err
	}
	return session.Prompt(prompt)
}

// expand returns the prompt for a command of a command file, a skill, an MCP server or an extension. An unknown command is sent to the model
// unchanged.
func (c *call) expand() (agent.Prepared, error) {
	if p := c.commands.Files(c).Expand(c.name, c.args); p != nil && c.opts().Enabled(c.name) {
		return c.fill(p)
	}
	if set, p := c.mcpPrompt(); p != nil {
		return c.fillPrompt(set, p)
	}
	if c.opts().Extensions != nil {
		if p, ok, err := c.ofExtension(c.opts().Extensions); ok {
			return p, err
		}
	}
	return agent.Prepared{Parts: c.parts(c.text)}, nil
}

// ofExtension runs the command of an extension. It reports false if no extension has it.
func (c *call) ofExtension(e *extensions.Manager) (agent.Prepared, bool, error) {
	e.Start(c) // a session may begin with a command
	reply, ok, err := e.Run(c, c.name, c.args)
	switch {
	case !ok:
		return agent.Prepared{}, false, nil
	case err != nil || reply.Prompt == "":
		return agent.Prepared{}, true, c.say(reply.Text, err)
	}
	if reply.Text != "" {
		c.turn.Say(reply.Text)
	}
	return agent.Prepared{Parts: c.parts(reply.Prompt), Shown: c.text}, true, nil
}

func (c *call) opts() *Options { return &c.commands.opts }

// parts returns a prompt of text and the other blocks of the user's prompt.
func (c *call) parts(text string) []providers.Part {
	return append([]providers.Part{providers.Text{Text: text}}, c.rest...)
}

// say shows text to the user, or err if it is not nil. It returns an error only if the call was canceled: a command that fails does
// not fail its turn.
func (c *call) say(text string, err error) error {
	if err != nil {
		if c.Err() != nil {
			return context.Cause(c)
		}
		text = "/" + c.name + ": " + err.Error()
	}
	c.turn.Say(strings.TrimRight(text, "\n") + "\n")
	return nil
}

// fail shows only an error to the user, as say does.
func (c *call) fail(err error) error { return c.say("", err) }
