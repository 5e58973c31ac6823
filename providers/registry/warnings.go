package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// Warnings returns, as [*ConfigError] values, the mistakes of models.yml that do not invalidate the file: unknown models and
// profiles, and values that do not suit a model. It does not report models that may be discovered later.
func (r *Router) Warnings() []error {
	s := r.state()
	var all []error
	warn := func(field, reason string) {
		if len(all) < mostFaults {
			all = append(all, &ConfigError{s.file.path, s.file.lineOf(field), field, reason})
		}
	}
	for i := range s.file.providers {
		p := &s.file.providers[i]
		for j := range p.overrides {
			id := p.overrides[j].id
			field := "providers." + p.name + ".modelOverrides." + id
			if s.index(p.name, id) < 0 && !s.mayGrow(p.name) {
				warn(field, ""+p.name+" has no such model; list it under models, or correct the id")
			}
			s.warnOfModel(p.name, &p.overrides[j], field, warn)
		}
		for j := range p.models {
			s.warnOfModel(p.name, &p.models[j], at("providers."+p.name+".models", j), warn)
		}
	}
	for i := range s.file.profiles {
		p := &s.file.profiles[i]
		if p.Extends != "" && !slices.ContainsFunc(s.profiles, func(o Profile) bool { return o.Name == p.Extends }) {
			warn("profiles."+p.Name+".extends", fmt.Sprintf("unknown profile %q; the profiles are: %s", p.Extends, strings.Join(s.profileNames(), ", ")))
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(s.file.agentModels)) {
		if reason := s.unknownModel(s.file.agentModels[agent]); reason != "" {
			warn("modelBindings.agentModelOverrides."+agent, reason)
		}
	}
	for i, chain := range s.file.fallbacks {
		for j, ref := range chain {
			if reason := s.unknownModel(ref); reason != "" {
				warn(at(at("fallbacks", i), j), reason)
			}
		}
	}
	return all
}

// warnOfModel reports the values of models.yml that do not suit the model.
func (s *state) warnOfModel(provider string, m *fileModel, field string, warn func(field, reason string)) {
	i := s.index(provider, m.id)
	if i < 0 {
		return
	}
	info := &s.models[i]
	if m.maxTokens != nil && info.ContextWindow > 0 && *m.maxTokens > info.ContextWindow {
		warn(field+".maxTokens", fmt.Sprintf("exceeds the model's context window of %d tokens; set contextWindow too", info.ContextWindow))
	}
	if t := m.thinking; t != nil && t.standard != "" && t.standard != info.DefaultThinking {
		warn(field+".thinking.defaultLevel", fmt.Sprintf("the model does not support this level; %s is used", info.DefaultThinking))
	}
	if m.promotion != "" {
		if reason := s.badPromotion(info, m.promotion); reason != "" {
			warn(field+".contextPromotionTarget", reason)
		}
	}
}

// badPromotion returns why a conversation cannot be promoted from one model to target; empty if it can.
func (s *state) badPromotion(from *providers.ModelInfo, target string) string {
	ofProvider, ref := from.Provider+"/"+target, target
	if !strings.Contains(ref, "/") {
		ref = ofProvider
	}
	to, _, err := s.find(ref)
	if err != nil {
		// The id of a model may contain a slash too.
		if other, _, otherErr := s.find(ofProvider); otherErr == nil {
			to, err = other, nil
		}
	}
	switch {
	case err == nil && to.Ref() == from.Ref():
		return "must be a different model"
	case err == nil || s.mayGrow(from.Provider):
		return ""
	}
	return s.unknownModel(ref)
}

// unknownModel returns an error text if no model has the reference; empty if one has it or may be discovered.
func (s *state) unknownModel(ref string) string {
	_, _, err := s.find(ref)
	if provider, _, ok := strings.Cut(ref, "/"); err == nil || ok && s.mayGrow(provider) {
		return ""
	}
	return err.Error()
}
