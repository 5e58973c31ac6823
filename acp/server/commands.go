package server

import (
	"context"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/providers"
)

// command is a slash command of gjc's own. Its name stands at the very start of a prompt's first text block.
type command struct {
	name, description string
	// hint says what can stand behind the name; empty for nothing.
	hint string
	// Of the next two one is set. run does the command; what it says is no part of the conversation. prompt makes a
	// prompt for the model.
	run    func(*commandCall) error
	prompt func(*commandCall) (agent.Prepared, error)
}

// commandCall is one use of a command, in its place among the turns of the session.
type commandCall struct {
	context.Context
	server  *Server
	entry   *entry
	session *agent.Session
	turn    *agent.Turn
	// typed is the command as the user wrote it, args what stands behind its name.
	typed, args string
	// rest is what the prompt had beside its first text.
	rest []providers.Part
}

// ownCommands lists gjc's commands in the order to offer them.
func ownCommands() []command {
	return []command{
		{name: "help", description: "What you can type and what the modes mean", run: help},
		{name: "model", description: "Show or change the model", hint: "[provider/id[:level]]", run: changeModel},
		{name: "mode", description: "Show or change the mode", hint: "[default|strict|plan|auto]", run: changeMode},
		{name: "thinking", description: "Show or change how much the model reasons", hint: "[level]", run: changeThinking},
		{name: "plan", description: "Go into plan mode, where nothing is changed", hint: "[what to plan]", prompt: planPrompt},
		{name: "compact", description: "Replace the conversation by a summary, to make room", hint: "[what to keep]", run: compact},
		{name: "clear", description: "Begin the conversation anew, in the same session", run: clearContext},
		{name: "context", description: "How full the model's window is, and of what", run: describeContext},
		{name: "usage", description: "Tokens and cost of this session", run: describeUsage},
		{name: "session", description: "This session: title, directories, model, mode", run: describeSession},
		{name: "rename", description: "Name this session", hint: "<title>", run: rename},
		{name: "fork", description: "Copy this session into a new one", run: forkHere},
		{name: "tree", description: "Show the session's branches, or go on from an entry", hint: "[filter | find words | go id [summary] | label id name]", run: tree},
		{name: "handoff", description: "Begin a new session with a summary for whoever takes over", hint: "[what matters]", run: handoff},
		{name: "export", description: "Write the conversation to a file: a page (.html), .md or .json", hint: "[path]", run: export},
		{name: "dump", description: "Show the conversation as text", run: dump},
		{name: "todo", description: "Show the plan", run: describePlan},
		{name: "mcp", description: "Show the MCP servers and their tools, choose tools, or connect a server anew", hint: "[tools [server] | select <all | none | tool…> | reconnect <server>]", run: mcpCommand},
		{name: "lsp", description: "Show the language servers, start them anew, or show what they log", hint: "[restart [server] | log [server]]", run: lspCommand},
		{name: "debug", description: "Show the debug sessions and adapters, or end one", hint: "[stop [session]]", run: debugCommand},
		{name: "undo", description: "Take back the last change of files by the agent's tools", run: undoCommand},
		{name: "jobs", description: "Show the background jobs, or end some", hint: "[stop <job>…]", run: jobsCommand},
	}
}

// typedCommand takes a prompt apart that begins with a slash and a name. Only the first block counts: what a file or
// another text has at its start is no command.
func typedCommand(blocks []acp.ContentBlock) (name, args, typed string, ok bool) {
	if len(blocks) == 0 {
		return "", "", "", false
	}
	text, ok := blocks[0].(*acp.TextContent)
	if !ok {
		return "", "", "", false
	}
	name, args, ok = commands.Parse(text.Text)
	return name, args, strings.TrimSpace(text.Text), ok
}

// turnOf returns what queues the turn that a prompt asks for: a slash command's, or the model's.
func (s *Server) turnOf(e *entry, p *acp.PromptRequest) (func(*agent.Session) *agent.Turn, error) {
	blocks, trace := p.Prompt, traceOf(p.Meta)
	name, args, typed, isCommand := typedCommand(blocks)
	if !isCommand {
		parts, err := promptParts(blocks, 0)
		if err != nil {
			return nil, err
		}
		return func(session *agent.Session) *agent.Turn { return session.PromptTraced(parts, trace) }, nil
	}
	var rest []providers.Part
	if len(blocks) > 1 {
		var err error
		if rest, err = promptParts(blocks[1:], 1); err != nil {
			return nil, err
		}
	}
	call := func(ctx context.Context, session *agent.Session, turn *agent.Turn) *commandCall {
		return &commandCall{ctx, s, e, session, turn, typed, args, rest}
	}
	own := ownCommands()
	at := slices.IndexFunc(own, func(c command) bool { return c.name == name })
	return func(session *agent.Session) *agent.Turn {
		if at >= 0 && own[at].run != nil {
			return session.AnswerTraced(func(ctx context.Context, t *agent.Turn) error { return own[at].run(call(ctx, session, t)) }, trace)
		}
		return session.PromptWithTraced(func(ctx context.Context, t *agent.Turn) (agent.Prepared, error) {
			c := call(ctx, session, t)
			if at >= 0 {
				return own[at].prompt(c)
			}
			return s.expand(c, name)
		}, trace)
	}, nil
}

// traceOf returns the W3C trace context in a request's _meta.
func traceOf(m acp.Meta) agent.Trace {
	var trace agent.Trace
	for _, key := range []string{"traceparent", "tracestate", "baggage"} {
		var value string
		if ok, err := m.Get(key, &value); ok && err == nil {
			if trace == nil {
				trace = make(agent.Trace)
			}
			trace[key] = value
		}
	}
	return trace
}

// parts is a prompt of text and what else the user's prompt had.
func (c *commandCall) parts(text string) []providers.Part {
	return append([]providers.Part{providers.Text{Text: text}}, c.rest...)
}

// say tells the user something, or that it went wrong. A failed command is no failed turn.
func (c *commandCall) say(text string, err error) error {
	if err != nil {
		if c.Err() != nil {
			return context.Cause(c)
		}
		text = "/" + strings.TrimPrefix(strings.Fields(c.typed)[0], "/") + ": " + err.Error()
	}
	c.turn.Say(strings.TrimRight(text, "\n") + "\n")
	return nil
}
