package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// Warnings returns what models.yml says of models and profiles that there are not, and of models what they have not, each a
// [*ConfigError]. The rest of the file holds. Models of a provider that is asked for its models are not missed: they may come later.
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
			id := p.overrides[j].id
			field := "providers." + p.name + ".modelOverrides." + id
			if r.indexLocked(p.name, id) < 0 && !r.mayComeLocked(p.name) {
				warn(field, "there is no such model of "+p.name+"; list it under models, or put the id right")
			}
			r.warnOfModelLocked(p.name, &p.overrides[j], field, warn)
		}
		for j := range p.models {
			r.warnOfModelLocked(p.name, &p.models[j], at("providers."+p.name+".models", j), warn)
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

// warnOfModelLocked warns of what the file says of a model that there is and that does not fit to it.
func (r *Registry) warnOfModelLocked(provider string, m *fileModel, field string, warn func(field, reason string)) {
	i := r.indexLocked(provider, m.id)
	if i < 0 {
		return
	}
	info := &r.models[i]
	if m.maxTokens != nil && info.ContextWindow > 0 && *m.maxTokens > info.ContextWindow {
		warn(field+".maxTokens", fmt.Sprintf("is larger than the window of the model, which has %d tokens; give contextWindow too", info.ContextWindow))
	}
	if t := m.thinking; t != nil && t.standard != "" && t.standard != info.DefaultThinking {
		warn(field+".thinking.defaultLevel", fmt.Sprintf("the model does not have this level; %s is used", info.DefaultThinking))
	}
	if m.promotion != "" {
		if reason := r.badPromotionLocked(info, m.promotion); reason != "" {
			warn(field+".contextPromotionTarget", reason)
		}
	}
}

// badPromotionLocked says why no conversation can go over to the model that is to take over from another one, or nothing.
func (r *Registry) badPromotionLocked(from *providers.ModelInfo, target string) string {
	ofProvider, ref := from.Provider+"/"+target, target
	if !strings.Contains(ref, "/") {
		ref = ofProvider
	}
	to, _, err := r.findLocked(ref)
	if err != nil {
		// The id of a model can have a slash too.
		if other, _, otherErr := r.findLocked(ofProvider); otherErr == nil {
			to, err = other, nil
		}
	}
	switch {
	case err == nil && to.Ref() == from.Ref():
		return "must be another model than this one"
	case err == nil || r.mayComeLocked(from.Provider):
		return ""
	}
	return r.missingLocked(ref)
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
