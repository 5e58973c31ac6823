package agent

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// Helper is a kind of child session: its prompt, tools and models.
type Helper struct {
	Name string
	// Description is one line about its purpose.
	Description string
	// Prompt is appended to the system prompt.
	Prompt string
	// Tools are names of tools, or patterns as of [path.Match]. If nil, it has all of its parent's.
	Tools []string
	// Spawns are the names of the helpers that it may start itself, "*" for any. If empty, none.
	Spawns []string
	// ReadOnly keeps it in plan mode, whatever its parent's mode is, and all below it.
	ReadOnly bool
	// Models lists its preferred models, best first: "provider/id:level", or "gjc/role". It uses the first available
	// one.
	Models []string
	// Thinking is the level where the model's name has none; empty for its parent's.
	Thinking providers.ThinkingLevel
}

// DefaultHelper is the helper for a task that names none.
const DefaultHelper = "executor"

// knownHelpers returns the helpers that the session may start.
func (s *Session) knownHelpers(ctx context.Context) []Helper {
	all := []Helper{{Name: DefaultHelper, Description: "any piece of work"}}
	if s.opts.Helpers != nil {
		all = slices.Clone(s.opts.Helpers(ctx))
	}
	return slices.DeleteFunc(all, func(h Helper) bool {
		return slices.Contains(s.settings.Tasks.Disabled, h.Name) ||
			s.helper != nil && !slices.Contains(s.helper.Spawns, "*") && !slices.Contains(s.helper.Spawns, h.Name)
	})
}

// errNoHelper returns an error that lists the helpers.
func errNoHelper(name string, all []Helper) error {
	if len(all) == 0 {
		return fmt.Errorf("%w: there are no helpers here; do the work yourself", ErrBadInput)
	}
	var known []string
	for i := range all {
		known = append(known, all[i].Name)
	}
	return fmt.Errorf("%w: there is no helper called %q that could be started here; there are %s", ErrBadInput, name, strings.Join(known, ", "))
}

// PickHelper returns the helper called name. Without a name it returns the one called [DefaultHelper], or else the
// first.
func PickHelper(all []Helper, name string) (*Helper, error) {
	wanted := name
	if wanted == "" {
		wanted = DefaultHelper
	}
	i := slices.IndexFunc(all, func(h Helper) bool { return h.Name == wanted })
	if i < 0 && name == "" && len(all) > 0 {
		i = 0
	}
	if i < 0 {
		return nil, errNoHelper(name, all)
	}
	return &all[i], nil
}

// maxHelperLine is the maximum length of the description of one helper, in characters.
const maxHelperLine = 300

// helperList returns the list of helpers for the description of the task tool.
func (s prompter) helperList(ctx context.Context) string {
	var b strings.Builder
	for _, h := range s.knownHelpers(ctx) {
		line := text.Truncate(text.OneLine(h.Description), maxHelperLine)
		if h.ReadOnly {
			line += " (only reads)"
		}
		fmt.Fprintf(&b, "\n- %s: %s", h.Name, line)
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n\nHelpers (`agent`):" + b.String()
}

// briefed returns a system prompt followed by the prompt of the helper.
func (s prompter) briefed(prompt string) string {
	if s.helper == nil || strings.TrimSpace(s.helper.Prompt) == "" {
		return prompt
	}
	return prompt + "\n\n" + strings.TrimSpace(s.helper.Prompt)
}

// withheld reports whether a child session is not offered a tool of its parent.
func withheld(s *Session, spec *ToolSpec, mode approval.Mode) bool {
	switch {
	case !s.child:
		return false
	case spec.Name == TaskTool:
		return s.opts.Subagent == nil
	default:
		return mode == approval.ModePlan && !onlyReads(spec)
	}
}

// onlyReads reports whether a tool is of use in plan mode.
func onlyReads(spec *ToolSpec) bool {
	switch spec.Kind {
	case KindRead, KindSearch, KindThink:
		return spec.Name != "ast_edit" // its edits could not be applied
	default:
		return spec.Name == "ask"
	}
}

// helperTools returns the tools of a parent that a helper may use. It does not consider the task tool: a helper that
// may start others has it.
type helperTools struct {
	Toolbox
	allowed []string
}

// companions lists the tools that are useless without others, or that do the same in another way.
var companions = map[string][]string{
	"edit":     {"apply_patch", "ast_edit", "undo"},
	"ast_edit": {"resolve"},
	"bash":     {"job"},
	"search":   {"ast_grep"},
}

// newHelperTools limits a toolbox to the tools called so.
func newHelperTools(of Toolbox, allowed []string) Toolbox {
	all := slices.Clone(allowed)
	for i := 0; i < len(all); i++ {
		for _, name := range companions[all[i]] {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return helperTools{of, all}
}

// Tools implements [Toolbox].
func (h helperTools) Tools() []Tool {
	return slices.DeleteFunc(slices.Clone(h.Toolbox.Tools()), func(t Tool) bool {
		name := t.Spec().Name
		return name != TaskTool && !slices.ContainsFunc(h.allowed, func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			return err == nil && ok
		})
	})
}
