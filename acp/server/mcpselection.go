package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/mcptools"
)

// everyTool in a selection stands for all tools.
const everyTool = "*"

// pick offers the model only the named tools of MCP servers from now on; nil for all.
func (b *toolbox) pick(names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.picked = nil
	if names == nil || slices.Contains(names, everyTool) {
		return
	}
	b.picked = make(map[string]bool)
	for _, name := range names {
		b.picked[name] = true
		// Other programs write "server.tool".
		b.picked["mcp__"+strings.ReplaceAll(name, ".", "_")] = true
	}
}

// chosen returns the tools of MCP servers that were picked.
func (b *toolbox) chosen(all []agent.Tool) []agent.Tool {
	b.mu.Lock()
	picked := b.picked
	b.mu.Unlock()
	if picked == nil {
		return all
	}
	var some []agent.Tool
	for _, t := range all {
		if picked[t.Spec().Name] {
			some = append(some, t)
		}
	}
	return some
}

// selectMCP is /mcp select: which tools of MCP servers the model is offered. A loaded session has the same selection.
func (c *commandCall) selectMCP(args string) error {
	set := c.entry.box.built(c)
	if set == nil {
		return c.say("This session has no MCP servers.", nil)
	}
	var there []string
	for _, t := range mcptools.MCP(set) {
		there = append(there, t.Spec().Name)
	}
	names := strings.Fields(strings.ReplaceAll(args, ",", " "))
	switch {
	case len(names) == 1 && names[0] == "all":
		names = []string{everyTool}
	case len(names) == 1 && names[0] == "none":
		names = []string{}
	case len(names) == 0:
		return c.say("Use /mcp select all, none, or the names of tools: "+strings.Join(there, ", "), nil)
	default:
		for _, name := range names {
			if !slices.Contains(there, name) {
				return c.say("", fmt.Errorf("there is no MCP tool %s; there are %s", name, strings.Join(there, ", ")))
			}
		}
	}
	if err := c.turn.SelectTools(names); err != nil {
		return c.say("", err)
	}
	c.entry.box.pick(names)
	switch {
	case len(names) == 0:
		return c.say("The model is offered no MCP tools.", nil)
	case names[0] == everyTool:
		return c.say("The model is offered all MCP tools.", nil)
	default:
		return c.say("Of the MCP tools the model is offered "+strings.Join(names, ", ")+".", nil)
	}
}
