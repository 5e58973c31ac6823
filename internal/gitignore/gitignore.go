// Package gitignore reads ignore files and matches paths as git does.
package gitignore

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// File is the name of git's files with ignore patterns.
const File = ".gitignore"

// maxFile bounds an ignore file in bytes. A larger one has no effect.
const maxFile = 1 << 20

// Rules are the patterns of one directory's ignore files. Those of the parent apply if none of them matches.
type Rules struct {
	parent *Rules
	// prefix is the directory in slash form, with a slash at its end.
	prefix string
	List   []Rule
}

// Rule is one pattern of an ignore file.
type Rule struct {
	glob string
	// negate re-includes what an earlier pattern ignores.
	negate  bool
	dirOnly bool
	// NameOnly patterns match names in any directory, the others match the path relative to their own directory.
	NameOnly bool
	// shape selects how glob is matched. All shapes except generalShape only compare text.
	shape globShape
	text  string
}

// Match reports whether the entry called name is ignored. r may be nil. dir is its directory, in slash form with a slash at its end.
func (r *Rules) Match(dir, name string, isDir bool) bool {
	for ; r != nil; r = r.parent {
		above, ok := strings.CutPrefix(dir, r.prefix)
		if !ok {
			continue
		}
		for i := len(r.List) - 1; i >= 0; i-- {
			if rule := &r.List[i]; (isDir || !rule.dirOnly) && rule.match(above, name) {
				return !rule.negate
			}
		}
	}
	return false
}

func (r *Rule) match(above, name string) bool {
	subject := name
	if !r.NameOnly && above != "" {
		if r.shape == literalShape && len(r.text) != len(above)+len(name) {
			return false
		}
		subject = above + name
	}
	return r.shape.match(r.text, r.glob, subject)
}

// parseIgnore parses the patterns of an ignore file. A pattern that git considers invalid matches nothing.
func parseIgnore(text string) []Rule {
	var rules []Rule
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		if rule, ok := parseIgnoreLine(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, rule)
		}
	}
	return rules
}

func parseIgnoreLine(line string) (rule Rule, ok bool) {
	if strings.HasPrefix(line, "#") {
		return rule, false
	}
	line = trimBlanks(line)
	line, rule.negate = strings.CutPrefix(line, "!")
	line, rule.dirOnly = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return rule, false
	}
	rule.NameOnly = !anchored
	rule.glob = line
	if rule.shape, rule.text = shapeOf(line, rule.NameOnly); rule.shape != generalShape {
		return rule, true
	}
	// Braces are literal in ignore files.
	rule.glob = strings.NewReplacer("{", `\{`, "}", `\}`, `\{`, `\{`, `\}`, `\}`, `\\`, `\\`).Replace(escapeFirst(line))
	for strings.Contains(rule.glob, "***") {
		rule.glob = strings.ReplaceAll(rule.glob, "***", "**")
	}
	if strings.HasSuffix(rule.glob, "/**") {
		rule.glob += "/*" // everything inside, but not the directory itself
	}
	return rule, doublestar.ValidatePattern(rule.glob)
}

// escapeFirst escapes a ] that comes first in a class: git treats it as a member of the class, doublestar as the end of the class.
func escapeFirst(glob string) string {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(glob); i++ {
		b.WriteByte(glob[i])
		switch {
		case glob[i] == '\\' && i+1 < len(glob):
			i++
			b.WriteByte(glob[i])
		case inClass:
			inClass = glob[i] != ']'
		case glob[i] == '[':
			inClass = true
			if i+1 < len(glob) && (glob[i+1] == '!' || glob[i+1] == '^') {
				i++
				b.WriteByte(glob[i])
			}
			if i+1 < len(glob) && glob[i+1] == ']' {
				i++
				b.WriteString(`\]`)
			}
		}
	}
	return b.String()
}

// globShape is a kind of glob that is matched without doublestar.
type globShape uint8

const (
	generalShape globShape = iota
	literalShape
	// suffixShape is "*" followed by text, prefixShape is text followed by "*".
	suffixShape
	prefixShape
)

// shapeOf returns the shape of a glob and its literal text. name reports that the glob matches names, which contain no slash.
func shapeOf(glob string, name bool) (shape globShape, text string) {
	const wild = `*?[\{`
	switch {
	case !strings.ContainsAny(glob, `*?[\`):
		return literalShape, glob
	case name && strings.HasPrefix(glob, "*") && !strings.ContainsAny(glob[1:], wild):
		return suffixShape, glob[1:]
	case name && strings.HasSuffix(glob, "*") && !strings.ContainsAny(glob[:len(glob)-1], wild):
		return prefixShape, glob[:len(glob)-1]
	default:
		return generalShape, ""
	}
}

// NameMatcher returns a function that matches names with a glob by comparing text only; nil if this glob needs more.
func NameMatcher(glob string) func(name string) bool {
	shape, text := shapeOf(glob, true)
	if shape == generalShape {
		return nil
	}
	return func(name string) bool { return shape.match(text, glob, name) }
}

func (s globShape) match(text, glob, subject string) bool {
	switch s {
	case literalShape:
		return subject == text
	case suffixShape:
		return strings.HasSuffix(subject, text)
	case prefixShape:
		return strings.HasPrefix(subject, text)
	default:
		return doublestar.MatchUnvalidated(glob, subject)
	}
}

// trimBlanks removes trailing spaces that are not escaped by a backslash.
func trimBlanks(line string) string {
	for strings.HasSuffix(line, " ") {
		cut := line[:len(line)-1]
		if slashes := len(cut) - len(strings.TrimRight(cut, `\`)); slashes%2 == 1 {
			break
		}
		line = cut
	}
	return line
}

// Root returns the nearest directory from dir upward that contains a .git, or "".
func Root(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// Above returns the rules that apply in dir from its parent directories, up to its repository at root. names are the names of files with
// patterns, of which a later one overrides an earlier one.
func Above(root, dir, global string, names []string) *Rules {
	rules := From(root, names, Repository(root, global))
	rel, err := filepath.Rel(root, filepath.Dir(dir))
	if err != nil || rel == "." {
		return rules
	}
	at := root
	for element := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, element)
		rules = From(at, names, rules)
	}
	return rules
}

// Repository returns the rules that apply to a whole repository: those of the file called global, unless that is empty, and those in .git.
func Repository(root, global string) *Rules {
	var all *Rules
	if global != "" {
		all = From(root, []string{global}, nil)
	}
	return From(root, []string{filepath.Join(".git", "info", "exclude")}, all)
}

// From returns the rules of the ignore files called names in dir, on top of parent. An absolute name is a file elsewhere whose
// patterns apply to dir.
func From(dir string, names []string, parent *Rules) *Rules {
	var rules []Rule
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		data, err := read(name)
		if err == nil { // an ignore file that cannot be read has no effect
			rules = append(rules, parseIgnore(string(data))...)
		}
	}
	if len(rules) == 0 {
		return parent
	}
	return &Rules{parent: parent, prefix: SlashPrefix(dir), List: rules}
}

// SlashPrefix returns dir in slash form with one slash at its end.
func SlashPrefix(dir string) string {
	return strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/"
}

// read returns the content of an ignore file; nothing for one that is too large or no regular file.
func read(name string) (_ []byte, err error) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	return io.ReadAll(io.LimitReader(f, maxFile))
}
