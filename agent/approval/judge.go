// Package approval decides what a tool call may do: its effects are judged by the session's mode, the user's rules and earlier answers,
// and what was allowed becomes a permit that files, programs and the network are held to.
package approval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/places"
)

// Policy holds the rules that the user has set in advance. The zero value has none.
type Policy struct {
	Rules Rules
	// Home is the user's directory, Own are those with gjc's own state.
	Home string
	Own  []string
	// Boundary is where commands run that the user has not seen.
	Boundary boundary.Settings
	// Loaded are patterns of the files that gjc reads from a workspace; see [places.Paths].
	Loaded []string
	// Followed returns the paths in a root that programs of the machine follow, which git's configuration names. Optional.
	Followed func(root string) []string
	// Keeper has the answers for the workspace. Optional.
	Keeper Keeper
	// Suggested is a notice about permissions of other agents, for the first session that could adopt them; empty for none.
	Suggested string
	// Introduce returns the notice about the boundary that the first command in the workspace shows; empty if it has been shown. It is
	// called once in a session. Optional.
	Introduce func() (title, detail string)
	// Broken is why the rules could not be read: everything that has an effect asks then.
	Broken error
}

// Facts holds what is known of one effect on one path, or of one command.
type Facts struct {
	// outside says that it reaches outside the roots.
	outside bool
	// Special is why it asks whatever the mode is, for people.
	Special []string
	Rule    Verdict
	// by is the text of the rule.
	by string
	// onlyReads says that a command is known to change nothing.
	onlyReads bool
}

// allower says what has allowed an effect without a question.
type allower int

const (
	byMode allower = iota
	byRule
	byAnswer
)

// unattended returns the verdict on an effect that v allows without a question, and whether it happens inside the boundary: a
// program that the user has not seen runs inside. Without a boundary, and for a program that is outside already, what is not known to only
// read needs a rule, or, if the user wants no boundary or has allowed that program, an earlier answer.
func (p *Policy) unattended(v Verdict, e *Effect, f *Facts, by allower) (Verdict, bool) {
	started := e.Where == Started
	switch {
	case v == Allow && e.Where == Inside:
		return Allow, true
	case e.Action != ActionCommand && e.Action != ActionDebug || v != Allow:
		return v, false
	case started && p.encloses(e):
		return Allow, true
	case started && p.Boundary.Use == boundary.Require:
		return Deny, false
	case f.onlyReads || by == byRule || by == byAnswer && (p.Boundary.Use != boundary.Auto || !started):
		return Allow, false
	default:
		return Ask, false
	}
}

// encloses reports whether a program that an effect starts can run inside the boundary. Debuggers and their programs talk to each other
// over the network, for which they need one of their own.
func (p *Policy) encloses(e *Effect) bool {
	if e.Action == ActionDebug {
		return p.Boundary.Boxes()
	}
	return p.Boundary.Holds()
}

// Judge decides on one effect under a mode (the table is in docs/security.md). The reason is for the model and set with deny
// only. Answers that were given before are the caller's to look at.
func (p *Policy) Judge(mode Mode, e *Effect, f *Facts) (v Verdict, reason string) {
	if mode == ModePlan && e.Action != ActionRead {
		return Deny, "plan mode changes nothing: describe the step in your plan instead, or ask the user to leave plan mode"
	}
	if f.Rule == Deny {
		return Deny, fmt.Sprintf("a rule of the user's forbids it (permissions.deny: %s); do it another way, or ask the user", f.by)
	}
	if b := &p.Boundary; e.Action == ActionCommand && b.Use == boundary.Require {
		if err := b.Lacks(); err != nil {
			return Deny, fmt.Sprintf("bash.sandbox of the configuration requires a sandbox, and there is none: %v", err)
		}
	}
	if e.Action == ActionDebug && e.Where == Started && p.Boundary.Use == boundary.Require && !p.Boundary.Boxes() {
		return Deny, "bash.sandbox of the configuration requires a sandbox, and debuggers need bubblewrap for one: ask the user to install it"
	}
	if f.Rule == Ask || f.Rule == Allow && e.Action != ActionShare {
		return f.Rule, ""
	}
	return p.judgeMode(mode, e, f), ""
}

// judgeMode returns the verdict of a mode on an effect to which no rule applies.
func (p *Policy) judgeMode(mode Mode, e *Effect, f *Facts) Verdict {
	if mode == ModeAuto && (e.Action == ActionCommand || e.Action == ActionDebug && e.Where == Started) && p.encloses(e) && p.Broken == nil {
		return Allow // what the program touches, the boundary decides
	}
	if f.outside || len(f.Special) > 0 || e.Action == ActionShare {
		return Ask
	}
	switch e.Action {
	case ActionRead, ActionResume:
		return Allow
	case ActionEdit:
		if mode == ModeStrict {
			return Ask
		}
		return Allow
	default:
		if mode == ModeAuto {
			return Allow
		}
		return Ask
	}
}

// actionNames are the actions in rules.
var actionNames = map[Action]string{
	ActionRead: "read", ActionEdit: "edit", ActionDelete: "delete", ActionMove: "move", ActionCommand: "bash",
	ActionNetwork: "network", ActionMCP: "mcp", ActionDebug: "debug", ActionResume: "debug", ActionShare: "share",
}

// FactsOf returns what is known of one effect of a tool on one path; system names the operating system.
func FactsOf(p *Policy, system, tool string, e *Effect, sc *Scope, paths *places.Paths) Facts {
	f := Facts{outside: sc.Outside}
	step := Step{Tool: tool, Action: actionNames[e.Action], Host: e.Host}
	switch {
	case e.Action == ActionRead && e.Path == "":
		if step.Action = ""; strings.HasPrefix(tool, mcpPrefix) {
			step.Action = "mcp" // its server says that it only reads
		}
	case e.Action == ActionCommand:
		step.Line, step.Inside = e.Command, p.Boundary.Holds()
		if system != "windows" {
			step.Command = sc.line
			f.Special, f.onlyReads = sc.line.Notes, sc.line.Reads
		}
	case e.Action == ActionDebug, e.Path != "":
		step.Path, step.Real, step.Host = e.Path, sc.Path, "" // rules are about the program
		f.Special = pathSpecial(e, paths)
	}
	if p.Broken != nil && e.Action != ActionResume {
		f.Special = append(f.Special[:len(f.Special):len(f.Special)], "the rules of the configuration could not be read")
	}
	step.Special, step.Outside = len(f.Special) > 0, f.outside
	f.Rule, f.by = p.Rules.Judge(&step, paths)
	if e.Action == ActionEdit && e.Path != "" {
		// An edit shows the model what is in the file: a rule against reading holds for it too.
		read := step
		read.Tool, read.Action = "read", actionNames[ActionRead]
		f.restrict(p.Rules.Judge(&read, paths))
	}
	for _, path := range e.members() {
		member := step
		member.Path, member.Real = path, path
		rule, by := p.Rules.Judge(&member, paths)
		f.restrict(rule, by)
		if f.Rule == Allow && rule != Allow && paths.Secret(path) {
			f.Rule, f.by = Unruled, "" // the rule is for the archive
		}
	}
	return f
}

// restrict applies a rule that is stricter than the present one and does not allow.
func (f *Facts) restrict(rule Verdict, by string) {
	if rule > Allow && rule > f.Rule {
		f.Rule, f.by = rule, by
	}
}

// pathSpecial returns why an effect on a path asks whatever the mode is.
func pathSpecial(e *Effect, paths *places.Paths) (why []string) {
	switch e.Action {
	case ActionRead, ActionEdit, ActionDelete, ActionMove:
	default:
		return nil
	}
	if e.Action != ActionRead {
		if protected := paths.Protected(e.Path); protected != "" {
			why = append(why, "it always asks: "+protected)
		} else if paths.Unknown(e.Path) {
			why = append(why, "gjc does not know which programs use this directory")
		}
	}
	if paths.Secret(e.Path) || slices.ContainsFunc(e.members(), paths.Secret) { // a failure shows what is there
		why = append(why, secretByName)
	}
	return why
}

// secretByName says why a step on a file asks.
const secretByName = "the file holds secrets by its name"
