package agent

import (
	"path/filepath"
	"strings"
)

// verdict is what the approval policy says of an effect.
type verdict int

const (
	allow verdict = iota
	ask
	deny
)

// judge decides on one effect under a mode (the table is in docs/security.md); outside says that it reaches outside the
// roots. The reason is for the model and set with deny only.
func judge(mode Mode, e *Effect, outside bool) (v verdict, reason string) {
	if mode == ModePlan && e.Action != ActionRead {
		return deny, "plan mode changes nothing: describe the step in your plan instead, or ask the user to leave plan mode"
	}
	if outside {
		return ask, ""
	}
	switch e.Action {
	case ActionRead, ActionResume:
		return allow, ""
	case ActionEdit:
		if mode == ModeStrict {
			return ask, ""
		}
		return allow, ""
	default:
		if mode == ModeAuto {
			return allow, ""
		}
		return ask, ""
	}
}

// outside reports whether path, which is real behind all symbolic links, lies outside the roots by its name or for real.
// The empty path is nowhere, and so not outside.
func outside(ws, realRoots *Workspace, path, real string) bool {
	return path != "" && !(ws.Contains(path) && realRoots.Contains(real))
}

// real returns the roots behind all symbolic links.
func (w *Workspace) real(files FS) *Workspace {
	real := &Workspace{Cwd: files.RealPath(w.Cwd)}
	for _, root := range w.Additional {
		real.Additional = append(real.Additional, files.RealPath(root))
	}
	return real
}

// Contains reports whether path lies in one of the roots. It is lexical and knows nothing of symbolic links.
func (w *Workspace) Contains(path string) bool {
	if within(w.Cwd, path) {
		return true
	}
	for _, root := range w.Additional {
		if within(root, path) {
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
	if rel, err := filepath.Rel(w.Cwd, path); err == nil && within(w.Cwd, path) {
		return rel
	}
	return path
}

func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
