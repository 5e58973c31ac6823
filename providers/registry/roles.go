package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// The roles that gjc uses. A configuration may define others under any name.
const (
	// RoleDefault is for new sessions.
	RoleDefault = "default"
	// RoleSmol is for small tasks: titles, and summaries if the session's own model returns none.
	RoleSmol = "smol"
	// RolePlan is for planning and RoleSlow for hard questions; helper agents use both.
	RolePlan = "plan"
	RoleSlow = "slow"
)

// rolePrefix marks the name of a role where a model is expected: "gjc/smol".
const rolePrefix = "gjc/"

// A RoleError reports that a role has no usable model.
type RoleError struct {
	Role string
	// Reason completes a sentence whose subject is the role.
	Reason string
	// Unset reports that no model is configured for the role, which is not a mistake.
	Unset bool
	Err   error
}

func (e *RoleError) Error() string {
	s := fmt.Sprintf("the role %q %s", e.Role, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *RoleError) Unwrap() error { return e.Err }

// Role returns the model for a role, and the level that the configuration gives it, or "". It fails if the model cannot be used.
// The error is a [*RoleError].
func (r *Router) Role(name string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	return r.state().role(name)
}

func (s *state) role(name string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	ref, err := s.roleRef(name)
	if err != nil {
		return providers.ModelInfo{}, "", err
	}
	info, level, err := s.find(ref)
	if err != nil {
		return providers.ModelInfo{}, "", &RoleError{Role: name, Reason: "names an unknown model", Err: err}
	}
	if source, why := s.availability(&info); source == "" {
		return providers.ModelInfo{}, "", &RoleError{Role: name, Reason: "has the model " + info.Ref() + ", which cannot be used: " + why.text}
	}
	return info, level, nil
}

// Roles returns the models by role, as written in the configuration. It omits roles without a model.
func (r *Router) Roles() map[string]string {
	s := r.state()
	all := map[string]string{}
	for name := range s.roleRefs() {
		if ref, err := s.roleRef(name); err == nil {
			all[name] = ref
		}
	}
	return all
}

// roleRefs returns the models by role, as written, from models.yml, the settings, the profile and the overrides.
func (l *listing) roleRefs() map[string]string {
	all := maps.Clone(l.file.roles)
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
	put(l.settings.Roles)
	if p, err := l.profile(l.settings.Profile); err == nil {
		put(p.Models)
	}
	put(l.settings.Overrides)
	return all
}

// roleRef resolves a role to a model. A level on the first role takes precedence over those on the roles that it refers to.
func (l *listing) roleRef(name string) (string, error) {
	refs := l.roleRefs()
	level, at := "", name
	for seen := []string{name}; ; {
		ref := refs[at]
		if ref == "" {
			return "", &RoleError{Role: name, Reason: fmt.Sprintf("has no model; set modelRoles.%s", at), Unset: true}
		}
		next, isRole := strings.CutPrefix(ref, rolePrefix)
		if !isRole {
			if level == "" {
				return ref, nil
			}
			base, _ := splitLevel(ref)
			return base + ":" + level, nil
		}
		base, suffix := splitLevel(next)
		if level == "" {
			level = suffix
		}
		if slices.Contains(seen, base) {
			return "", &RoleError{Role: name, Reason: "refers to itself: " + strings.Join(append(seen, base), ", ")}
		}
		seen, at = append(seen, base), base
	}
}

// splitLevel splits a thinking level from the end of a reference. The level is empty if there is none.
func splitLevel(ref string) (base, level string) {
	if i := strings.LastIndexByte(ref, ':'); i > 0 {
		if _, ok := providers.ParseThinkingLevel(ref[i+1:]); ok {
			return ref[:i], ref[i+1:]
		}
	}
	return ref, ""
}

// Fallback returns the model that replaces one that failed with err: the next usable model of a list under "fallbacks" in
// models.yml whose reference is not in tried. It also returns the level that the list specifies, or "". It reports false if there
// is no such model, or if another model would fail with err too.
func (r *Router) Fallback(info providers.ModelInfo, err error, tried map[string]bool) (providers.ModelInfo, providers.ThinkingLevel, bool) {
	e, ok := errors.AsType[*providers.Error](err)
	if !ok || !e.Unavailable() {
		return providers.ModelInfo{}, "", false
	}
	s := r.state()
	for _, chain := range s.file.fallbacks {
		reached := false
		for _, ref := range chain {
			next, level, err := s.find(ref)
			if ref == info.Ref() || err == nil && next.Ref() == info.Ref() {
				reached = true
				continue
			}
			if !reached || err != nil || tried[next.Ref()] {
				continue
			}
			if source, _ := s.availability(&next); source != "" {
				return next, level, true
			}
		}
	}
	return providers.ModelInfo{}, "", false
}
