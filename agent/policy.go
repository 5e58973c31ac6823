package agent

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/agent/policy"
)

// Policy is what a user has said beforehand of what may be done. The zero value says nothing.
type Policy struct {
	Rules policy.Rules
	// Home is the user's directory, Own are those with gjc's own state.
	Home string
	Own  []string
	// Broken is why the rules could not be read: everything that has an effect asks then.
	Broken error
}

// verdict is what the approval policy says of an effect.
type verdict int

const (
	allow verdict = iota
	ask
	deny
)

// facts are what is known of one effect on one path, or of one command.
type facts struct {
	// outside says that it reaches outside the roots.
	outside bool
	// special is why it asks whatever the mode is, for people.
	special []string
	rule    policy.Verdict
	// by is the text of the rule.
	by string
}

// judge decides on one effect under a mode (the table is in docs/security.md). The reason is for the model and set with deny
// only. Answers that were given before are the caller's to look at.
func judge(mode Mode, e *Effect, f *facts) (v verdict, reason string) {
	if mode == ModePlan && e.Action != ActionRead {
		return deny, "plan mode changes nothing: describe the step in your plan instead, or ask the user to leave plan mode"
	}
	if f.rule == policy.Deny {
		return deny, fmt.Sprintf("a rule of the user's forbids it (permissions.deny: %s); do it another way, or ask the user", f.by)
	}
	v = judgeMode(mode, e, f)
	switch f.rule {
	case policy.Ask:
		v = ask
	case policy.Allow:
		v = allow
	default:
	}
	return v, ""
}

// judgeMode is what a mode says of an effect that no rule is about.
func judgeMode(mode Mode, e *Effect, f *facts) verdict {
	if f.outside || len(f.special) > 0 {
		return ask
	}
	switch e.Action {
	case ActionRead, ActionResume:
		return allow
	case ActionEdit:
		if mode == ModeStrict {
			return ask
		}
		return allow
	default:
		if mode == ModeAuto {
			return allow
		}
		return ask
	}
}

// actionNames are the actions in rules.
var actionNames = map[Action]string{
	ActionRead: "read", ActionEdit: "edit", ActionDelete: "delete", ActionMove: "move", ActionCommand: "bash",
	ActionNetwork: "network", ActionMCP: "mcp", ActionDebug: "debug", ActionResume: "debug",
}

// mcpPrefix begins the names of tools of MCP servers.
const mcpPrefix = "mcp__"

// paths is what the paths of the session's steps are judged against.
func (s *Session) paths() *policy.Paths {
	o := &s.opts
	return &policy.Paths{
		Roots: append([]string{o.Workspace.Cwd}, o.Workspace.Additional...), RealRoots: o.Workspace.Real, Home: o.Policy.Home, Own: o.Policy.Own, Real: o.FS.RealPath,
	}
}

// look finds out what there is to know of one effect on one path.
func (s *Session) look(tool string, e *Effect, sc *scope, paths *policy.Paths) facts {
	f := facts{outside: sc.outside}
	step := policy.Step{Tool: tool, Action: actionNames[e.Action], Host: e.Host}
	switch {
	case e.Action == ActionRead && e.Path == "":
		if step.Action = ""; strings.HasPrefix(tool, mcpPrefix) {
			step.Action = "mcp" // its server says that it only reads
		}
	case e.Action == ActionCommand:
		step.Line = e.Command
		if s.opts.OS != "windows" {
			step.Command = sc.command
			f.special = sc.command.Risks
		}
	case e.Path != "":
		step.Path, step.Real = e.Path, sc.path
		switch {
		case e.Action == ActionRead && paths.Secret(e.Path):
			f.special = []string{secretByName}
		case e.Action == ActionEdit || e.Action == ActionDelete || e.Action == ActionMove:
			if why := paths.Protected(e.Path); why != "" {
				f.special = []string{"it always asks: " + why}
			}
			if paths.Secret(e.Path) { // what fails tells what is there
				f.special = append(f.special, secretByName)
			}
		}
	}
	if s.opts.Policy.Broken != nil && e.Action != ActionResume {
		f.special = append(f.special[:len(f.special):len(f.special)], "the rules of the configuration could not be read")
	}
	step.Special, step.Outside = len(f.special) > 0, f.outside
	f.rule, f.by = s.opts.Policy.Rules.Judge(&step, paths)
	if e.Action == ActionEdit && e.Path != "" {
		// An edit shows the model what is in the file: a rule against reading holds for it too.
		step.Tool, step.Action = "read", actionNames[ActionRead]
		if rule, by := s.opts.Policy.Rules.Judge(&step, paths); rule > policy.Allow && rule > f.rule {
			f.rule, f.by = rule, by
		}
	}
	return f
}

// secretByName says why a step on a file asks.
const secretByName = "the file holds secrets by its name"

// readable is [Call.Readable].
func (s *Session) readable(path string) bool {
	paths := s.paths()
	f := s.look("read", &Effect{Action: ActionRead, Path: path}, &scope{path: s.opts.FS.RealPath(path)}, paths)
	return len(f.special) == 0 && f.rule <= policy.Allow
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
