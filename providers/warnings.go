package providers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Warnings returns what models.yml says of models and profiles that there are not, each a [*ConfigError]. The rest of the
// file holds. Models of a provider that is asked for its models are not missed: they may come later.
func (r *Registry) Warnings() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	var all []error
	warn := func(field, reason string) {
		if len(all) < mostFaults {
			all = append(all, &ConfigError{r.config.file, r.config.lineOf(field), field, reason})
		}
	}
	for i := range r.config.providers {
		p := &r.config.providers[i]
		for j := range p.overrides {
			if id := p.overrides[j].id; r.indexLocked(p.name, id) < 0 && !r.mayComeLocked(p.name) {
				warn("providers."+p.name+".modelOverrides."+id, "there is no such model of "+p.name+"; list it under models, or put the id right")
			}
		}
	}
	for i := range r.config.profiles {
		p := &r.config.profiles[i]
		if p.Extends != "" && !slices.ContainsFunc(r.profiles, func(o Profile) bool { return o.Name == p.Extends }) {
			warn("profiles."+p.Name+".extends", fmt.Sprintf("there is no profile %q; there are: %s", p.Extends, strings.Join(r.profileNames(), ", ")))
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(r.config.agentModels)) {
		if reason := r.missingLocked(r.config.agentModels[agent]); reason != "" {
			warn("modelBindings.agentModelOverrides."+agent, reason)
		}
	}
	for i, chain := range r.config.fallbacks {
		for j, ref := range chain {
			if reason := r.missingLocked(ref); reason != "" {
				warn(at(at("fallbacks", i), j), reason)
			}
		}
	}
	return all
}

// missingLocked says that there is no model of that name, or nothing.
func (r *Registry) missingLocked(ref string) string {
	_, _, err := r.findLocked(ref)
	if provider, _, ok := strings.Cut(ref, "/"); err == nil || ok && r.mayComeLocked(provider) {
		return ""
	}
	return err.Error()
}

// mayComeLocked reports whether a provider may get models that are not known yet.
func (r *Registry) mayComeLocked(provider string) bool {
	a := r.access[provider]
	return a != nil && (a.discovery != "" || r.opts.Factories[a.api] == nil) || r.disabled[provider]
}
