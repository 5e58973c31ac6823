package approval

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gajae-code/gjc/agent/approval/shell"
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
	return []string{"read", "edit", "delete", "move", "bash", "network", "mcp", "debug"}
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
	// Path is absolute, of a step on a file; Real is the same behind its links.
	Path, Real string
	// Line is the command line, Command what is known of it.
	Line    string
	Command *shell.Command
	// Host is where a step on the network goes.
	Host string
	// Special says that the step asks whatever the mode is. A rule that allows a kind of steps does not cover it; one that names
	// the step does.
	Special bool
	// Outside says that it reaches outside the roots: a rule for all steps of a tool does not cover that.
	Outside bool
}

// Rules are all of a user's.
type Rules []Rule

// Judge returns what the rules say of a step, and the rule that says it. Several commands in a line are judged one by one: the
// line is allowed if each is, and denied if one is.
func (rules Rules) Judge(s *Step, paths *shell.Paths) (Verdict, string) {
	verdict, by := Unruled, ""
	take := func(v Verdict, text string) {
		if v > verdict {
			verdict, by = v, text
		}
	}
	left := -1
	var covered []bool
	if s.Command != nil {
		covered = make([]bool, len(s.Command.Calls))
		left = len(covered)
	}
	for i := range rules {
		r := &rules[i]
		if r.forbidsChange(s, paths) {
			take(r.Verdict, r.Text)
		}
		if !r.names(s) {
			continue
		}
		switch {
		case r.about == "":
			if r.Verdict != Allow || !s.Special && !s.Outside {
				take(r.Verdict, r.Text)
			}
		case s.Line != "" && sameLine(r.about, s.Line):
			take(r.Verdict, r.Text)
		case s.Command != nil && r.Verdict != Allow:
			for _, words := range s.Command.Runs {
				if reaches(words, r.about) {
					take(r.Verdict, r.Text)
				}
			}
		case s.Command != nil:
			for j, args := range s.Command.Calls {
				if !covered[j] && r.covers(args) {
					covered[j] = true
					left--
				}
			}
			if left == 0 && len(covered) > 0 && !s.Special && s.Command.Plain {
				take(Allow, r.Text)
			}
		case s.Host != "":
			// "example.com." is example.com.
			if ok, _ := doublestar.Match(strings.ToLower(r.about), strings.TrimSuffix(strings.ToLower(s.Host), ".")); ok && (r.Verdict != Allow || !s.Special || r.exact()) {
				take(r.Verdict, r.Text)
			}
		case s.Path != "":
			if r.Verdict == Allow && s.Special && !r.exact() {
				continue
			}
			given, real := r.matchPath(s.Path, paths), r.matchPath(s.Real, paths)
			// What is allowed must be so behind its links; what is not must not be reached by one.
			if r.Verdict == Allow && real && given || r.Verdict != Allow && (given || real) {
				take(r.Verdict, r.Text)
			}
		}
	}
	return verdict, by
}

func (r *Rule) names(s *Step) bool {
	if r.name == s.Action {
		return true
	}
	ok, _ := doublestar.Match(r.name, s.Tool)
	return ok
}

// forbidsChange reports whether a rule that does not allow is about the changes of files that a command line is known to make.
func (r *Rule) forbidsChange(s *Step, paths *shell.Paths) bool {
	if r.Verdict == Allow || s.Command == nil || r.name != "edit" {
		return false
	}
	for _, path := range s.Command.Changed {
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

// covers reports whether a rule that allows is for a command: it begins with the rule's words, and what comes behind them neither
// runs nor writes anything else, as far as the program is known.
func (r *Rule) covers(args []shell.Arg) bool {
	given := args
	for {
		words := make([]string, len(args))
		for i, arg := range args {
			if arg.Known {
				words[i] = arg.Text
			}
		}
		if beginsWith(words, r.about) {
			o, named, ok := shell.SafeCommand(args)
			if !ok {
				return true // what the user says of a program that nothing is known of, holds
			}
			from := named
			for i, w := range patternWords(r.about) {
				if i == from && w == words[i] {
					from++ // the rule has it itself
				}
			}
			return o.Allow(args[from:])
		}
		if args = shell.GitGlobal(given); len(args) == len(given) {
			return false
		}
		given = args
	}
}

// reaches reports whether a rule that does not allow is for a command. Options may stand between the words of it, with their
// values.
func reaches(words []string, pattern string) bool {
	return beginsWith(words, pattern) || reachesWords(words, patternWords(pattern), 0)
}

func reachesWords(words, want []string, at int) bool {
	switch {
	case len(want) == 0:
		return at > 0
	case len(words) == 0:
		return false
	case matchWord(want[0], words[0]) && reachesWords(words[1:], want[1:], at+1):
		return true
	case at == 0: // the program
		return false
	case strings.HasPrefix(want[0], "-"):
		return reachesWords(words[1:], want, at)
	case !strings.HasPrefix(words[0], "-"):
		return false
	default:
		return reachesWords(words[1:], want, at) || len(words) > 1 && reachesWords(words[2:], want, at)
	}
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

// beginsWith reports whether the words of a command begin with those of a pattern. "*" stands for any part of a word; at the end
// of a pattern, alone, for any further words, which is so anyway.
func beginsWith(words []string, pattern string) bool {
	want := patternWords(pattern)
	if len(want) > len(words) {
		return false
	}
	for i, w := range want {
		if !matchWord(w, words[i]) {
			return false
		}
	}
	return true
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
func (r *Rule) matchPath(path string, paths *shell.Paths) bool {
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
