package agent

import (
	"path/filepath"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/approval/shell"
)

// paths resolves and judges the paths of the session's steps.
func (s *Session) paths() *shell.Paths {
	o := &s.opts
	return &shell.Paths{
		Roots: append([]string{o.Workspace.Cwd}, o.Workspace.Additional...), RealRoots: o.Workspace.Real, Home: o.Policy.Home, Own: o.Policy.Own, Real: o.FS.RealPath,
	}
}

// readable is [Call.Readable].
func (s *Session) readable(path string) bool {
	paths := s.paths()
	f := approval.FactsOf(&s.opts.Policy, s.opts.OS, "read", &approval.Effect{Action: approval.ActionRead, Path: path}, &approval.Scope{Path: s.opts.FS.RealPath(path)}, paths)
	return len(f.Special) == 0 && f.Rule <= approval.Allow
}

// outside reports whether path, which is real behind all symbolic links, lies outside the roots by its name or for real.
// The empty path is nowhere, and so not outside.
func outside(ws, realRoots *Workspace, path, real string) bool {
	return path != "" && !(ws.Contains(path) && realRoots.Contains(real))
}

// real returns the roots behind all symbolic links.
func (w *Workspace) real() *Workspace {
	if w.Real == nil {
		return w
	}
	return &Workspace{Cwd: w.Real[0], Additional: w.Real[1:]}
}

// Contains reports whether path lies in one of the roots. It is lexical and knows nothing of symbolic links.
func (w *Workspace) Contains(path string) bool {
	if shell.Within(w.Cwd, path) {
		return true
	}
	for _, root := range w.Additional {
		if shell.Within(root, path) {
			return true
		}
	}
	return false
}

// Resolve makes path absolute against the working directory, and clean.
func (w *Workspace) Resolve(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.Cwd, path)
	}
	return filepath.Clean(path)
}

// Display shortens path for people: relative to the working directory where it lies inside.
func (w *Workspace) Display(path string) string {
	if rel, err := filepath.Rel(w.Cwd, path); err == nil && shell.Within(w.Cwd, path) {
		return rel
	}
	return path
}
