package toolkit

import "github.com/gajae-code/gjc/agent"

// Inside reports whether a path is inside the workspace's roots, both by its name and with all links resolved.
func Inside(call *agent.Call, path string) bool {
	if !call.Workspace.Contains(path) {
		return false
	}
	real := agent.Workspace{Cwd: call.FS.RealPath(call.Workspace.Cwd)}
	for _, root := range call.Workspace.Additional {
		real.Additional = append(real.Additional, call.FS.RealPath(root))
	}
	return real.Contains(call.FS.RealPath(path))
}
