package providers

import (
	"errors"
	"slices"
)

// Fallback returns the model that stands in for one whose provider is out of order or whose account is used up: the next
// one of a list under "fallbacks" in models.yml that can be used. It reports false where there is none, and for an error
// that another model would get too.
func (r *Registry) Fallback(info ModelInfo, err error) (ModelInfo, bool) {
	e, ok := errors.AsType[*Error](err)
	if !ok || !e.Unavailable() {
		return ModelInfo{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	for _, chain := range r.config.fallbacks {
		at := slices.Index(chain, info.Ref())
		if at < 0 {
			continue
		}
		for _, ref := range chain[at+1:] {
			next, ok := r.exact(r.modelsLocked(), ref)
			if !ok {
				continue
			}
			if source, _ := r.availabilityLocked(&next); source != "" {
				return next, true
			}
		}
	}
	return ModelInfo{}, false
}
