// Package commands finds the slash commands and skills that users write as files, and expands them into prompts.
//
// A command is a Markdown file: <agent dir>/commands/NAME.md for all workspaces, <root>/.gjc/commands/NAME.md for one.
// A file in a directory below is called "dir:name". A skill is a directory with a SKILL.md in it, below "skills" in the
// same places; its command is "skill:name". What belongs to a workspace wins over what belongs to the user, and the
// first workspace root over the others. The directories above a root count as it does, up to the top of its repository, the
// nearest first. Files of other agents (.claude, .agents, .codex) count after gjc's own.
//
// Both may begin with front matter: lines "key: value" between two lines "---". Of a command "description" and
// "argument-hint" count, of a skill "name" and "description".
//
// In a command's text "$ARGUMENTS" stands for what was typed behind the name, "$@" for its words with one space
// between, "$1" to "$9" for single words. A text with none of them gets the arguments behind it. Nothing in a file is
// ever run: a line that begins with "!" is text as any other.
//
// Files of a workspace come from whoever wrote the workspace. So a symbolic link there that leads out of its root is
// not followed: its target would go to a model.
package commands

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/configfile"
)

// Command is what an editor is told of a command.
type Command struct {
	// Name has no slash; it holds no space either.
	Name        string
	Description string
	// Hint says what may stand behind the name.
	Hint string
}

// Skill is a skill, for those who list them to a model.
type Skill struct {
	// Name is without "skill:".
	Name        string
	Description string
	// Path is the absolute path of its SKILL.md.
	Path string
}

// A Problem is a file that was left out, or a part of one that was not understood.
type Problem struct {
	Path string
	// Line is 1-based; zero for the file as a whole.
	Line   int
	Reason string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Reason
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Reason)
}

// SkillPrefix begins the name of a skill's command.
const SkillPrefix = "skill:"

// Set is the commands and skills of one workspace, as [Load] found them. It does not change.
type Set struct {
	byName map[string]*entry
	stamps []configfile.Stamp
}

// entry is one command or skill.
type entry struct {
	Command
	path  string
	skill bool
	// root is what symbolic links of a skill's files must not lead out of; empty for the user's own, where they may lead anywhere.
	root string
	// body is the file without front matter and without space around it.
	body string
}

// Commands returns the commands by name, then those of the skills.
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

// Expand returns the prompt that the command called name stands for with these arguments. It reports false where
// there is no such command.
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

// Parse takes a prompt "/name arguments" apart. A command stands at the very start of the text, and its name ends at
// the first white space. What can be no name, such as a path, is no command.
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

// maxName is how long a name may be, in bytes.
const maxName = 100

func validName(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return r == '/' || r == '\\' || unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
}
