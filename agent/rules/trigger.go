package rules

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gajae-code/gjc/internal/text"
)

// Source is a kind of model output.
type Source int

// The sources.
const (
	Text Source = iota
	Thinking
	Tool
)

// Trigger is the condition under which a model receives a rule.
type Trigger struct {
	// Conditions are RE2 patterns, any of which must match.
	Conditions []*regexp.Regexp
	// Mode selects the sources in which a match interrupts the answer.
	Mode   InterruptMode
	scopes []scope
}

// InterruptMode selects the matches that interrupt an answer. Other matches add the rule after the answer.
type InterruptMode string

// The modes. The empty mode is [InterruptAlways].
const (
	InterruptAlways InterruptMode = "always"
	InterruptNever  InterruptMode = "never"
	InterruptProse  InterruptMode = "prose-only"
	InterruptTool   InterruptMode = "tool-only"
)

// interruptModes lists all modes.
func interruptModes() []InterruptMode {
	return []InterruptMode{InterruptAlways, InterruptNever, InterruptProse, InterruptTool}
}

// Interrupts reports whether a match in a source interrupts the answer.
func (t *Trigger) Interrupts(from Source) bool {
	switch t.Mode {
	case InterruptNever:
		return false
	case InterruptProse:
		return from != Tool
	case InterruptTool:
		return from == Tool
	default:
		return true
	}
}

// scope is the output that a trigger matches: prose, or the arguments of calls, optionally of one tool and for some
// files.
type scope struct {
	from Source
	// tool is a glob for tools; empty for all. path is a glob for the call's file; empty for any.
	tool, path string
}

// parseScope parses "text", "thinking", "tool", "tool:NAME" or "tool:NAME(glob)".
func parseScope(word string) (scope, error) {
	switch word {
	case "text":
		return scope{from: Text}, nil
	case "thinking":
		return scope{from: Thinking}, nil
	case "tool", "toolcall":
		return scope{from: Tool}, nil
	}
	rest, ok := strings.CutPrefix(word, "tool:")
	if !ok {
		return scope{}, fmt.Errorf("a scope must be text, thinking, tool, tool:NAME or tool:NAME(glob), not %q", text.Truncate(word, maxQuoted))
	}
	s := scope{from: Tool, tool: rest}
	if name, glob, found := strings.Cut(rest, "("); found {
		var closed bool
		s.tool = name
		if s.path, closed = strings.CutSuffix(glob, ")"); !closed {
			return scope{}, fmt.Errorf("the scope %q has no closing parenthesis", text.Truncate(word, maxQuoted))
		}
	}
	if s.tool == "" || !doublestar.ValidatePattern(s.tool) || !doublestar.ValidatePattern(s.path) {
		return scope{}, fmt.Errorf("the scope %q has no tool, or an invalid glob", text.Truncate(word, maxQuoted))
	}
	return s, nil
}

// covers reports whether a trigger applies to a source. file is the call's file, or "" if it is unknown.
func (t *Trigger) covers(from Source, tool, file string) bool {
	for _, s := range t.scopes {
		if s.from != from {
			continue
		}
		if s.tool != "" {
			if ok, _ := doublestar.Match(s.tool, tool); !ok {
				continue
			}
		}
		if s.path == "" || file != "" && matchGlob(s.path, strings.TrimPrefix(strings.ReplaceAll(file, `\`, "/"), "/")) {
			return true
		}
	}
	return false
}

// looksLikeGlob reports whether a condition is a glob for files ("*.ts", "src/**/*.go") and not a pattern.
func looksLikeGlob(s string) bool {
	return !strings.ContainsAny(s, ` \()|^$[]+`) && (strings.HasPrefix(s, "*") || strings.Contains(s, "/*") || strings.Contains(s, "**")) &&
		!strings.Contains(s, ".*") && doublestar.ValidatePattern(s)
}

// newTrigger parses the condition and scope of the front matter. A condition that is a glob matches calls that change
// such files.
func newTrigger(conditions, scopes []string, mode InterruptMode) (*Trigger, error) {
	t := &Trigger{Mode: mode}
	for _, c := range conditions {
		if looksLikeGlob(c) {
			t.scopes = append(t.scopes, scope{Tool, "edit", c}, scope{Tool, "write", c})
			continue
		}
		re, err := regexp.Compile(c)
		if err != nil {
			return nil, fmt.Errorf("the condition %q is not an RE2 pattern: %w", text.Truncate(c, maxQuoted), err)
		}
		t.Conditions = append(t.Conditions, re)
	}
	for _, word := range scopes {
		s, err := parseScope(word)
		if err != nil {
			return nil, err
		}
		t.scopes = append(t.scopes, s)
	}
	if len(t.scopes) == 0 {
		t.scopes = []scope{{from: Text}, {from: Tool}}
	}
	if len(t.Conditions) == 0 {
		t.Conditions = []*regexp.Regexp{regexp.MustCompile("")}
	}
	return t, nil
}
