// Package commands loads the slash commands and skills that users define in files, and expands them to prompts.
//
// A command is a text file. A file in a subdirectory is named "dir:name". A skill is a directory with a SKILL.md; its command is
// "skill:name". [userfiles.Sources] lists the places: gjc's own come first, the workspace's before the user's, then those of other programs.
// The first workspace root takes precedence over the others; the directories above a root follow it, up to the top of its repository,
// nearest first.
//
// Both may start with front matter: lines "key: value" between two lines "---". A command may have "description", "argument-hint" and
// "arguments", a skill also "name", "allowed-tools" and others.
//
// In a command's text "$ARGUMENTS" stands for the text after the command's name, "$@" for its words separated by single spaces, "$1" to
// "$9" for single words, and $name for a declared argument. If the text has "$0", that is the first word. Other programs' files keep their
// own marks: {{args}}, ${input:name}. The arguments are appended to a text that has none of these. "@path" attaches a file and "!`command`"
// is replaced by a command's output. This package reads no such file and runs no command; [Set.Expand] returns them.
package commands

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent/userfiles"
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
	found  []userfiles.File

	plugins     userfiles.Plugins
	pluginStamp string
}

// entry is one command or skill.
type entry struct {
	Command
	// file is the name below the root of its location, path the absolute path.
	file, path string
	skill      bool
	// own is set for the user's own files and those of plugins. plugin is the name of the plugin; empty for none. size is the size of the file.
	own    bool
	plugin string
	size   int
	// ignored are fields of another program without an effect.
	ignored []string
	// tools are the allowed tools of a skill. A secret skill is not offered to models, an unlisted one not to the user.
	tools            []string
	secret, unlisted bool
	// root is the directory that the symbolic links of a skill's files must not leave; empty for the user's own skills, whose links
	// may lead anywhere.
	root string
	// template is the file without front matter and surrounding white space.
	template
}

// Commands returns the commands by name, followed by those of the skills.
func (s *Set) Commands() []Command {
	var list []Command
	for _, e := range s.sorted() {
		if !e.unlisted {
			list = append(list, e.Command)
		}
	}
	return list
}

// Found lists the files that [Load] found, for a listing.
func (s *Set) Found() []userfiles.File { return s.found }

// Skills returns the skills by name.
func (s *Set) Skills() []Skill {
	var list []Skill
	for _, e := range s.sorted() {
		if e.skill && !e.secret {
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

// Prompt is the prompt of a command.
type Prompt struct {
	Pieces []Piece

	entry *entry
}

// Text returns the prompt with the text that stands for files and commands.
func (p *Prompt) Text() string {
	var b strings.Builder
	for i := range p.Pieces {
		b.WriteString(p.Pieces[i].Text)
	}
	return strings.TrimSpace(b.String())
}

// Expand returns the prompt of a command with the given arguments. It returns nil for an unknown command.
func (s *Set) Expand(name, args string) *Prompt {
	e := s.byName[name]
	if e == nil {
		return nil
	}
	p := &Prompt{entry: e}
	args = strings.TrimSpace(args)
	if e.skill {
		p.Pieces = e.skillPrompt(args)
	} else {
		p.Pieces = e.expand(args)
	}
	return p
}

// skillPrompt returns the prompt of a skill.
func (e *entry) skillPrompt(args string) []Piece {
	pieces := e.expand("")
	if args != "" {
		used := e.expand(args)
		if n := len(used); used[n-1].Text != "\n\n"+args {
			pieces = used
		}
	}
	about := "\n\n---\n\nSkill: " + e.path
	if len(e.tools) > 0 {
		about += "\nTools that the skill expects: " + strings.Join(e.tools, ", ")
	}
	if args != "" {
		about += "\nUser: " + args
	}
	return append(pieces, Piece{Text: about})
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
func (s *Set) Stale(ctx context.Context) bool {
	return s.pluginStamp != userfiles.StampOf(ctx, s.plugins) || configfile.Stale(ctx, s.stamps)
}
