package approval

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gajae-code/gjc/agent/approval/shell"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/places"
)

// Verdict is the decision of a rule on a step.
type Verdict int

// The verdicts. Of several rules the strictest counts.
const (
	Unruled Verdict = iota
	Allow
	Ask
	Deny
)

// Rule is one of the user's: "bash", "bash(git push *)", "read(~/notes/**)", "edit(docs/**)", "web_fetch(*.example.com)",
// "mcp__issues_*". The word before the parentheses is a tool's name, with "*" for any part of it, or an action: read, edit,
// delete, move, network, mcp, debug. In the parentheses stands what it is about: of a command its beginning, word by word, of a
// file its path, of an address its host.
type Rule struct {
	Verdict Verdict
	Text    string
	name    string
	about   string // empty for all
}

// ErrRule is wrapped by the complaint about a rule that cannot be read.
var ErrRule = errors.New("no rule")

// ParseRule reads a rule.
func ParseRule(v Verdict, text string) (Rule, error) {
	r := Rule{Verdict: v, Text: text}
	name, about, ok := strings.Cut(strings.TrimSpace(text), "(")
	r.name = strings.TrimSpace(name)
	if ok {
		about, ok = strings.CutSuffix(about, ")")
		r.about = strings.TrimSpace(about)
		if !ok || r.about == "" {
			return Rule{}, fmt.Errorf("%w: %q; write tool or tool(pattern)", ErrRule, text)
		}
	}
	if r.name == "" || strings.ContainsAny(r.name, " \t)/") {
		return Rule{}, fmt.Errorf("%w: %q; it begins with the name of a tool, or read, edit, delete, move, network, mcp or debug", ErrRule, text)
	}
	if !doublestar.ValidatePattern(r.name) || r.about != "" && !doublestar.ValidatePattern(r.about) && r.name != "bash" {
		return Rule{}, fmt.Errorf("%w: the pattern of %q cannot be read", ErrRule, text)
	}
	return r, nil
}

// Actions are the names that rules have for kinds of steps.
func Actions() []string {
	return []string{"read", "edit", "delete", "move", "bash", "network", "mcp", "debug", "share"}
}

// mcpPrefix begins the names of the tools of MCP servers, which are not known before the servers are.
const mcpPrefix = "mcp__"

// Name returns the tool or action that the rule is for, which may have wildcards.
func (r *Rule) Name() string { return r.name }

// Known reports whether the rule can ever apply: it is for an action, for one of the tools or for tools of MCP servers.
func (r *Rule) Known(tools []string) bool {
	fixed := r.name // up to the first wildcard
	if i := strings.IndexAny(fixed, "*?[{\\"); i >= 0 {
		fixed = fixed[:i]
	}
	return strings.HasPrefix(fixed, mcpPrefix) || fixed != r.name && strings.HasPrefix(mcpPrefix, fixed) || slices.Contains(Actions(), r.name) ||
		slices.ContainsFunc(tools, func(tool string) bool { ok, _ := doublestar.Match(r.name, tool); return ok })
}

// exact reports whether the rule names one thing, and not a kind of things.
func (r *Rule) exact() bool { return r.about != "" && !strings.ContainsAny(r.about, "*?[{") }

// Step describes a step to rules.
type Step struct {
	// Tool is the tool's name, Action the kind of the step: read, edit, delete, move, bash, network, mcp, debug; empty for none.
	Tool, Action string
	// Path is absolute, of a step on a file; Real is the same with its links resolved.
	Path, Real string
	// Line is the command line, and Command what is known of it. Inside says that it runs inside the boundary.
	Line    string
	Command *shell.Line
	Inside  bool
	// Host is where a step on the network goes.
	Host string
	// Special says that the step asks whatever the mode is. A rule that allows a kind of steps does not cover it; one that names
	// the step does.
	Special bool
	// Outside says that it reaches outside the roots: a rule for all steps of a tool does not cover that.
	Outside bool
}

// Rules holds the rules of a user.
type Rules []Rule

// onFiles returns the rules that do not allow to read or change files.
func (rules Rules) onFiles(paths *places.Paths) []boundary.FileRule {
	var found []boundary.FileRule
	for i := range rules {
		switch r := &rules[i]; r.name {
		case "read", "edit", "delete", "move", "write":
			if r.Verdict != Allow && (r.about != "" || r.name != "read") {
				found = append(found, boundary.FileRule{
					Matches: func(path string) bool { return r.matchPath(path, paths) }, Pattern: r.about, Reads: r.name == "read", Denies: r.Verdict == Deny,
				})
			}
		}
	}
	return found
}

// Access returns what commands may do inside the boundary.
func (p *Policy) Access(ctx context.Context, paths *places.Paths) *boundary.Access {
	return p.Boundary.Access(ctx, paths, p.Rules.onFiles(paths))
}

// Judge returns what the rules say of a step, and the rule that says it. Several commands in a line are judged one by one: the
// line is allowed if each is, and denied if one is.
func (rules Rules) Judge(s *Step, paths *places.Paths) (Verdict, string) {
	verdict, by := Unruled, ""
	var covered []bool // the commands of the line that a rule allows
	if s.Command != nil {
		covered = make([]bool, len(s.Command.Commands))
	}
	for i := range rules {
		r := &rules[i]
		v := Unruled
		if r.names(s) {
			v = r.verdict(s, paths, covered)
		}
		if r.forbidsChange(s, paths) {
			v = max(v, r.Verdict)
		}
		if v > verdict {
			verdict, by = v, r.Text
		}
	}
	return verdict, by
}

// verdict returns what a rule says of a step that it names. It notes the commands that it covers.
func (r *Rule) verdict(s *Step, paths *places.Paths, covered []bool) Verdict {
	switch {
	case r.about == "":
		if r.Verdict == Allow && (s.Special || s.Outside) {
			return Unruled
		}
		return r.Verdict
	case s.Line != "" && sameLine(r.about, s.Line):
		return r.Verdict
	case s.Command != nil && r.Verdict != Allow:
		return r.forbids(s.Command)
	case s.Command != nil:
		return r.allows(s, covered)
	case r.Verdict == Allow && s.Special && !r.exact():
		return Unruled
	case s.Host != "":
		// "example.com." is example.com.
		if ok, _ := doublestar.Match(strings.ToLower(r.about), strings.TrimSuffix(strings.ToLower(s.Host), ".")); ok {
			return r.Verdict
		}
	case s.Path != "":
		given, real := r.matchPath(s.Path, paths), r.matchPath(s.Real, paths)
		// A path must be allowed with its links resolved, too, and no link may lead to one that is not.
		if r.Verdict == Allow && real && given || r.Verdict != Allow && (given || real) {
			return r.Verdict
		}
	}
	return Unruled
}

// allows returns what a rule that allows says of a line, together with those that were looked at before.
func (r *Rule) allows(s *Step, covered []bool) Verdict {
	for i, c := range s.Command.Commands {
		covered[i] = covered[i] || r.covers(c.Words, s)
	}
	if s.Command.Flat && len(covered) > 0 && !slices.Contains(covered, false) && (s.Inside || !s.Special && !s.Command.Assigns) {
		return Allow
	}
	return Unruled
}

// forbids returns what a rule that does not allow says of a line.
func (r *Rule) forbids(line *shell.Line) Verdict {
	found := never
	for _, c := range line.Commands {
		found = max(found, reaches(c.Words, r.about))
	}
	switch found {
	case surely:
		return r.Verdict
	case perhaps:
		return Ask
	default:
		return Unruled
	}
}

func (r *Rule) names(s *Step) bool {
	if r.name == s.Action {
		return true
	}
	ok, _ := doublestar.Match(r.name, s.Tool)
	return ok
}

// forbidsChange reports whether a rule that does not allow is about files that a command line is seen to change. Inside the boundary the
// rule holds for all others, too: see [Access].
func (r *Rule) forbidsChange(s *Step, paths *places.Paths) bool {
	if r.Verdict == Allow || s.Command == nil || r.name != "edit" {
		return false
	}
	for _, path := range s.Command.Written(paths) {
		if r.about == "" || r.matchPath(path, paths) || r.matchPath(paths.Resolve(path), paths) {
			return true
		}
	}
	return false
}

// sameLine reports whether a rule names a line as it stands there, but for the number of blanks between words.
func sameLine(about, line string) bool {
	about, line = strings.TrimSpace(about), strings.TrimSpace(line)
	if strings.ContainsAny(about+line, "\n\r'\"\\") {
		return about == line
	}
	return slices.Equal(strings.Fields(about), strings.Fields(line))
}

// covers reports whether a rule that allows is for a command: it begins with the rule's words. Outside the boundary no option and no other
// command may follow, because they can do anything, unless the rule ends with "*", names a program by its path, or the line is known to
// only read.
func (r *Rule) covers(words []shell.Word, s *Step) bool {
	want := patternWords(r.about)
	if len(want) > len(words) {
		return false
	}
	for i, w := range want {
		if !words[i].Static || !matchWord(w, words[i].Text) {
			return false
		}
	}
	if s.Inside || s.Command.Reads || strings.Contains(want[0], "/") || strings.HasSuffix(r.about, " *") || strings.HasSuffix(r.about, ":*") {
		return true
	}
	if len(words) > len(want) && shell.Launches(words[0].Text) {
		return false
	}
	return !slices.ContainsFunc(words[len(want):], func(w shell.Word) bool {
		return !w.Static || strings.HasPrefix(w.Text, "-") || strings.Contains(w.Text, "=")
	})
}

// certainty says whether a rule that does not allow is for a command.
type certainty int

const (
	never certainty = iota
	perhaps
	surely
)

// reaches reports whether a rule that does not allow is for a command, or for one that the command runs: env, xargs and the like have it
// among their words. Options may stand between the words of it, with their values; a word may be shorter than the rule's, because programs
// take abbreviations.
func reaches(words []shell.Word, pattern string) certainty {
	want := patternWords(pattern)
	found := never
	for i := range words {
		if i == 1 && shell.Quotes(words[0].Text) {
			break // the rest is text
		}
		found = max(found, reachesFrom(words[i:], want, 0))
	}
	return found
}

func reachesFrom(words []shell.Word, want []string, at int) certainty {
	switch {
	case len(want) == 0:
		return surely
	case len(words) == 0:
		return never
	}
	found, word := never, words[0]
	switch {
	case !word.Static:
		if at > 0 || word.Text == "" || strings.HasPrefix(want[0], path.Base(word.Text)) {
			found = min(perhaps, reachesFrom(words[1:], want[1:], at+1))
		}
	case at == 0 && matchWord(want[0], path.Base(word.Text)), at > 0 && (matchWord(want[0], word.Text) || abbreviates(word.Text, want[0])):
		found = reachesFrom(words[1:], want[1:], at+1)
	}
	if at == 0 || found == surely {
		return found
	}
	if strings.HasPrefix(want[0], "-") {
		return max(found, reachesFrom(words[1:], want, at))
	}
	if strings.HasPrefix(word.Text, "-") {
		found = max(found, reachesFrom(words[1:], want, at))
		if len(words) > 1 {
			found = max(found, reachesFrom(words[2:], want, at))
		}
	}
	return found
}

// abbreviates reports whether a program may take a word for a longer one.
func abbreviates(word, long string) bool {
	return len(word) >= 3 && strings.HasPrefix(long, word)
}

func matchWord(want, word string) bool {
	return word != "" && (want == word || strings.Contains(want, "*") && glob(want, word))
}

func patternWords(pattern string) []string {
	want := strings.Fields(strings.ReplaceAll(pattern, ":*", " *"))
	if len(want) > 1 && want[len(want)-1] == "*" {
		want = want[:len(want)-1]
	}
	return want
}

// glob matches "*" with any characters.
func glob(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, parts[len(parts)-1])
}

// matchPath matches a path with the pattern: below the working directory unless it begins with "/" or "~"; a pattern without a
// slash is for the names of files anywhere. A directory is all that is in it.
func (r *Rule) matchPath(path string, paths *places.Paths) bool {
	if path == "" {
		return false
	}
	pattern := r.about
	if !strings.Contains(pattern, "/") && !strings.HasPrefix(pattern, "~") && pattern != "*" && pattern != "**" {
		if ok, _ := doublestar.Match(pattern, filepath.Base(path)); ok {
			return true
		}
	}
	dir := ""
	if len(paths.Roots) > 0 {
		dir = paths.Roots[0]
	}
	for _, dir := range []string{dir, paths.Resolve(dir)} {
		abs := filepath.ToSlash(paths.Expand(strings.TrimSuffix(pattern, "/"), dir))
		for _, p := range []string{abs, abs + "/**"} {
			if ok, _ := doublestar.Match(p, filepath.ToSlash(path)); ok {
				return true
			}
		}
	}
	return false
}
