package slash

import (
	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/text"
)

// builtin is one of gjc's own commands.
type builtin struct {
	name, description string
	// hint describes the arguments; empty for none.
	hint string
	// Exactly one of run and prompt is set. run answers without the model, and its answer is not part of the conversation. prompt
	// returns a prompt for the model.
	run    func(*call) error
	prompt func(*call) (agent.Prepared, error)
}

// builtins lists gjc's own commands in the order in which they are offered.
func builtins() []builtin {
	return []builtin{
		{name: "help", description: "Show the commands and explain the modes", run: help},
		{name: "model", description: "Show or change the model", hint: "[provider/id[:level]]", run: changeModel},
		{name: "mode", description: "Show or change the mode", hint: "[default|strict|plan|auto]", run: changeMode},
		{name: "thinking", description: "Show or change the thinking level", hint: "[level]", run: changeThinking},
		{name: "permissions", description: "Show the answers that are remembered, or forget some", hint: "[revoke <number…> | revoke all]", run: permissions},
		{name: "plan", description: "Switch to plan mode, where nothing is changed", hint: "[what to plan]", prompt: planPrompt},
		{name: "compact", description: "Replace the conversation with a summary, to make room", hint: "[what to keep]", run: compact},
		{name: "clear", description: "Start the conversation over, in the same session", run: clearContext},
		{name: "context", description: "Show what fills the model's context window", run: describeContext},
		{name: "usage", description: "Show the tokens and cost of this session", run: describeUsage},
		{name: "session", description: "Show this session's title, directories, model and mode", run: describeSession},
		{name: "rename", description: "Name this session", hint: "<title>", run: rename},
		{name: "fork", description: "Copy this session into a new one", run: fork},
		{name: "tree", description: "Show the session's branches, or continue from an entry", hint: "[filter | find words | go id [summary] | label id name]", run: tree},
		{name: "handoff", description: "Start a new session from a summary of this one", hint: "[what matters]", run: handoff},
		{name: "export", description: "Export the conversation to an .html, .md or .json file", hint: "[path]", run: export},
		{name: "share", description: "Share the conversation without secrets, after a question: in a file, with your own program, or as a secret gist", hint: "[file | gist]", run: share},
		{name: "dump", description: "Show the conversation as text", run: dump},
		{name: "todo", description: "Show the plan, or change it", hint: "[add <step> | done <number or step> | drop <number or step>]", run: todo},
		{name: "goal", description: "Show the goal of the session, set one, or end it", hint: "[<text> | done | drop | pause | resume]", run: setGoal},
		{name: "mcp", description: "Show the MCP servers and their tools, choose tools, reconnect or change servers", hint: "[tools [server] | select <all | none | tool…> | reconnect <server> | reload | add | get | test | enable | disable | remove | import …]", run: mcpServers},
		{name: "lsp", description: "Show the language servers, restart them, or show their logs", hint: "[restart [server] | log [server]]", run: languageServers},
		{name: "debug", description: "Show the debug sessions and adapters, or end one", hint: "[stop [session]]", run: debugSessions},
		{name: "undo", description: "Undo the last file change by the agent's tools", run: undo},
		{name: "rewind", description: "List the prompts, or go back to just before one, with the files, the conversation or both", hint: "[N code|conversation|both]", run: rewindTo},
		{name: "worktree", description: "Show the worktree of this session and what was changed in it, or store that in a branch", hint: "[branch [name]]", run: worktreeOf},
		{name: "attempts", description: "Let several helpers try the same task, and merge the best change; or list the attempts", hint: "[N [models…] -- task | merge K]", run: attempt},
		{name: "jobs", description: "Show the background jobs, or stop some", hint: "[stop <job>…]", run: jobs},
	}
}

// Limits on the advertised commands that are not gjc's own: many clients reject a line of more than 64 KiB. A command that does not
// fit in the list can still be typed.
const (
	maxAdvertised  = 40 << 10 // all commands together, in bytes
	maxDescription = 200      // in characters
	maxName        = 100      // in characters
)

// clip returns s as one line of at most the given number of characters.
func clip(s string, most int) string { return text.Truncate(text.OneLine(s), most) }

// Available lists the commands that can be typed, as far as they are known without I/O: gjc's own first.
func (c *Commands) Available() []acp.AvailableCommand {
	var all []acp.AvailableCommand
	for _, b := range builtins() {
		all = append(all, available(b.name, b.description, b.hint))
	}
	return append(all, c.added()...)
}

// added lists the commands of files, skills, MCP servers and extensions. It omits a command whose name is already in use.
func (c *Commands) added() []acp.AvailableCommand {
	taken := make(map[string]bool)
	for _, b := range builtins() {
		taken[b.name] = true
	}
	var all []acp.AvailableCommand
	room := maxAdvertised
	add := func(name, description, hint string) {
		a := available(clip(name, maxName), clip(description, maxDescription), clip(hint, maxDescription))
		room -= len(a.Name) + len(a.Description) + len(hint) + 64
		if !taken[name] && room >= 0 {
			taken[name] = true
			all = append(all, a)
		}
	}
	if files := c.knownFiles(); files != nil {
		for _, f := range files.Commands() {
			if c.opts.Enabled(f.Name) {
				add(f.Name, f.Description, f.Hint)
			}
		}
	}
	if set := c.opts.MCP.Current(); set != nil {
		for _, p := range set.Prompts() {
			add(promptName(&p), promptDescription(&p), promptHint(&p))
		}
	}
	if c.opts.Extensions != nil {
		for _, e := range c.opts.Extensions.Commands() {
			add(e.Name, e.Description, e.Hint)
		}
	}
	return all
}

// available returns a command in the form in which it is advertised.
func available(name, description, hint string) acp.AvailableCommand {
	a := acp.AvailableCommand{Name: name, Description: description}
	if hint != "" {
		a.Input = &acp.UnstructuredCommandInput{Hint: hint}
	}
	return a
}
