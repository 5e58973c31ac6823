package main

import (
	"path/filepath"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/policy"
	"github.com/gajae-code/gjc/internal/configfile"
)

// permissionSettings is the section permissions. Rules of several files count together: none takes another away.
func (c *config) permissionSettings() map[string]setting {
	rules := func(v policy.Verdict) setting {
		return func(n *configfile.Node) string {
			if n.Kind == configfile.Null {
				return ""
			}
			if n.Kind != configfile.List {
				return "must be a list of rules"
			}
			for _, item := range n.List {
				if item.Kind != configfile.Text {
					return "must be a list of rules, each a string"
				}
				r, err := policy.ParseRule(v, item.Text)
				if err != nil {
					return err.Error()
				}
				c.permissions = append(c.permissions, r)
			}
			return ""
		}
	}
	return map[string]setting{"allow": rules(policy.Allow), "ask": rules(policy.Ask), "deny": rules(policy.Deny)}
}

// policy returns what the user has said beforehand of what a session may do. Where the configuration cannot be read and may have
// rules, every step asks.
func (h *host) policy(agentDir string, opts *options) func() agent.Policy {
	home, err := h.home()
	if err != nil {
		home = ""
	}
	own := []string{agentDir}
	if home != "" {
		own = append(own, filepath.Join(home, ".gjc"))
	}
	return func() agent.Policy {
		p := agent.Policy{Home: home, Own: own}
		cfg, err := readConfig(agentDir, opts.configs)
		switch {
		case err == nil:
			p.Rules = cfg.permissions
		case mentions(err, agentDir, opts.configs, "permissions"):
			p.Broken = err
		}
		return p
	}
}
