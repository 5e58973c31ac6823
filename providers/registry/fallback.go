package registry

import (
	"errors"

	"github.com/gajae-code/gjc/providers"
)

// Fallback returns the model that stands in for one whose provider is out of order or whose account is used up: the next
// one of a list under "fallbacks" in models.yml that can be used and is not among tried, by reference, and the level that the
// list gives it, or "". It reports false where there is none, and for an error that another model would get too.
func (r *Registry) Fallback(info providers.ModelInfo, err error, tried map[string]bool) (providers.ModelInfo, providers.ThinkingLevel, bool) {
	e, ok := errors.AsType[*providers.Error](err)
	if !ok || !e.Unavailable() {
		return providers.ModelInfo{}, "", false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	for _, chain := range r.config.fallbacks {
		behind := false
		for _, ref := range chain {
			next, level, err := r.findLocked(ref)
			if ref == info.Ref() || err == nil && next.Ref() == info.Ref() {
				behind = true
				continue
			}
			if !behind || err != nil || tried[next.Ref()] {
				continue
			}
			if source, _ := r.availabilityLocked(&next); source != "" {
				return next, level, true
			}
		}
	}
	return providers.ModelInfo{}, "", false
}
