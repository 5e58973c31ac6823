package agent

import (
	"fmt"
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
	case ActionRead:
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

// outside reports whether an effect reaches outside the roots, by its path or through a symbolic link on it.
func outside(ws *Workspace, e *Effect, realPath func(string) string) bool {
	if e.Path == "" {
		return false
	}
	if !ws.Contains(e.Path) {
		return true
	}
	real := Workspace{Cwd: realPath(ws.Cwd)}
	for _, root := range ws.Additional {
		real.Additional = append(real.Additional, realPath(root))
	}
	return !real.Contains(realPath(e.Path))
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

// grants are the answers that a user gave with "always", for one session.
type grants struct {
	commands []commandGrant
	places   []placeGrant
	tools    map[string]bool // tool name → allowed
}

type commandGrant struct {
	commandScope
	allowed bool
}

type placeGrant struct {
	action  Action
	dir     string
	allowed bool
}

// lookup returns the remembered answer for e, if there is one.
func (g *grants) lookup(tool string, e *Effect) (allowed, known bool) {
	switch {
	case e.Action == ActionCommand:
		return g.lookupCommand(e.Command)
	case e.Path != "":
		for i := len(g.places) - 1; i >= 0; i-- {
			if p := g.places[i]; p.action == e.Action && within(p.dir, e.Path) {
				return p.allowed, true
			}
		}
	default:
		allowed, known = g.tools[tool]
	}
	return allowed, known
}

// lookupCommand allows a line when every command in it is allowed, and denies it when any is denied.
func (g *grants) lookupCommand(line string) (allowed, known bool) {
	scopes := commandScopes(line)
	left := len(scopes)
	for _, want := range scopes {
		for i := len(g.commands) - 1; i >= 0; i-- {
			have := g.commands[i]
			if have.commandScope != want {
				continue
			}
			if !have.allowed {
				return false, true
			}
			left--
			break
		}
	}
	return true, left == 0 && len(scopes) > 0
}

// remember keeps an "always" answer for effects like e.
func (g *grants) remember(tool string, e *Effect, allowed bool) {
	switch {
	case e.Action == ActionCommand:
		for _, s := range commandScopes(e.Command) {
			g.commands = append(g.commands, commandGrant{s, allowed})
		}
	case e.Path != "":
		g.places = append(g.places, placeGrant{e.Action, placeOf(e), allowed})
	default:
		if g.tools == nil {
			g.tools = make(map[string]bool)
		}
		g.tools[tool] = allowed
	}
}

func placeOf(e *Effect) string { return filepath.Dir(e.Path) }

// scopeLabel says what an "always" answer to e covers, for the option's label.
func scopeLabel(tool string, ws *Workspace, e *Effect) string {
	switch {
	case e.Action == ActionCommand:
		var names []string
		for _, s := range commandScopes(e.Command) {
			if s.whole {
				return "this exact command"
			}
			names = append(names, s.text)
		}
		return strings.Join(names, ", ") + " commands"
	case e.Path != "":
		return fmt.Sprintf("%s in %s", actionVerb(e.Action), ws.Display(placeOf(e)))
	default:
		return tool
	}
}

func actionVerb(a Action) string {
	switch a {
	case ActionRead:
		return "reading"
	case ActionEdit:
		return "edits"
	case ActionDelete:
		return "deleting"
	case ActionMove:
		return "moving"
	default:
		return "this"
	}
}
