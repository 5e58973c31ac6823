// Package content converts content between the agent's types and those of ACP.
package content

import (
	"encoding/base64"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
)

// ToolCall converts the content of a tool call. It returns nil for no content.
func ToolCall(list []agent.Content) []acp.ToolCallContent {
	var out []acp.ToolCallContent
	for _, c := range list {
		switch c := c.(type) {
		case agent.DiffContent:
			out = append(out, &acp.Diff{Path: c.Path, OldText: c.Old, NewText: c.New})
		case agent.TerminalContent:
			out = append(out, &acp.Terminal{TerminalID: acp.TerminalID(c.TerminalID)})
		default:
			out = append(out, &acp.Content{Content: Block(c)})
		}
	}
	return out
}

// Block converts content that is neither a diff nor a terminal.
func Block(c agent.Content) acp.ContentBlock {
	switch c := c.(type) {
	case agent.ImageContent:
		return &acp.ImageContent{MIMEType: c.Image.MIMEType, Data: base64.StdEncoding.EncodeToString(c.Image.Data)}
	case agent.LinkContent:
		return &acp.ResourceLink{URI: c.URI, Name: c.Name}
	case agent.TextContent:
		return &acp.TextContent{Text: c.Text}
	default:
		return &acp.TextContent{}
	}
}

// Locations converts the locations that a tool call works on. It returns nil for none.
func Locations(places []agent.Location) []acp.ToolCallLocation {
	var out []acp.ToolCallLocation
	for _, p := range places {
		l := acp.ToolCallLocation{Path: p.Path}
		if p.Line > 0 {
			l.Line = new(p.Line)
		}
		out = append(out, l)
	}
	return out
}
