package contextwindow

import (
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// Promotion finds models with a larger window.
type Promotion struct {
	// Find returns the model that "provider/id" names.
	Find func(ref string) (providers.ModelInfo, error)
	// Usable reports whether a model can be opened.
	Usable func(providers.ModelInfo) bool
	// All returns all models.
	All func() []providers.ModelInfo
}

// Target returns the model with a larger window that a session changes to: the model named by from, or else the smallest larger
// model of the same provider and API. It returns false if there is none.
func (p *Promotion) Target(from *providers.ModelInfo) (providers.ModelInfo, bool) {
	larger := func(to *providers.ModelInfo) bool {
		return to.Ref() != from.Ref() && from.ContextWindow > 0 && to.ContextWindow > from.ContextWindow && p.Usable(*to)
	}
	if ref := from.ContextPromotionTarget; ref != "" {
		if !strings.Contains(ref, "/") {
			ref = from.Provider + "/" + ref
		}
		to, err := p.Find(ref)
		if err != nil && strings.Contains(from.ContextPromotionTarget, "/") {
			// A model ID can also contain a slash.
			to, err = p.Find(from.Provider + "/" + from.ContextPromotionTarget)
		}
		if err == nil && larger(&to) {
			return to, true
		}
	}
	all := p.All()
	slices.SortStableFunc(all, func(a, b providers.ModelInfo) int { return a.ContextWindow - b.ContextWindow })
	for _, to := range all {
		if to.Provider == from.Provider && to.API == from.API && larger(&to) {
			return to, true
		}
	}
	return providers.ModelInfo{}, false
}
