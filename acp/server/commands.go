package server

import (
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
)

// command is a slash command that the server answers itself. Its name stands at the very start of a prompt's first
// text block.
type command struct {
	name, description string
	answer            func(snap agent.Snapshot) string
}

// commands lists the slash commands in the order to offer them.
func commands() []command {
	return []command{
		{"help", "What you can type and what the modes mean", help},
		{"session", "This session: model, mode, context, cost", describeSession},
	}
}

// commandsUpdate tells which slash commands there are. The list is complete each time.
func commandsUpdate() acp.SessionUpdate {
	u := &acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{}}
	for _, c := range commands() {
		u.AvailableCommands = append(u.AvailableCommands, acp.AvailableCommand{Name: c.name, Description: c.description})
	}
	return u
}

// commandOf returns the command that a prompt is, if it is one.
func commandOf(blocks []acp.ContentBlock) (command, bool) {
	if len(blocks) == 0 {
		return command{}, false
	}
	text, ok := blocks[0].(*acp.TextContent)
	if !ok || !strings.HasPrefix(text.Text, "/") {
		return command{}, false
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(text.Text, "/"), " ")
	name = strings.TrimSpace(name)
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

func help(agent.Snapshot) string {
	var s strings.Builder
	s.WriteString("Commands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&s, "- `/%s`: %s\n", c.name, c.description)
	}
	s.WriteString("\nModes:\n")
	for _, m := range agent.Modes() {
		fmt.Fprintf(&s, "- %s: %s\n", m.Name, m.Description)
	}
	return s.String()
}

func describeSession(snap agent.Snapshot) string {
	var s strings.Builder
	fmt.Fprintf(&s, "- Title: %s\n- Model: %s, thinking %s\n- Mode: %s\n", orNone(snap.Title), snap.Model.Ref(), snap.Thinking, snap.Mode)
	if used := snap.Usage.Context(); used > 0 {
		fmt.Fprintf(&s, "- Context: %d of %d tokens\n", used, snap.Model.ContextWindow)
	}
	if snap.CostUSD > 0 {
		fmt.Fprintf(&s, "- Cost: $%.4f\n", snap.CostUSD)
	}
	return s.String()
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
