package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// mergeProfiles returns the built-in profiles and those of models.yml, which win.
func mergeProfiles(built []catalogueProfile, own []Profile) []Profile {
	var all []Profile
	for _, p := range built {
		if !slices.ContainsFunc(own, func(o Profile) bool { return o.Name == p.Name }) {
			all = append(all, Profile{Name: p.Name, RequiredProviders: p.Requires, Models: p.Models})
		}
	}
	return append(all, own...)
}

// Profiles returns the profiles, the built-in ones first, with what they take from others.
func (r *Registry) Profiles() []Profile {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	var all []Profile
	for _, p := range r.profiles {
		if whole, err := r.profileLocked(p.Name); err == nil {
			p = whole
		}
		all = append(all, p)
	}
	return all
}

// CheckProfile says why a profile cannot be used: it does not exist, one of its providers has no key, or one of its models
// is not there. An empty name is no profile, and fine.
func (r *Registry) CheckProfile(name string) error {
	if name == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	p, err := r.profileLocked(name)
	if err != nil {
		return err
	}
	for _, id := range p.RequiredProviders {
		if r.access[id] == nil {
			return fmt.Errorf("the profile %q needs the provider %q, which there is not", name, id)
		}
		if !r.authorizedLocked(id) {
			return fmt.Errorf("the profile %q needs a key for %s; run gjc login %s, or set %s", name, id, id, strings.Join(r.variablesLocked(id), " or "))
		}
	}
	for _, role := range slices.Sorted(maps.Keys(p.Models)) {
		ref := p.Models[role]
		if strings.HasPrefix(ref, rolePrefix) {
			continue
		}
		if _, _, err := r.findLocked(ref); err != nil {
			return fmt.Errorf("the profile %q, role %q: %w", name, role, err)
		}
	}
	return nil
}

// profileLocked returns a profile with all that it takes from others.
func (r *Registry) profileLocked(name string) (Profile, error) {
	var whole Profile
	for at, seen := name, []string{}; ; {
		i := slices.IndexFunc(r.profiles, func(p Profile) bool { return p.Name == at })
		if i < 0 {
			return Profile{}, fmt.Errorf("there is no profile %q; there are: %s", at, strings.Join(r.profileNames(), ", "))
		}
		if slices.Contains(seen, at) {
			return Profile{}, fmt.Errorf("the profile %q extends itself", name)
		}
		seen = append(seen, at)
		p := r.profiles[i]
		if whole.Name == "" {
			whole = Profile{Name: p.Name, Extends: p.Extends, line: p.line}
		}
		whole.Models = providers.Overlay(whole.Models, p.Models)
		for _, id := range p.RequiredProviders {
			if !slices.Contains(whole.RequiredProviders, id) {
				whole.RequiredProviders = append(whole.RequiredProviders, id)
			}
		}
		if at = p.Extends; at == "" {
			return whole, nil
		}
	}
}

func (r *Registry) profileNames() []string {
	names := make([]string, len(r.profiles))
	for i := range r.profiles {
		names[i] = r.profiles[i].Name
	}
	return names
}

// authorizedLocked reports whether some model of the provider can be used.
func (r *Registry) authorizedLocked(id string) bool {
	for i := range r.models {
		if m := r.models[i]; m.Provider == id {
			m = r.routedLocked(m)
			if source, _ := r.availabilityLocked(&m); source != "" {
				return true
			}
		}
	}
	return r.sourceLocked(id).name != ""
}

// Profile returns the name of the profile in use, empty for none.
func (r *Registry) Profile() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	return r.set.Profile
}
