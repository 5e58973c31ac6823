package mcptools

import "strings"

// IsMCP reports whether a tool's name is one of those that [MCP] gives.
func IsMCP(tool string) bool {
	return strings.HasPrefix(tool, "mcp__") || tool == "mcp_resources" || tool == "mcp_read_resource"
}
