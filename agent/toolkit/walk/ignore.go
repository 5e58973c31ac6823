package walk

import (
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreFiles are the names of the files with ignore patterns. A later one overrides an earlier one.
var ignoreFiles = [...]string{".gitignore", ".ignore", ".rgignore"}

// maxIgnoreFile bounds an ignore file in bytes. A larger one has no effect.
const maxIgnoreFile = 1 << 20

// IgnoreRules are the patterns of one directory's ignore files. Those of the parent apply if none of them matches.
type IgnoreRules struct {
	parent *IgnoreRules
	// prefix is the directory in slash form, with a slash at its end.
	prefix string
	Rules  []IgnoreRule
}

// IgnoreRule is one pattern of an ignore file.
type IgnoreRule struct {
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

// match reports whether the entry called name is ignored. dir is its directory, in slash form with a slash at its end.
func (r *IgnoreRules) match(dir, name string, isDir bool) bool {
	for ; r != nil; r = r.parent {
		above, ok := strings.CutPrefix(dir, r.prefix)
		if !ok {
			continue
		}
		for i := len(r.Rules) - 1; i >= 0; i-- {
			if rule := &r.Rules[i]; (isDir || !rule.dirOnly) && rule.match(above, name) {
				return !rule.negate
			}
		}
	}
	return false
}

func (r *IgnoreRule) match(above, name string) bool {
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
func parseIgnore(text string) []IgnoreRule {
	var rules []IgnoreRule
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		if rule, ok := parseIgnoreLine(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, rule)
		}
	}
	return rules
}

func parseIgnoreLine(line string) (rule IgnoreRule, ok bool) {
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

// GitRoot returns the nearest directory from dir upward that contains a .git, or "".
func GitRoot(dir string) string {
	for {
		if Exists(filepath.Join(dir, ".git")) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// RulesAt returns the rules with which a walk of dir begins: those of the enclosing git repository. Without a repository there are
// none, so that an ignore file far above does not empty a search.
func (w *Walker) RulesAt(dir string) *IgnoreRules {
	if !w.Ignore {
		return nil
	}
	root := GitRoot(dir)
	if root == "" {
		w.GlobalIgnore = "" // like ripgrep without a repository
		return nil
	}
	if root == dir {
		return nil // DirRules returns them
	}
	return rulesAbove(root, dir, w.GlobalIgnore)
}

// rulesAbove returns the rules that apply in dir from its parent directories, up to its repository at root.
func rulesAbove(root, dir, globalIgnore string) *IgnoreRules {
	rules := RulesFrom(root, ignoreFiles[:], repositoryRules(root, globalIgnore))
	rel, err := filepath.Rel(root, filepath.Dir(dir))
	if err != nil || rel == "." {
		return rules
	}
	at := root
	for element := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, element)
		rules = RulesFrom(at, ignoreFiles[:], rules)
	}
	return rules
}

// repositoryRules returns the rules that apply to a whole repository: the user's global ones, and those in .git.
func repositoryRules(root, globalIgnore string) *IgnoreRules {
	var global *IgnoreRules
	if globalIgnore != "" {
		global = RulesFrom(root, []string{globalIgnore}, nil)
	}
	return RulesFrom(root, []string{filepath.Join(".git", "info", "exclude")}, global)
}

// RulesFrom returns the rules of the ignore files called names in dir, on top of parent. An absolute name is a file elsewhere whose
// patterns apply to dir.
func RulesFrom(dir string, names []string, parent *IgnoreRules) *IgnoreRules {
	var rules []IgnoreRule
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		data, err := ReadFile(name, maxIgnoreFile)
		if err == nil { // an ignore file that cannot be read has no effect
			rules = append(rules, parseIgnore(string(data))...)
		}
	}
	if len(rules) == 0 {
		return parent
	}
	return &IgnoreRules{parent: parent, prefix: SlashPrefix(dir), Rules: rules}
}

// SlashPrefix returns dir in slash form with one slash at its end.
func SlashPrefix(dir string) string {
	return strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/"
}
