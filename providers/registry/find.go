package registry

import (
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// Find returns the model that ref names, and the level in an optional ":level" suffix, or "". It tries ref, in this order, as
// "provider/id"; as a role, "gjc/role"; as a canonical id, of which it returns the best variant; as an id; and as words of a
// reference or name, for which it returns the first built-in model that contains them all, or the only such model in models.yml. It
// also finds models without a key. The error is a [*providers.NotFoundError], or for a role a [*RoleError].
func (r *Router) Find(ref string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	return r.state().find(ref)
}

// Lookup returns the model whose reference is exactly ref, "provider/id".
func (r *Router) Lookup(ref string) (providers.ModelInfo, bool) {
	all := r.state().enabledModels()
	if i := slices.IndexFunc(all, func(m providers.ModelInfo) bool { return m.Ref() == ref }); i >= 0 {
		return all[i], true
	}
	return providers.ModelInfo{}, false
}

func (s *state) find(ref string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	if role, ok := strings.CutPrefix(ref, rolePrefix); ok {
		base, level := splitLevel(role)
		target, err := s.roleRef(base)
		if err != nil {
			return providers.ModelInfo{}, "", err
		}
		info, own, err := s.find(target)
		if level != "" {
			own = providers.ThinkingLevel(level)
		}
		return info, own, err
	}
	all := s.enabledModels()
	// An id may contain a colon ("qwen3:8b"), so the whole reference is tried first.
	if info, ok := s.exact(all, ref); ok {
		return info, "", nil
	}
	base, level := splitLevel(ref)
	if level != "" {
		if info, ok := s.exact(all, base); ok {
			return info, providers.ThinkingLevel(level), nil
		}
	}
	info, err := s.fuzzy(all, base)
	if err != nil {
		return providers.ModelInfo{}, "", err
	}
	return info, providers.ThinkingLevel(level), nil
}

// exact finds a model by its reference, its canonical id or its id.
func (s *state) exact(all []providers.ModelInfo, ref string) (providers.ModelInfo, bool) {
	for i := range all {
		if all[i].Ref() == ref {
			return all[i], true
		}
	}
	for _, is := range []func(*providers.ModelInfo) bool{
		func(m *providers.ModelInfo) bool { return m.Canonical == ref },
		func(m *providers.ModelInfo) bool { return m.ID == ref },
	} {
		var variants []providers.ModelInfo
		for i := range all {
			if ref != "" && is(&all[i]) {
				variants = append(variants, all[i])
			}
		}
		if len(variants) > 0 {
			return s.best(variants), true
		}
	}
	return providers.ModelInfo{}, false
}

// best returns the preferred variant: a usable one, then one of a provider that is not disabled, then one of the first provider in
// the order of the settings, then the first one.
func (s *state) best(variants []providers.ModelInfo) providers.ModelInfo {
	rank := func(m *providers.ModelInfo) int {
		at := slices.Index(s.settings.ProviderOrder, m.Provider)
		if at < 0 {
			at = len(s.settings.ProviderOrder)
		}
		if source, _ := s.availability(m); source == "" {
			at += 2 * (len(s.settings.ProviderOrder) + 1)
		}
		if s.settings.disables(m.Provider) {
			at += len(s.settings.ProviderOrder) + 1
		}
		return at
	}
	best := 0
	for i := range variants {
		if rank(&variants[i]) < rank(&variants[best]) {
			best = i
		}
	}
	return variants[best]
}

// fuzzy finds a model by words: every word of ref must occur in the model's reference or name. Text before a slash must be the
// model's provider, or the maker in its id. Usable models take precedence.
func (s *state) fuzzy(all []providers.ModelInfo, ref string) (providers.ModelInfo, error) {
	words := strings.FieldsFunc(strings.ToLower(ref), func(c rune) bool { return strings.ContainsRune(" -_./:", c) })
	if len(words) == 0 {
		return providers.ModelInfo{}, &providers.NotFoundError{Ref: ref}
	}
	var usable, rest []providers.ModelInfo
	for i := range all {
		name := strings.ToLower(all[i].Ref() + " " + all[i].Name)
		if owner, _, slash := strings.Cut(ref, "/"); slash && !strings.EqualFold(owner, all[i].Provider) && !strings.EqualFold(owner, maker(all[i].ID)) {
			continue
		}
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(name, w) }) {
			continue
		}
		if source, _ := s.availability(&all[i]); source != "" {
			usable = append(usable, all[i])
		} else {
			rest = append(rest, all[i])
		}
	}
	for _, found := range [][]providers.ModelInfo{usable, rest} {
		if len(found) == 0 {
			continue
		}
		// The built-in catalogue lists the newest and best model of a kind first. Other models have no such order.
		var variants []providers.ModelInfo
		ordered := s.builtIn[found[0].Provider]
		for i := range found {
			if canonicalOrID(&found[i]) == canonicalOrID(&found[0]) {
				variants = append(variants, found[i])
			} else if !s.builtIn[found[i].Provider] {
				ordered = false
			}
		}
		if ordered || len(variants) == len(found) {
			return s.best(variants), nil
		}
		e := &providers.NotFoundError{Ref: ref, Ambiguous: true}
		for i := range found[:min(len(found), 5)] {
			e.Near = append(e.Near, found[i].Ref())
		}
		return providers.ModelInfo{}, e
	}
	return providers.ModelInfo{}, &providers.NotFoundError{Ref: ref, Near: near(all, ref)}
}

// maker returns the part of an id before the slash; empty if there is no slash.
func maker(id string) string {
	if before, _, slash := strings.Cut(id, "/"); slash {
		return before
	}
	return ""
}

// near returns the references of the models that are most similar to ref, at most five.
func near(all []providers.ModelInfo, ref string) []string {
	type scored struct {
		ref   string
		score int
	}
	want := strings.ToLower(ref)
	_, wantID, _ := strings.Cut(want, "/")
	if wantID == "" {
		wantID = want
	}
	var list []scored
	for i := range all {
		have, id := strings.ToLower(all[i].Ref()), strings.ToLower(all[i].ID)
		score := min(text.Distance(want, have), text.Distance(want, id), text.Distance(wantID, id))
		if strings.Contains(have, want) || strings.Contains(id, wantID) {
			score = 0
		}
		if score <= len(wantID)/3 {
			list = append(list, scored{all[i].Ref(), score})
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int { return a.score - b.score })
	var refs []string
	for _, s := range list[:min(len(list), 5)] {
		refs = append(refs, s.ref)
	}
	return refs
}
