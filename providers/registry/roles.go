package registry

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/providers"
)

// The roles that gjc has a use for. A configuration may have more: any name will do.
const (
	// RoleDefault is the model of a new session.
	RoleDefault = "default"
	// RoleSmol is for small things: titles, and summaries where the session's own model gives none.
	RoleSmol = "smol"
	// RolePlan, RoleSlow and RoleCommit are for planning, for hard questions and for commit messages. Helper agents ask for the
	// first two; the last is the user's to name, as "gjc/commit".
	RolePlan   = "plan"
	RoleSlow   = "slow"
	RoleCommit = "commit"
)

// rolePrefix stands before the name of a role where a model is expected: "gjc/smol".
const rolePrefix = "gjc/"

// Settings are what config.yml, the environment and the command line say of models.
type Settings struct {
	// Overrides are models by role that count before everything, those of the environment and the command line.
	Overrides map[string]string
	// Profile is the profile in use; empty for none.
	Profile string
	// Roles are models by role, from config.yml. Those of models.yml count less.
	Roles map[string]string
	// ProviderOrder are the providers that come first among several that have a model.
	ProviderOrder []string
	// EnabledModels, if there are any, are the only models that are listed: references, ids, or patterns with *.
	EnabledModels []Scoped
	// DisabledProviders are not listed.
	DisabledProviders []Scoped
	// HTTP says how servers are reached.
	HTTP providers.HTTPOptions
	// FirstByteTimeout and StallTimeout are those of [Config].
	FirstByteTimeout, StallTimeout time.Duration
}

// Scoped are values that hold everywhere, or below some directories.
type Scoped struct {
	// Paths are absolute directories; empty for everywhere.
	Paths  []string
	Values []string
}

// in reports whether the values hold for a session in dir; "" is a session anywhere.
func (s *Scoped) in(dir string) bool {
	if len(s.Paths) == 0 {
		return true
	}
	return dir != "" && slices.ContainsFunc(s.Paths, func(root string) bool {
		rel, err := filepath.Rel(root, dir)
		return err == nil && filepath.IsLocal(rel)
	})
}

// disables reports whether a provider is disabled everywhere.
func (s *Settings) disables(provider string) bool {
	return slices.ContainsFunc(s.DisabledProviders, func(d Scoped) bool { return len(d.Paths) == 0 && slices.Contains(d.Values, provider) })
}

// DisabledIn reports whether a provider is disabled for sessions in dir. Its models are found by their names all the same.
func (r *Registry) DisabledIn(provider, dir string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	return slices.ContainsFunc(r.set.DisabledProviders, func(d Scoped) bool { return d.in(dir) && slices.Contains(d.Values, provider) })
}

// listed leaves out the models that are not to be listed for a session in dir. The models of the provider last stay.
func (s *Settings) listed(models []providers.ModelInfo, dir, last string) []providers.ModelInfo {
	var enabled, disabled []string
	for _, e := range s.EnabledModels {
		if e.in(dir) {
			enabled = append(enabled, e.Values...)
		}
	}
	for _, d := range s.DisabledProviders {
		if d.in(dir) {
			disabled = append(disabled, d.Values...)
		}
	}
	return slices.DeleteFunc(models, func(m providers.ModelInfo) bool {
		if m.Provider == last {
			return false
		}
		return slices.Contains(disabled, m.Provider) || len(enabled) > 0 && !slices.ContainsFunc(enabled, func(pattern string) bool {
			return fits(pattern, m.Ref()) || fits(pattern, m.ID) || fits(pattern, m.Canonical)
		})
	})
}

// A RoleError says why a role has no model.
type RoleError struct {
	Role string
	// Reason is for people. With Unset, nothing is configured for the role, which is no mistake.
	Reason string
	Unset  bool
	Err    error
}

func (e *RoleError) Error() string {
	s := fmt.Sprintf("the role %q %s", e.Role, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *RoleError) Unwrap() error { return e.Err }

// Role returns the model for a role, and the level that the configuration gives it, or "". A model that cannot be used is
// not returned. The error is a [*RoleError].
func (r *Registry) Role(name string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	ref, err := r.roleLocked(name)
	if err != nil {
		return providers.ModelInfo{}, "", err
	}
	info, level, err := r.findLocked(ref)
	if err != nil {
		return providers.ModelInfo{}, "", &RoleError{Role: name, Reason: "has a model that there is not", Err: err}
	}
	if source, why := r.availabilityLocked(&info); source == "" {
		return providers.ModelInfo{}, "", &RoleError{Role: name, Reason: "has the model " + info.Ref() + ", which cannot be used: " + why.text}
	}
	return info, level, nil
}

// Roles returns the roles that have a model, by name, and the model as the configuration writes it.
func (r *Registry) Roles() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	all := map[string]string{}
	for name := range r.rolesLocked() {
		if ref, err := r.roleLocked(name); err == nil {
			all[name] = ref
		}
	}
	return all
}

// AgentModel returns the model that models.yml binds to a helper agent, as "provider/id" with an optional ":level"; empty
// for none.
func (r *Registry) AgentModel(agent string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	return r.config.agentModels[agent]
}

// rolesLocked are the models by role, of all places, as they are written.
func (r *Registry) rolesLocked() map[string]string {
	all := maps.Clone(r.config.roles)
	if all == nil {
		all = map[string]string{}
	}
	put := func(roles map[string]string) {
		for name, ref := range roles {
			if ref != "" {
				all[name] = ref
			}
		}
	}
	put(r.set.Roles)
	if p, err := r.profileLocked(r.set.Profile); err == nil {
		put(p.Models)
	}
	put(r.set.Overrides)
	return all
}

// roleLocked follows a role to a model. The level of the role that was asked for counts before those on the way.
func (r *Registry) roleLocked(name string) (string, error) {
	roles := r.rolesLocked()
	level, at := "", name
	for seen := []string{name}; ; {
		ref := roles[at]
		if ref == "" {
			return "", &RoleError{Role: name, Reason: fmt.Sprintf("has no model; set modelRoles.%s", at), Unset: true}
		}
		next, isRole := strings.CutPrefix(ref, rolePrefix)
		if isRole {
			base, suffix := splitLevel(next)
			if level == "" {
				level = suffix
			}
			if slices.Contains(seen, base) {
				return "", &RoleError{Role: name, Reason: "comes back to itself: " + strings.Join(append(seen, base), ", ")}
			}
			seen, at = append(seen, base), base
			continue
		}
		if level == "" {
			return ref, nil
		}
		base, _ := splitLevel(ref)
		return base + ":" + level, nil
	}
}

// splitLevel takes a level off the end of a reference; level is empty where there is none.
func splitLevel(ref string) (base, level string) {
	if i := strings.LastIndexByte(ref, ':'); i > 0 {
		if _, ok := providers.ParseThinkingLevel(ref[i+1:]); ok {
			return ref[:i], ref[i+1:]
		}
	}
	return ref, ""
}
