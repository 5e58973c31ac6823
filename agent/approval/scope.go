package approval

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/approval/shell"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/places"
)

// Scope describes the reach of an "always" answer to an effect: the commands of a line, a directory, what is debugged, or a tool.
type Scope struct {
	action   Action
	commands []commandScope
	// line holds what is known of a command line.
	line *shell.Line
	// Special says that the effect asks whatever the mode is. An answer covers this one file, or this exact line.
	Special bool
	// subject and covers are the effect's, for [ActionDebug]; subject also for tools.
	subject, covers string
	// Path is the path of the effect with all symbolic links resolved: a link must not lead a grant to another place. dir is the
	// directory that it is in, or path itself if that is one. Both are empty for what is not about a file. Of a command dir is
	// where it runs.
	Path, dir string
	// member is the effect's, of an archive at Path.
	member string
	// Given is the effect's path as it stands there.
	Given string
	// Outside says that path is not in the roots.
	Outside bool
	tool    string
	// host is where a step on the network goes.
	host string
	// Name describes it to the user.
	Name string
}

// scopeOf returns the scope of one effect of a tool. Lines for the shell of the operating system called "windows" are
// not taken apart: it does not read them as POSIX shells do. inside says that commands run inside the boundary.
func scopeOf(ctx context.Context, tool string, e *Effect, files Files, system string, paths *places.Paths, inside bool) Scope {
	s := Scope{action: e.Action, tool: tool, host: strings.TrimSuffix(strings.ToLower(e.Host), "."), subject: e.Subject, covers: e.Covers, member: e.Member}
	switch {
	case e.Action == ActionCommand:
		dir := cmp.Or(e.Dir, paths.Roots[0])
		s.dir = files.RealPath(dir)
		if system != "windows" {
			s.line = shell.Read(e.Command, dir, paths)
		}
		s.commands = commandScopes(e.Command, s.line, inside, func(name string) string { return boundary.RemoteAddress(s.dir, paths, name) })
	case e.Path != "":
		s.Path = files.RealPath(e.Path)
		s.dir = filepath.Dir(s.Path)
		if info, err := files.Stat(ctx, s.Path); err == nil && info.IsDir() {
			s.dir = s.Path
		}
	}
	return s
}

// maxNamed bounds the directories that the option of an "always" answer names.
const maxNamed = 5

// LabelAll describes all scopes of one question; display shortens a real path.
func LabelAll(scopes []*Scope, display func(path string) string) string {
	if len(scopes) == 1 {
		return scopes[0].Name
	}
	var dirs []string
	for _, s := range scopes {
		if dir := display(s.dir); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	label := actionVerb(scopes[0].action) + " in " + strings.Join(dirs[:min(len(dirs), maxNamed)], ", ")
	if more := len(dirs) - maxNamed; more > 0 {
		label += fmt.Sprintf(" and %d more directories of these files", more)
	}
	return label
}

// label describes the scope, for the option of an "always" answer; display shortens a real path.
func (s *Scope) label(display func(path string) string) string {
	switch {
	case s.action == ActionCommand:
		var names []string
		for _, c := range s.commands {
			if c.whole {
				return "this exact command here"
			}
			names = append(names, c.text)
		}
		return strings.Join(names, ", ") + " commands here"
	case s.action == ActionDebug && s.covers != "":
		return s.covers
	case s.action == ActionDebug:
		return "this exact step"
	case s.Special && s.Path != "" && s.member != "":
		return fmt.Sprintf("%s %s:%s", actionVerb(s.action), display(s.Path), s.member)
	case s.Special && s.Path != "":
		return fmt.Sprintf("%s %s", actionVerb(s.action), display(s.Path))
	case s.host != "":
		return "fetching from " + s.host
	case s.dir != "":
		return fmt.Sprintf("%s in %s", actionVerb(s.action), display(s.dir))
	default:
		return s.tool
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
