//go:build unix

package mcpfiles

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A pipe in the place of a file is reported, and not opened: that would wait for its other end.
func TestWorkspace_Pipe(t *testing.T) {
	p := newPlace(t)
	p.write(".vscode/mcp.json", `{"servers": {"good": {"command": "x"}}}`)
	if err := unix.Mkfifo(filepath.Join(p.dir, ".mcp.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.trustAll()
	got, problems := p.servers()
	if names(got) != "good" || !strings.Contains(problems, ".mcp.json") || !strings.Contains(problems, "not a regular file") {
		t.Errorf("servers %q, problems %q", names(got), problems)
	}
}
