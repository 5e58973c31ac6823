package agent

import (
	"path/filepath"
	"slices"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/approval/shell"
	"github.com/gajae-code/gjc/providers"
)

// paths returns the path resolver for the session's steps.
func (s *Session) paths() *shell.Paths {
	o := &s.opts
	followed := func() []string { return nil }
	if o.Policy.Followed != nil {
		followed = func() []string {
			var all []string
			for _, root := range append([]string{o.Workspace.Cwd}, o.Workspace.Additional...) {
				all = append(all, o.Policy.Followed(root)...)
			}
			return all
		}
	}
	return &shell.Paths{
		Loaded: o.Policy.Loaded, Followed: followed,
		Roots: append([]string{o.Workspace.Cwd}, o.Workspace.Additional...), RealRoots: o.Workspace.Real, Home: o.Policy.Home, Own: o.Policy.Own, Real: o.FS.RealPath,
		Temp: o.Workspace.temp.dir(),
	}
}

// readable implements [Call.Readable].
func (s *Session) readable(path string) bool {
	paths := s.paths()
	f := approval.FactsOf(&s.opts.Policy, s.opts.OS, "read", &approval.Effect{Action: approval.ActionRead, Path: path}, &approval.Scope{Path: s.opts.FS.RealPath(path)}, paths)
	return len(f.Special) == 0 && f.Rule <= approval.Allow
}

// real returns the roots with all symbolic links resolved.
func (w *Workspace) real() *Workspace {
	if w.Real == nil {
		return w
	}
	return &Workspace{Cwd: w.Real[0], Additional: w.Real[1:]}
}

// Contains reports whether path is in one of the roots. It is lexical and does not resolve symbolic links.
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

// Resolve returns where the file is that a tool's input names: path is relative to the working directory, and what is in /tmp is in the
// session's own directory if its commands have that as /tmp.
func (w *Workspace) Resolve(path string) string { return w.temp.place(w.Absolute(path)) }

// Absolute makes path absolute against the working directory, and clean. It is for paths that programs outside the boundary read.
func (w *Workspace) Absolute(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.Cwd, path)
	}
	return filepath.Clean(path)
}

// Display returns path for people: relative to the working directory if it is inside, and in /tmp if [Workspace.Resolve] accepts it there.
func (w *Workspace) Display(path string) string {
	if in, ok := w.temp.shown(path); ok {
		return in
	}
	if rel, err := filepath.Rel(w.Cwd, path); err == nil && shell.Within(w.Cwd, path) {
		return rel
	}
	return path
}

// RemoveLeftovers removes temporary files of an earlier process that was killed during a call of this loaded session.
// It searches the working directory and the directories in which calls without a result would have written. It returns
// at once; the work ends with the session.
func (s *Session) RemoveLeftovers() {
	fs, ok := s.opts.FS.(LeftoverRemover)
	if !ok {
		return
	}
	dirs := []string{s.opts.Workspace.Cwd}
	dirs = append(dirs, s.opts.Workspace.Additional...)
	for _, c := range callsWithoutResult(s.opts.History) {
		r := &replay{ReplayOptions: ReplayOptions{Tools: s.opts.Tools.Tools(), Workspace: s.opts.Workspace}, ctx: s.ctx}
		var started ToolStarted
		r.describe(&started, c)
		for _, l := range started.Locations {
			dirs = append(dirs, filepath.Dir(l.Path))
		}
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	s.do(func(st *state) error {
		if !st.closing {
			s.background.Go(func() { fs.RemoveLeftovers(s.ctx, dirs) })
		}
		return nil
	})
}

// callsWithoutResult returns the calls of the last answer that have no result.
func callsWithoutResult(history []providers.Message) []providers.ToolCall {
	results := make(map[string]bool)
	for _, m := range slices.Backward(history) {
		switch m.Role {
		case providers.RoleTool:
			results[m.ToolCallID] = true
		case providers.RoleAssistant:
			return slices.DeleteFunc(m.ToolCalls(), func(c providers.ToolCall) bool { return results[c.ID] })
		default:
		}
	}
	return nil
}
