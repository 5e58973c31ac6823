package agent

import (
	"strings"
	"testing"
)

// realFiles resolves paths with a function and supports nothing else.
type realFiles struct {
	FS
	real func(string) string
}

func (f realFiles) RealPath(path string) string { return f.real(path) }

// A link inside the workspace that leads out of it does not make its target part of the workspace.
func TestOutside_FollowsLinks(t *testing.T) {
	ws := &Workspace{Cwd: "/w/p"}
	files := realFiles{real: func(p string) string {
		if rest, ok := strings.CutPrefix(p, "/w/p"); ok {
			p = "/mnt/p" + rest // the root itself may be reached through a link
		}
		if rest, ok := strings.CutPrefix(p, "/mnt/p/link"); ok {
			p = "/etc" + rest
		}
		return p
	}}
	ws.resolve(files)
	for path, want := range map[string]bool{
		"/w/p/a.go": false, "/w/p/link/passwd": true, "/mnt/p/a.go": true, "/etc/passwd": true,
	} {
		if got := outside(ws, ws.real(), path, files.RealPath(path)); got != want {
			t.Errorf("%s: outside = %v, want %v", path, got, want)
		}
	}
}
