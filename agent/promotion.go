package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// ModelLister is what a [Models] may be too: then a session can find a larger model by itself.
type ModelLister interface {
	// Models returns the models that can be used.
	Models() []providers.ModelInfo
}

// promotionReason stands in the log with a model that a session has gone over to for its window.
const promotionReason = "context-promotion"

// promote goes over to a model with a larger window, if the settings allow that and there is one. It reports whether it
// did.
func (t *Turn) promote(ctx context.Context) (bool, error) {
	s := t.session
	if !s.settings.ContextPromotion || ctx.Err() != nil {
		return false, nil
	}
	snap, err := s.Snapshot()
	if err != nil {
		return false, err
	}
	from := snap.Model
	to, ok := s.promotionTarget(ctx, &from)
	if !ok {
		return false, nil
	}
	promoted := false
	err = t.do(func(st *state) error {
		if st.model.Ref() != from.Ref() {
			return nil // the user has chosen another one meanwhile
		}
		change := sessions.ModelChange{Model: to.Ref(), PreviousModel: from.Ref(), Reason: promotionReason}
		if _, err := s.opts.Log.Append(change); err != nil {
			return s.unsaved(st, err)
		}
		// The larger model counts differently: what was measured is a guess now.
		st.model, st.ratio = to, 0
		promoted = true
		if err := s.fitToModel(st, st.thinking); err != nil {
			return err
		}
		s.emit(ConfigChanged{Now: st.snapshot()})
		s.emit(Noticed{
			Severity: SeverityInfo,
			Title:    fmt.Sprintf("The conversation has outgrown %s; going on with %s.", from.Ref(), to.Ref()),
		})
		s.emit(st.used(st.next()))
		return nil
	})
	return promoted && err == nil, err
}

// promotionTarget finds the model that a session goes over to: the one that the model names, else the smallest larger
// one of the same provider and API. One that cannot be opened is none.
func (s *Session) promotionTarget(ctx context.Context, from *providers.ModelInfo) (providers.ModelInfo, bool) {
	usable := func(to *providers.ModelInfo) bool {
		if to.Ref() == from.Ref() || from.ContextWindow <= 0 || to.ContextWindow <= from.ContextWindow {
			return false
		}
		_, err := s.opts.Models.Open(ctx, *to)
		return err == nil
	}
	if ref := from.ContextPromotionTarget; ref != "" {
		if !strings.Contains(ref, "/") {
			ref = from.Provider + "/" + ref
		}
		to, _, err := s.opts.Models.Find(ref)
		if err != nil && strings.Contains(from.ContextPromotionTarget, "/") {
			// The id of a model can have a slash too.
			to, _, err = s.opts.Models.Find(from.Provider + "/" + from.ContextPromotionTarget)
		}
		if err == nil && usable(&to) {
			return to, true
		}
	}
	lister, ok := s.opts.Models.(ModelLister)
	if !ok {
		return providers.ModelInfo{}, false
	}
	larger := lister.Models()
	slices.SortStableFunc(larger, func(a, b providers.ModelInfo) int { return a.ContextWindow - b.ContextWindow })
	for _, to := range larger {
		if to.Provider == from.Provider && to.API == from.API && usable(&to) {
			return to, true
		}
	}
	return providers.ModelInfo{}, false
}
