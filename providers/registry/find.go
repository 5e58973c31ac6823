package registry

import (
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/typo"
	"github.com/gajae-code/gjc/providers"
)

// Find returns the model called ref, with ":level" behind it or not, in this order: "provider/id"; a role, as "gjc/role"; a
// canonical id, whose best variant is meant (one that can be used, of the provider that comes first); an id; and last some
// words of a name, which mean the first model of the catalogue that has them, or the only one of models.yml. The level is
// empty where ref has none. A model is found with and without a key. The error is a [*NotFoundError], or for a role a
// [*RoleError].
func (r *Registry) Find(ref string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	return r.findLocked(ref)
}

// Lookup returns the model whose reference is ref, "provider/id", and no other.
func (r *Registry) Lookup(ref string) (providers.ModelInfo, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	all := r.modelsLocked()
	if i := slices.IndexFunc(all, func(m providers.ModelInfo) bool { return m.Ref() == ref }); i >= 0 {
		return all[i], true
	}
	return providers.ModelInfo{}, false
}

func (r *Registry) findLocked(ref string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	if role, is := strings.CutPrefix(ref, rolePrefix); is {
		base, level := splitLevel(role)
		target, err := r.roleLocked(base)
		if err != nil {
			return providers.ModelInfo{}, "", err
		}
		info, own, err := r.findLocked(target)
		if level != "" {
			own = providers.ThinkingLevel(level)
		}
		return info, own, err
	}
	all := r.modelsLocked()
	// Ids may hold colons ("qwen3:8b"), so the whole name goes first.
	if info, ok := r.exact(all, ref); ok {
		return info, "", nil
	}
	base, level := splitLevel(ref)
	if level != "" {
		if info, ok := r.exact(all, base); ok {
			return info, providers.ThinkingLevel(level), nil
		}
	}
	info, err := r.fuzzy(all, base)
	if err != nil {
		return providers.ModelInfo{}, "", err
	}
	return info, providers.ThinkingLevel(level), nil
}

// exact finds a model by its whole name.
func (r *Registry) exact(all []providers.ModelInfo, ref string) (providers.ModelInfo, bool) {
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
			return r.best(variants), true
		}
	}
	return providers.ModelInfo{}, false
}

// best returns the variant that is used where none is named: one that can be used, of a provider that is not disabled, of
// the first provider in the order of the settings, then in that of the models.
func (r *Registry) best(variants []providers.ModelInfo) providers.ModelInfo {
	rank := func(m *providers.ModelInfo) int {
		at := slices.Index(r.set.ProviderOrder, m.Provider)
		if at < 0 {
			at = len(r.set.ProviderOrder)
		}
		if source, _ := r.availabilityLocked(m); source == "" {
			at += 2 * (len(r.set.ProviderOrder) + 1)
		}
		if r.set.disables(m.Provider) {
			at += len(r.set.ProviderOrder) + 1
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

// fuzzy finds the model that a part of a name fits. All words of the name, as they stand between its signs, must be in the
// model's reference or name; what stands before a slash must be its provider, or its maker as its id has it. Models that can
// be used count before those that cannot.
func (r *Registry) fuzzy(all []providers.ModelInfo, ref string) (providers.ModelInfo, error) {
	words := strings.FieldsFunc(strings.ToLower(ref), func(c rune) bool { return strings.ContainsRune(" -_./:", c) })
	if len(words) == 0 {
		return providers.ModelInfo{}, &providers.NotFoundError{Ref: ref}
	}
	var usable, rest []providers.ModelInfo
	for i := range all {
		name := strings.ToLower(all[i].Ref() + " " + all[i].Name)
		if of, _, slash := strings.Cut(ref, "/"); slash && !strings.EqualFold(of, all[i].Provider) && !strings.EqualFold(of, maker(all[i].ID)) {
			continue
		}
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(name, w) }) {
			continue
		}
		if source, _ := r.availabilityLocked(&all[i]); source != "" {
			usable = append(usable, all[i])
		} else {
			rest = append(rest, all[i])
		}
	}
	for _, found := range [][]providers.ModelInfo{usable, rest} {
		if len(found) == 0 {
			continue
		}
		// The catalogue has the newest and best model of a kind first. Models that the user has listed have no such order.
		var variants []providers.ModelInfo
		sure := r.builtIn[found[0].Provider]
		for i := range found {
			if orID(&found[i]) == orID(&found[0]) {
				variants = append(variants, found[i])
			} else if !r.builtIn[found[i].Provider] {
				sure = false
			}
		}
		if sure || len(variants) == len(found) {
			return r.best(variants), nil
		}
		e := &providers.NotFoundError{Ref: ref, Ambiguous: true}
		for i := range found[:min(len(found), 5)] {
			e.Near = append(e.Near, found[i].Ref())
		}
		return providers.ModelInfo{}, e
	}
	return providers.ModelInfo{}, &providers.NotFoundError{Ref: ref, Near: near(all, ref)}
}

// maker is what stands before the slash of an id; empty for none.
func maker(id string) string {
	if before, _, slash := strings.Cut(id, "/"); slash {
		return before
	}
	return ""
}

// near returns the models that look most like ref.
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
		score := min(typo.Distance(want, have), typo.Distance(want, id), typo.Distance(wantID, id))
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

// fits reports whether a pattern fits s; a * in it stands for any text.
func fits(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, behind, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = behind
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
