package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// A Profile is a set of models for roles.
type Profile struct {
	Name string
	// Extends names the profile that provides what this one omits; empty for none.
	Extends string
	// RequiredProviders lists the providers that need a key before the profile can be used.
	RequiredProviders []string
	// Models holds "provider/id" or "provider/id:level", by role.
	Models map[string]string
}

// mergeProfiles returns the built-in profiles that own does not replace, followed by own.
func mergeProfiles(built []builtInProfile, own []Profile) []Profile {
	var all []Profile
	for _, p := range built {
		if !slices.ContainsFunc(own, func(o Profile) bool { return o.Name == p.Name }) {
			all = append(all, Profile{Name: p.Name, RequiredProviders: p.Requires, Models: p.Models})
		}
	}
	return append(all, own...)
}

// Profiles returns the profiles, including what they inherit, the built-in ones first.
func (c *Catalogue) Profiles() []Profile {
	l := c.listing()
	var all []Profile
	for _, p := range l.profiles {
		if resolved, err := l.profile(p.Name); err == nil {
			p = resolved
		}
		all = append(all, p)
	}
	return all
}

// profile returns a profile with everything that it inherits.
func (l *listing) profile(name string) (Profile, error) {
	var resolved Profile
	for at, seen := name, []string{}; ; {
		i := slices.IndexFunc(l.profiles, func(p Profile) bool { return p.Name == at })
		if i < 0 {
			return Profile{}, fmt.Errorf("unknown profile %q; the profiles are: %s", at, strings.Join(l.profileNames(), ", "))
		}
		if slices.Contains(seen, at) {
			return Profile{}, fmt.Errorf("the profile %q extends itself", name)
		}
		seen = append(seen, at)
		p := l.profiles[i]
		if resolved.Name == "" {
			resolved = Profile{Name: p.Name, Extends: p.Extends}
		}
		resolved.Models = providers.Overlay(resolved.Models, p.Models)
		for _, id := range p.RequiredProviders {
			if !slices.Contains(resolved.RequiredProviders, id) {
				resolved.RequiredProviders = append(resolved.RequiredProviders, id)
			}
		}
		if at = p.Extends; at == "" {
			return resolved, nil
		}
	}
}

func (l *listing) profileNames() []string {
	names := make([]string, len(l.profiles))
	for i := range l.profiles {
		names[i] = l.profiles[i].Name
	}
	return names
}

// CheckProfile returns an error if a profile cannot be used, because it does not exist, one of its providers has no key, or one of
// its models does not exist. An empty name means no profile and is valid.
func (r *Router) CheckProfile(name string) error {
	if name == "" {
		return nil
	}
	s := r.state()
	p, err := s.profile(name)
	if err != nil {
		return err
	}
	for _, id := range p.RequiredProviders {
		if s.providers[id] == nil {
			return fmt.Errorf("the profile %q needs the provider %q, which does not exist", name, id)
		}
		if !s.authorized(id) {
			return fmt.Errorf("the profile %q needs a key for %s; run gjc login %s, or set %s", name, id, id, strings.Join(s.keyVariables(id), " or "))
		}
	}
	for _, role := range slices.Sorted(maps.Keys(p.Models)) {
		ref := p.Models[role]
		if strings.HasPrefix(ref, rolePrefix) {
			continue
		}
		if _, _, err := s.find(ref); err != nil {
			return fmt.Errorf("the profile %q, role %q: %w", name, role, err)
		}
	}
	return nil
}

// authorized reports whether some model of the provider can be used.
func (s *state) authorized(id string) bool {
	for i := range s.models {
		if m := s.models[i]; m.Provider == id {
			m = s.routed(m)
			if source, _ := s.availability(&m); source != "" {
				return true
			}
		}
	}
	return s.source(id).name != ""
}
