package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/providers"
)

// lists are the settings that are lists, by name. Path is that of the file.
func (c *config) lists(path string) map[string]setting {
	return map[string]setting{
		"enabledModels":      scoped(&c.models.EnabledModels, "models", filepath.Dir(path)),
		"disabledProviders":  scoped(&c.models.DisabledProviders, "providers", filepath.Dir(path)),
		"modelProviderOrder": words(&c.models.ProviderOrder),
	}
}

// role takes a model for a role; an empty one is none.
func (c *config) role(name string) setting {
	return func(n *configfile.Node) string {
		if n.Kind != configfile.Text || strings.ContainsAny(n.Text, ",\n\t") {
			return "must be a model, as provider/id or provider/id:level"
		}
		c.models.Roles[name] = n.Text
		return ""
	}
}

// name takes a word; an empty one is none.
func name(to *string) setting {
	return func(n *configfile.Node) string {
		if n.Kind != configfile.Text {
			return "must be a string"
		}
		*to = n.Text
		return ""
	}
}

func words(to *[]string) setting {
	return func(n *configfile.Node) string {
		if reason := configfile.StringList.Check(n); reason != "" {
			return "must be " + reason
		}
		*to = nil
		if len(n.List) > 0 {
			*to = n.Strings()
		}
		return ""
	}
}

// scoped takes a list whose items are words, which hold everywhere, and mappings of words to the directories below which
// they hold: under "path", "paths", "pathPrefix" or "pathPrefixes", with the words under the name what or "values". A
// relative directory is seen from dir, and ~ is the home directory of whoever reads it.
func scoped(to *[]providers.Scoped, what, dir string) setting {
	return func(n *configfile.Node) string {
		if n.Kind != configfile.List {
			return "must be a list"
		}
		var all []providers.Scoped
		for _, item := range n.List {
			if item.Kind == configfile.Text {
				all = append(all, providers.Scoped{Values: []string{item.Text}})
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
	}
}

func scopedItem(item *configfile.Node, what, dir string) (one providers.Scoped, reason string) {
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
			return one, "there is no field of that name; there is path and " + what
		}
	}
	if len(one.Paths) == 0 || len(one.Values) == 0 {
		return one, "a mapping needs path and " + what
	}
	return one, ""
}

// modelSettings are what the configuration, the environment and the command line say of models.
func (h *host) modelSettings(agentDir string, opts *options) (providers.RegistrySettings, error) {
	cfg, err := readConfig(agentDir, opts.configs)
	if err != nil {
		var none providers.RegistrySettings
		// A conversation must not go past a proxy, or to a provider that was disabled, because of a mistake elsewhere in the file.
		if mentions(err, agentDir, opts.configs, "network", "disabledProviders", "enabledModels") {
			none.HTTP.Unknown = fmt.Sprintf("what the configuration says of them cannot be read: %v; put that right and start gjc again", err)
		}
		return none, err
	}
	set := cfg.models
	if opts.profile != "" {
		set.Profile = opts.profile
	}
	set.Overrides = map[string]string{
		providers.RoleDefault: opts.model,
		providers.RoleSmol:    h.getenv("GJC_SMOL_MODEL"),
		providers.RoleSlow:    h.getenv("GJC_SLOW_MODEL"),
		providers.RolePlan:    h.getenv("GJC_PLAN_MODEL"),
	}
	cfg.network.put(&set, agentDir)
	if extra := h.getenv("NODE_EXTRA_CA_CERTS"); filepath.IsAbs(extra) && providers.HasCertificate(extra) {
		// The variable by which companies tell their own authority to editors and their tools. It is not ours: with a file that
		// is gone, Node goes on without it.
		set.HTTP.CAFiles = append(set.HTTP.CAFiles, extra)
	}
	home, homeErr := h.home()
	for _, list := range [][]providers.Scoped{set.EnabledModels, set.DisabledProviders} {
		for i := range list {
			for j, p := range list[i].Paths {
				if rest, ok := strings.CutPrefix(p, "~"); ok && homeErr == nil {
					list[i].Paths[j] = filepath.Join(home, rest)
				}
			}
		}
	}
	return set, nil
}
