package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// lists returns the settings outside of sections, by name. path is the file's.
func (c *config) lists(path string) map[string]setting {
	return map[string]setting{
		"enabledModels":      orStop(scoped(&c.models.EnabledModels, "models", filepath.Dir(path)), stopsModels),        // list only these models, everywhere or below a path; * is a wildcard
		"disabledProviders":  orStop(scoped(&c.models.DisabledProviders, "providers", filepath.Dir(path)), stopsModels), // do not use these providers, everywhere or below a path
		"modelProviderOrder": words(&c.models.ProviderOrder),                                                            // the provider to prefer for a model that several have
		"instructions":       c.instructions(path),                                                                      // a text for every prompt, after the agent directory's AGENTS.md
	}
}

// roleSettings returns the settings of the roles that have been read; the user chooses their names.
func (c *config) roleSettings() map[string]setting {
	all := make(map[string]setting)
	for name := range c.models.Roles {
		all[name] = c.role(name)
	}
	return all
}

// role returns the setting of a role's model; "" is none.
func (c *config) role(name string) setting {
	return setting{get: func() any { return c.models.Roles[name] }, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Text || strings.ContainsAny(n.Text, ",\n\t") {
			return "must be a model, as provider/id or provider/id:level"
		}
		c.models.Roles[name] = n.Text
		return ""
	}}
}

// scoped returns the setting of a list whose items are strings, which apply everywhere, and mappings, which apply below
// directories: "path", "paths", "pathPrefix" or "pathPrefixes" has the directories, and what or "values" the strings.
// Relative directories are relative to dir, and ~ is the home directory of the user who runs gjc.
func scoped(to *[]registry.Scoped, what, dir string) setting {
	get := func() any {
		list := make([]any, 0, len(*to))
		for _, one := range *to {
			if len(one.Paths) == 0 {
				list = append(list, strings.Join(one.Values, ", "))
				continue
			}
			list = append(list, map[string][]string{"paths": one.Paths, what: one.Values})
		}
		return list
	}
	return setting{get: get, take: func(n *configfile.Node) string {
		if n.Kind != configfile.List {
			return "must be a list"
		}
		var all []registry.Scoped
		for _, item := range n.List {
			if item.Kind == configfile.Text {
				all = append(all, registry.Scoped{Values: []string{item.Text}})
				continue
			}
			one, reason := scopedItem(item, what, dir)
			if reason != "" {
				return reason
			}
			all = append(all, one)
		}
		*to = all
		return ""
	}}
}

func scopedItem(item *configfile.Node, what, dir string) (one registry.Scoped, reason string) {
	if item.Kind != configfile.Object {
		return one, "an item must be a name, or a mapping with path and " + what
	}
	for _, m := range item.Members {
		var values []string
		switch {
		case m.Value.Kind == configfile.Text:
			values = []string{m.Value.Text}
		case configfile.StringList.Check(m.Value) == "":
			values = m.Value.Strings()
		default:
			return one, m.Name + " must be a string or a list of strings"
		}
		switch m.Name {
		case "path", "paths", "pathPrefix", "pathPrefixes":
			for _, p := range values {
				if !filepath.IsAbs(p) && !strings.HasPrefix(p, "~") {
					p = filepath.Join(dir, p)
				}
				one.Paths = append(one.Paths, p)
			}
		case what, "values":
			one.Values = append(one.Values, values...)
		default:
			return one, "unknown field; the fields are path and " + what + configfile.Meant(m.Name, []string{"path", what})
		}
	}
	if len(one.Paths) == 0 || len(one.Values) == 0 {
		return one, "a mapping needs path and " + what
	}
	return one, ""
}

// instructions returns the setting of a text for the prompts of all sessions. The texts of several files add up.
func (c *config) instructions(path string) setting {
	get := func() any {
		texts := make([]string, 0, len(c.context.Instructions))
		for _, one := range c.context.Instructions {
			texts = append(texts, one.Text)
		}
		return texts
	}
	return setting{get: get, adds: true, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Text {
			return "must be a string"
		}
		if text := strings.TrimSpace(n.Text); text != "" {
			c.context.Instructions = append(c.context.Instructions, agent.Instruction{Path: path, Text: text})
		}
		return ""
	}}
}

// modelSettings returns the settings of models from the configuration, the environment and the command line. The error
// lists the mistakes of the configuration; the other settings are valid.
func (h *host) modelSettings(agentDir string, opts *options) (registry.Settings, error) {
	cfg := readConfig(agentDir, opts.configs, "")
	set := cfg.models
	if opts.profile != "" {
		set.Profile = opts.profile
	}
	set.Overrides = h.roleOverrides(opts)
	cfg.network.put(&set, agentDir)
	// A mistake must not let a conversation bypass a proxy, or reach a disabled provider.
	if err := cfg.stop(stopsModels); err != nil {
		set.HTTP.Unknown = fmt.Sprintf("what the configuration says of them cannot be read: %v", err)
	}
	if extra := h.getenv("NODE_EXTRA_CA_CERTS"); filepath.IsAbs(extra) && providers.HasCertificate(extra) {
		// Companies announce their own certificate authority to editors with this variable of Node. Like Node, gjc
		// ignores it if the file does not exist.
		set.HTTP.CAFiles = append(set.HTTP.CAFiles, extra)
	}
	home, homeErr := h.home()
	for _, list := range [][]registry.Scoped{set.EnabledModels, set.DisabledProviders} {
		for i := range list {
			for j, p := range list[i].Paths {
				if rest, ok := strings.CutPrefix(p, "~"); ok && homeErr == nil {
					list[i].Paths[j] = filepath.Join(home, rest)
				}
			}
		}
	}
	return set, cfg.err()
}

// roleVariables are the environment variables that name models, by role.
var roleVariables = map[string]string{
	registry.RoleSmol: "GJC_SMOL_MODEL", registry.RoleSlow: "GJC_SLOW_MODEL", registry.RolePlan: "GJC_PLAN_MODEL",
}

// roleOverrides returns the models that the command line and the environment name, by role.
func (h *host) roleOverrides(opts *options) map[string]string {
	all := map[string]string{registry.RoleDefault: opts.model}
	for role, variable := range roleVariables {
		all[role] = h.getenv(variable)
	}
	return all
}
