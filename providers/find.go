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
		return fmt.Sprintf("the model %q is offered by several providers; use one of: %s", e.Ref, strings.Join(e.Near, ", "))
	case len(e.Near) > 0:
		return fmt.Sprintf("there is no model %q; did you mean %s?", e.Ref, strings.Join(e.Near, ", "))
	}
	return fmt.Sprintf("there is no model %q; gjc models lists those that there are", e.Ref)
}

// Find returns the model called ref: "provider/id" or an id that only one provider has, both with ":level" behind it
// or not. The level is empty where ref has none. A model is found with and without a key. The error is a
// [*NotFoundError].
func (r *Registry) Find(ref string) (ModelInfo, ThinkingLevel, error) {
	all := r.All()
	// Ids may hold colons ("qwen3:8b"), so the whole name goes first.
	info, err := find(all, ref)
	if err == nil {
		return info, "", nil
	}
	if i := strings.LastIndexByte(ref, ':'); i > 0 {
		if level, ok := ParseThinkingLevel(ref[i+1:]); ok {
			info, err = find(all, ref[:i])
			return info, level, err
		}
	}
	return ModelInfo{}, "", err
}

func find(all []ModelInfo, ref string) (ModelInfo, error) {
	var byID []ModelInfo
	for i := range all {
		if all[i].Ref() == ref {
			return all[i], nil
		}
		if all[i].ID == ref {
			byID = append(byID, all[i])
		}
	}
	switch len(byID) {
	case 1:
		return byID[0], nil
	case 0:
		return ModelInfo{}, &NotFoundError{Ref: ref, Near: near(all, ref)}
	}
	e := &NotFoundError{Ref: ref, Ambiguous: true}
	for i := range byID {
		e.Near = append(e.Near, byID[i].Ref())
	}
	return ModelInfo{}, e
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
