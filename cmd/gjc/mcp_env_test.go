package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// mcpServer returns the command line of a real MCP server.
func mcpServer(t *testing.T, name string) (node, script string) {
	t.Helper()
	script = filepath.Join(testenv.ModuleRoot(t), "testdata", "mcp", "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		testenv.Skip(t, "no node_modules in testdata/mcp; run npm ci there")
	}
	return testenv.NeedsTool(t, "node"), script
}
