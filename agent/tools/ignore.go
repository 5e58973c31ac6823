package tools

import (
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreFiles are the files whose patterns keep files out of a walk; a later one wins over an earlier.
var ignoreFiles = [...]string{".gitignore", ".ignore", ".rgignore"}

// maxIgnoreFile bounds an ignore file in bytes; a larger one is no ignore file.
const maxIgnoreFile = 1 << 20

// ignoreRules are the patterns of one directory's ignore files. A parent's count where a directory's own say nothing.
type ignoreRules struct {
	parent *ignoreRules
	// prefix is the directory with a slash behind it, in slash form.
	prefix string
	rules  []ignoreRule
}

type ignoreRule struct {
	glob string
	// negate lets in again what an earlier pattern kept out.
	negate  bool
	dirOnly bool
	// nameOnly patterns are for names in any directory, the others for the path from their own directory.
	nameOnly bool
	// literal patterns hold no wildcard.
	literal bool
}

// match reports whether the entry at path (in slash form) is kept out.
func (r *ignoreRules) match(path string, dir bool) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for ; r != nil; r = r.parent {
		rel, ok := strings.CutPrefix(path, r.prefix)
		if !ok {
			continue
		}
		for i := len(r.rules) - 1; i >= 0; i-- {
			if rule := &r.rules[i]; (dir || !rule.dirOnly) && rule.match(rel, name) {
				return !rule.negate
			}
		}
	}
	return false
}

func (r *ignoreRule) match(rel, name string) bool {
	subject := rel
	if r.nameOnly {
		subject = name
	}
	if r.literal {
		return subject == r.glob
	}
	return doublestar.MatchUnvalidated(r.glob, subject)
}

// parseIgnore reads the patterns of an ignore file. A pattern that git would not understand matches nothing.
func parseIgnore(text string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.SplitSeq(strings.TrimPrefix(text, utf8BOM), "\n") {
		if rule, ok := parseIgnoreLine(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, rule)
		}
	}
	return rules
}

func parseIgnoreLine(line string) (rule ignoreRule, ok bool) {
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
	rule.nameOnly = !anchored
	rule.literal = !strings.ContainsAny(line, `*?[\`)
	rule.glob = line
	if rule.literal {
		return rule, true
	}
	// Braces mean themselves in ignore files.
	rule.glob = strings.NewReplacer("{", `\{`, "}", `\}`, `\{`, `\{`, `\}`, `\}`, `\\`, `\\`).Replace(line)
	for strings.Contains(rule.glob, "***") {
		rule.glob = strings.ReplaceAll(rule.glob, "***", "**")
	}
	if strings.HasSuffix(rule.glob, "/**") {
		rule.glob += "/*" // all that is inside, but not the directory itself
	}
	return rule, doublestar.ValidatePattern(rule.glob)
}

// trimBlanks cuts trailing spaces that no backslash protects.
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

// gitRoot returns the nearest directory from dir upward that holds a .git, or "".
func gitRoot(dir string) string {
	for {
		if (disk{}).exists(filepath.Join(dir, ".git")) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// rulesAbove returns the rules that hold in dir from above: those of the git repository around it. Without a
// repository there are none, so that a stray ignore file far up does not empty a search.
func rulesAbove(dir string) *ignoreRules {
	root := gitRoot(dir)
	if root == "" || root == dir {
		return nil
	}
	rules := rulesFrom(root, ignoreFiles[:], repositoryRules(root))
	rel, err := filepath.Rel(root, filepath.Dir(dir))
	if err != nil || rel == "." {
		return rules
	}
	at := root
	for element := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, element)
		rules = rulesFrom(at, ignoreFiles[:], rules)
	}
	return rules
}

// repositoryRules returns the rules that a repository keeps for itself.
func repositoryRules(root string) *ignoreRules {
	return rulesFrom(root, []string{filepath.Join(".git", "info", "exclude")}, nil)
}

// rulesFrom returns the rules of the ignore files called names in dir, on top of parent.
func rulesFrom(dir string, names []string, parent *ignoreRules) *ignoreRules {
	var rules []ignoreRule
	for _, name := range names {
		data, err := disk{}.readFile(filepath.Join(dir, name), maxIgnoreFile)
		if err == nil { // an ignore file that cannot be read ignores nothing
			rules = append(rules, parseIgnore(string(data))...)
		}
	}
	if len(rules) == 0 {
		return parent
	}
	return &ignoreRules{parent: parent, prefix: slashPrefix(dir), rules: rules}
}

func slashPrefix(dir string) string {
	return strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/"
}
