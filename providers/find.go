package providers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/typo"
)

// A NotFoundError says that no model goes by a name, or several do.
type NotFoundError struct {
	Ref string
	// Near are references of models that may have been meant; at most five.
	Near []string
	// Ambiguous reports that the name fits all of Near.
	Ambiguous bool
}

func (e *NotFoundError) Error() string {
	switch {
	case e.Ambiguous:
		return fmt.Sprintf("%q fits several models; use one of: %s", e.Ref, strings.Join(e.Near, ", "))
	case len(e.Near) > 0:
		return fmt.Sprintf("there is no model %q; did you mean %s?", e.Ref, strings.Join(e.Near, ", "))
	}
	return fmt.Sprintf("there is no model %q; gjc models lists those that there are", e.Ref)
}

// Find returns the model called ref, with ":level" behind it or not, in this order: "provider/id"; a role, as "gjc/role"; a
// canonical id, whose best variant is meant (one that can be used, of the provider that comes first); an id; and last some
// words of a name, which mean the first model of the catalogue that has them, or the only one of models.yml. The level is
// empty where ref has none. A model is found with and without a key. The error is a [*NotFoundError], or for a role a
// [*RoleError].
func (r *Registry) Find(ref string) (ModelInfo, ThinkingLevel, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	return r.findLocked(ref)
}

// Lookup returns the model whose reference is ref, "provider/id", and no other.
func (r *Registry) Lookup(ref string) (ModelInfo, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	all := r.modelsLocked()
	if i := slices.IndexFunc(all, func(m ModelInfo) bool { return m.Ref() == ref }); i >= 0 {
		return all[i], true
	}
	return ModelInfo{}, false
}

func (r *Registry) findLocked(ref string) (ModelInfo, ThinkingLevel, error) {
	if role, is := strings.CutPrefix(ref, rolePrefix); is {
		base, level := splitLevel(role)
		target, err := r.roleLocked(base)
		if err != nil {
			return ModelInfo{}, "", err
		}
		info, own, err := r.findLocked(target)
		if level != "" {
			own = ThinkingLevel(level)
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
			return info, ThinkingLevel(level), nil
		}
	}
	info, err := r.fuzzy(all, base)
	if err != nil {
		return ModelInfo{}, "", err
	}
	return info, ThinkingLevel(level), nil
}

// exact finds a model by its whole name.
func (r *Registry) exact(all []ModelInfo, ref string) (ModelInfo, bool) {
	for i := range all {
		if all[i].Ref() == ref {
			return all[i], true
		}
	}
	for _, is := range []func(*ModelInfo) bool{
		func(m *ModelInfo) bool { return m.Canonical == ref },
		func(m *ModelInfo) bool { return m.ID == ref },
	} {
		var variants []ModelInfo
		for i := range all {
			if ref != "" && is(&all[i]) {
				variants = append(variants, all[i])
			}
		}
		if len(variants) > 0 {
			return r.best(variants), true
		}
	}
	return ModelInfo{}, false
}

// best returns the variant that is used where none is named: one that can be used, of a provider that is not disabled, of
// the first provider in the order of the settings, then in that of the models.
func (r *Registry) best(variants []ModelInfo) ModelInfo {
	rank := func(m *ModelInfo) int {
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
func (r *Registry) fuzzy(all []ModelInfo, ref string) (ModelInfo, error) {
	words := strings.FieldsFunc(strings.ToLower(ref), func(c rune) bool { return strings.ContainsRune(" -_./:", c) })
	if len(words) == 0 {
		return ModelInfo{}, &NotFoundError{Ref: ref}
	}
	var usable, rest []ModelInfo
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
	for _, found := range [][]ModelInfo{usable, rest} {
		if len(found) == 0 {
			continue
		}
		// The catalogue has the newest and best model of a kind first. Models that the user has listed have no such order.
		var variants []ModelInfo
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
		e := &NotFoundError{Ref: ref, Ambiguous: true}
		for i := range found[:min(len(found), 5)] {
			e.Near = append(e.Near, found[i].Ref())
		}
		return ModelInfo{}, e
	}
	return ModelInfo{}, &NotFoundError{Ref: ref, Near: near(all, ref)}
}

// maker is what stands before the slash of an id; empty for none.
func maker(id string) string {
	if before, _, slash := strings.Cut(id, "/"); slash {
		return before
	}
	return ""
}

// near returns the models that look most like ref.
func near(all []ModelInfo, ref string) []string {
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
