package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/internal/configfile"
)

// permissionSettings returns the section permissions. The rules of several files add up: none replaces another. A rule
// that cannot be read may have forbidden anything, so every step asks.
func (c *config) permissionSettings() map[string]setting {
	rules := func(v approval.Verdict) setting {
		get := func() any {
			texts := []string{}
			for i := range c.permissions {
				if c.permissions[i].Verdict == v {
					texts = append(texts, c.permissions[i].Text)
				}
			}
			return texts
		}
		item := func(n *configfile.Node) string {
			if n.Kind != configfile.Text {
				return "must be a string: a rule"
			}
			r, err := approval.ParseRule(v, n.Text)
			if err != nil {
				return err.Error()
			}
			if names := tools.Names(); !r.Known(names) {
				names = slices.Compact(slices.Sorted(slices.Values(append(names, approval.Actions()...))))
				return fmt.Sprintf("%s: there is no tool or action %s%s; there are %s, and mcp__SERVER_TOOL", configfile.Quote(n.Text), configfile.Quote(r.Name()),
					strings.TrimSuffix(configfile.Meant(r.Name(), names), ";"), strings.Join(names, ", "))
			}
			c.permissions = append(c.permissions, r)
			return ""
		}
		return setting{get: get, item: item, stops: stopsSteps, adds: true, take: func(n *configfile.Node) string {
			if n.Kind == configfile.Null {
				return ""
			}
			return "must be a list of rules"
		}}
	}
	return map[string]setting{
		"allow": rules(approval.Allow), // rules for steps that run without a question
		"ask":   rules(approval.Ask),   // rules for steps that ask
		"deny":  rules(approval.Deny),  // rules for steps that are refused
	}
}

// policy returns a function that returns the user's and the project's permission rules for a directory. While a rule
// cannot be read, every step asks, and only the rules that ask and deny count.
func (h *host) policy(agentDir string, opts *options) func(cwd string) approval.Policy {
	home, err := h.home()
	if err != nil {
		home = ""
	}
	own := []string{agentDir}
	if home != "" {
		own = append(own, filepath.Join(home, ".gjc"))
	}
	return func(cwd string) approval.Policy {
		cfg := readConfig(agentDir, opts.configs, cwd)
		p := approval.Policy{Home: home, Own: own, Rules: cfg.permissions}
		if p.Broken = cfg.stop(stopsSteps); p.Broken != nil {
			p.Rules = nil
			for _, r := range cfg.permissions {
				if r.Verdict != approval.Allow {
					p.Rules = append(p.Rules, r)
				}
			}
		}
		return p
	}
}
