package registry

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/providers"
)

// Settings are the model settings of config.yml, the environment and the command line.
type Settings struct {
	// Overrides are models by role, from the environment and the command line. They take precedence over all others.
	Overrides map[string]string
	// Profile is the profile in use; empty for none.
	Profile string
	// Roles are models by role, from config.yml. They take precedence over those of models.yml.
	Roles map[string]string
	// ProviderOrder lists the preferred providers among several that have a model.
	ProviderOrder []string
	// EnabledModels restricts the models that are listed, if it is not empty. The values are references, ids, or patterns
	// with *.
	EnabledModels []Scoped
	// DisabledProviders are not listed.
	DisabledProviders []Scoped
	// HTTP configures connections to servers.
	HTTP providers.HTTPOptions
	// FirstByteTimeout and StallTimeout have the same meaning as in [providers.Config].
	FirstByteTimeout, StallTimeout time.Duration
}

// Scoped holds values that apply everywhere or only in some directories.
type Scoped struct {
	// Paths are absolute directories. The values apply in and below them. If empty, they apply everywhere.
	Paths  []string
	Values []string
}

// in reports whether the values apply to a session in dir. An empty dir stands for no directory.
func (s *Scoped) in(dir string) bool {
	if len(s.Paths) == 0 {
		return true
	}
	return dir != "" && slices.ContainsFunc(s.Paths, func(root string) bool {
		rel, err := filepath.Rel(root, dir)
		return err == nil && filepath.IsLocal(rel)
	})
}

// disables reports whether a provider is disabled everywhere. Values for some directories do not apply to sessions without a
// directory.
func (s *Settings) disables(provider string) bool { return s.disablesIn(provider, "") }

// disablesIn reports whether a provider is disabled for sessions in dir.
func (s *Settings) disablesIn(provider, dir string) bool {
	return slices.ContainsFunc(s.DisabledProviders, func(d Scoped) bool { return d.in(dir) && slices.Contains(d.Values, provider) })
}

// enabled removes the models that are not listed for a session in dir from models. It keeps all models of the provider named by
// always.
func (s *Settings) enabled(models []providers.ModelInfo, dir, always string) []providers.ModelInfo {
	var patterns []string
	for _, e := range s.EnabledModels {
		if e.in(dir) {
			patterns = append(patterns, e.Values...)
		}
	}
	return slices.DeleteFunc(models, func(m providers.ModelInfo) bool {
		if m.Provider == always {
			return false
		}
		return s.disablesIn(m.Provider, dir) || len(patterns) > 0 && !slices.ContainsFunc(patterns, func(pattern string) bool {
			return matches(pattern, m.Ref()) || matches(pattern, m.ID) || matches(pattern, m.Canonical)
		})
	})
}

// matches reports whether s matches pattern, in which * stands for any text.
func matches(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
