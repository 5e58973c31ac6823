package agent

import (
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent/policy"
)

// Policy is what a user has said beforehand of what may be done. The zero value says nothing.
type Policy struct {
	Rules policy.Rules
	// Home is the user's directory, Own are those with gjc's own state.
	Home string
	Own  []string
	// Broken is why the rules could not be read: everything that has an effect asks then.
	Broken error
}

// facts are what is known of one effect on one path, or of one command.
type facts struct {
	// outside says that it reaches outside the roots.
	outside bool
	// special is why it asks whatever the mode is, for people.
	special []string
	rule    policy.Verdict
	// by is the text of the rule.
	by string
}

// judge decides on one effect under a mode (the table is in docs/security.md). The reason is for the model and set with deny
// only. Answers that were given before are the caller's to look at.
func judge(mode Mode, e *Effect, f *facts) (v policy.Verdict, reason string) {
	if mode == ModePlan && e.Action != ActionRead {
		return policy.Deny, "plan mode changes nothing: describe the step in your plan instead, or ask the user to leave plan mode"
	}
	if f.rule == policy.Deny {
		return policy.Deny, fmt.Sprintf("a rule of the user's forbids it (permissions.deny: %s); do it another way, or ask the user", f.by)
	}
	v = judgeMode(mode, e, f)
	switch f.rule {
	case policy.Ask:
		v = policy.Ask
	case policy.Allow:
		v = policy.Allow
	default:
	}
	return v, ""
}

// judgeMode is what a mode says of an effect that no rule is about.
func judgeMode(mode Mode, e *Effect, f *facts) policy.Verdict {
	if f.outside || len(f.special) > 0 {
		return policy.Ask
	}
	switch e.Action {
	case ActionRead, ActionResume:
		return policy.Allow
	case ActionEdit:
		if mode == ModeStrict {
			return policy.Ask
		}
		return policy.Allow
	default:
		if mode == ModeAuto {
			return policy.Allow
		}
		return policy.Ask
	}
}

// actionNames are the actions in rules.
var actionNames = map[Action]string{
	ActionRead: "read", ActionEdit: "edit", ActionDelete: "delete", ActionMove: "move", ActionCommand: "bash",
	ActionNetwork: "network", ActionMCP: "mcp", ActionDebug: "debug", ActionResume: "debug",
}

// mcpPrefix begins the names of tools of MCP servers.
const mcpPrefix = "mcp__"

// factsOf returns what is known of one effect of a tool on one path; system names the operating system.
func factsOf(p *Policy, system, tool string, e *Effect, sc *scope, paths *policy.Paths) facts {
	f := facts{outside: sc.outside}
	step := policy.Step{Tool: tool, Action: actionNames[e.Action], Host: e.Host}
	switch {
	case e.Action == ActionRead && e.Path == "":
		if step.Action = ""; strings.HasPrefix(tool, mcpPrefix) {
			step.Action = "mcp" // its server says that it only reads
		}
	case e.Action == ActionCommand:
		step.Line = e.Command
		if system != "windows" {
			step.Command = sc.command
			f.special = sc.command.Risks
		}
	case e.Path != "":
		step.Path, step.Real = e.Path, sc.path
		switch {
		case e.Action == ActionRead && paths.Secret(e.Path):
			f.special = []string{secretByName}
		case e.Action == ActionEdit || e.Action == ActionDelete || e.Action == ActionMove:
			if why := paths.Protected(e.Path); why != "" {
				f.special = []string{"it always asks: " + why}
			}
			if paths.Secret(e.Path) { // what fails tells what is there
				f.special = append(f.special, secretByName)
			}
		}
	}
	if p.Broken != nil && e.Action != ActionResume {
		f.special = append(f.special[:len(f.special):len(f.special)], "the rules of the configuration could not be read")
	}
	step.Special, step.Outside = len(f.special) > 0, f.outside
	f.rule, f.by = p.Rules.Judge(&step, paths)
	if e.Action == ActionEdit && e.Path != "" {
		// An edit shows the model what is in the file: a rule against reading holds for it too.
		step.Tool, step.Action = "read", actionNames[ActionRead]
		if rule, by := p.Rules.Judge(&step, paths); rule > policy.Allow && rule > f.rule {
			f.rule, f.by = rule, by
		}
	}
	return f
}

// secretByName says why a step on a file asks.
const secretByName = "the file holds secrets by its name"
