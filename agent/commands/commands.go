// Package commands loads the slash commands and skills that users define in files, and expands them to prompts.
//
// A command is a Markdown file: <agent dir>/commands/NAME.md for all workspaces, <root>/.gjc/commands/NAME.md for one.
// A file in a subdirectory is named "dir:name". A skill is a directory with a SKILL.md, below "skills" in the same
// places; its command is "skill:name". The workspace's definitions win over the user's, and the first workspace root
// over the others. The directories above a root follow it, up to the top of its repository, nearest first. Files of
// other agents (.claude, .agents, .codex) come after gjc's own.
//
// Both may start with front matter: lines "key: value" between two lines "---". A command may have "description" and
// "argument-hint", a skill "name" and "description".
//
// In a command's text "$ARGUMENTS" stands for the text after the command's name, "$@" for its words separated by single
// spaces, "$1" to "$9" for single words. The arguments are appended to a text that has none of these. Nothing in a file
// is run: a line that starts with "!" is ordinary text.
package commands

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/configfile"
)

// Command describes a command for an editor.
type Command struct {
	// Name has neither a slash nor a space.
	Name        string
	Description string
	// Hint describes the arguments.
	Hint string
}

// Skill describes a skill for a model.
type Skill struct {
	// Name lacks the prefix "skill:".
	Name        string
	Description string
	// Path is the absolute path of its SKILL.md.
	Path string
}

// SkillPrefix is the prefix of a skill's command.
const SkillPrefix = "skill:"

// Set holds the commands and skills of one workspace, as returned by [Load]. It is immutable.
type Set struct {
	byName map[string]*entry
	stamps []configfile.Stamp
}

// entry is one command or skill.
type entry struct {
	Command
	// file is the name below the root of its location, path the absolute path.
	file, path string
	skill      bool
	// root is the directory that the symbolic links of a skill's files must not leave; empty for the user's own skills, whose links
	// may lead anywhere.
	root string
	// body is the file without front matter and surrounding white space.
	body string
}

// Commands returns the commands by name, followed by those of the skills.
func (s *Set) Commands() []Command {
	var list []Command
	for _, e := range s.sorted() {
		list = append(list, e.Command)
	}
	return list
}

// Skills returns the skills by name.
func (s *Set) Skills() []Skill {
	var list []Skill
	for _, e := range s.sorted() {
		if e.skill {
			list = append(list, Skill{Name: strings.TrimPrefix(e.Name, SkillPrefix), Description: e.Description, Path: e.path})
		}
	}
	return list
}

func (s *Set) sorted() []*entry {
	list := make([]*entry, 0, len(s.byName))
	for _, e := range s.byName {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *entry) int {
		if a.skill != b.skill {
			if b.skill {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// Expand returns the prompt of a command with the given arguments. It reports false for an unknown command.
func (s *Set) Expand(name, args string) (text string, ok bool) {
	e := s.byName[name]
	if e == nil {
		return "", false
	}
	args = strings.TrimSpace(args)
	if e.skill {
		return skillText(e, args), true
	}
	return expand(e.body, args), true
}

// Parse splits a prompt "/name arguments". The command must start at the beginning of the text, and its name ends at the first
// white space. Parse reports false for anything that is not a valid name, such as a path.
func Parse(text string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	name = rest
	if i := strings.IndexFunc(rest, unicode.IsSpace); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i:])
	}
	if !validName(name) {
		return "", "", false
	}
	return name, args, true
}

// maxName is the maximum length of a name, in bytes.
const maxName = 100

func validName(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return r == '/' || r == '\\' || unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
}

// Stale reports whether [Load] would now return a different result. It reads no file: it compares the modification times and sizes
// of the files and directories that were read. It reports false if ctx ends.
func (s *Set) Stale(ctx context.Context) bool { return configfile.Stale(ctx, s.stamps) }
