package rules

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gajae-code/gjc/internal/text"
)

// Source is a kind of what a model says.
type Source int

// The sources.
const (
	Text Source = iota
	Thinking
	Tool
)

// Trigger says what a model has to say to be given a rule.
type Trigger struct {
	// Conditions are RE2 patterns; one of them is enough.
	Conditions []*regexp.Regexp
	// Mode says where a match breaks an answer off.
	Mode   InterruptMode
	scopes []scope
}

// InterruptMode says which matches break an answer off. The others have the rule given behind the answer.
type InterruptMode string

// The modes. The empty one is [InterruptAlways].
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

// Interrupts reports whether a match in a source breaks the answer off.
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

// scope is where a trigger looks: prose, or the arguments of calls, of one tool and about some files if that is said.
type scope struct {
	from Source
	// tool is a glob; empty for all. path is one for the file that the call names; empty for any.
	tool, path string
}

// parseScope reads "text", "thinking", "tool", "tool:NAME" or "tool:NAME(glob)".
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
		return scope{}, fmt.Errorf("the scope %q has no tool, or a glob that is none", text.Truncate(word, maxQuoted))
	}
	return s, nil
}

// looksAt reports whether a trigger looks at a source. file is the one that a call names; empty where that is not known.
func (t *Trigger) looksAt(from Source, tool, file string) bool {
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

// looksLikeGlob reports whether a condition names files ("*.ts", "src/**/*.go") and is no pattern for text.
func looksLikeGlob(s string) bool {
	return !strings.ContainsAny(s, ` \()|^$[]+`) && (strings.HasPrefix(s, "*") || strings.Contains(s, "/*") || strings.Contains(s, "**")) &&
		!strings.Contains(s, ".*") && doublestar.ValidatePattern(s)
}

// newTrigger reads the front matter's condition and scope. A condition that names files is for calls that change such files.
func newTrigger(conditions, scopes []string, mode InterruptMode) (*Trigger, error) {
	t := &Trigger{Mode: mode}
	for _, c := range conditions {
		if looksLikeGlob(c) {
			t.scopes = append(t.scopes, scope{Tool, "edit", c}, scope{Tool, "write", c})
			continue
		}
		re, err := regexp.Compile(c)
		if err != nil {
			return nil, fmt.Errorf("the condition %q is no RE2 pattern: %w", text.Truncate(c, maxQuoted), err)
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
