package mcptools

import "strings"

// IsMCP reports whether name is the name of a tool of [MCP].
func IsMCP(tool string) bool {
	return strings.HasPrefix(tool, "mcp__") || tool == "mcp_resources" || tool == "mcp_read_resource"
}
