package agent

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// modelLister is a [Models] that lists its models, so that a session can find one with a larger window.
type modelLister interface {
	// Models returns the models that can be used.
	Models() []providers.ModelInfo
}

// fallbacks is a [Models] that names the models to use if one is not available.
type fallbacks interface {
	// Fallback returns the model to use after a call of info failed with err and is not tried again. It returns none of the
	// references in tried, and false if there is no further model. The level is for the session on that model; empty for its
	// present one.
	Fallback(info providers.ModelInfo, err error, tried map[string]bool) (providers.ModelInfo, providers.ThinkingLevel, bool)
}

// The reasons that the log gives for a model that a session has changed to by itself.
const (
	promotionReason = "context-promotion"
	fallbackReason  = "fallback"
)

// promote changes to a model with a larger window, if the settings allow that and there is one. It reports whether it did.
func (t *compactor) promote(ctx context.Context) (bool, error) {
	s := t.session
	if !s.settings.ContextPromotion || ctx.Err() != nil {
		return false, nil
	}
	snap, err := s.Snapshot()
	if err != nil {
		return false, err
	}
	from := snap.Model
	to, ok := t.promotionTarget(ctx, &from)
	if !ok {
		return false, nil
	}
	return t.requester.switchModel(sessions.ModelChange{Model: to.Ref(), PreviousModel: from.Ref(), Reason: promotionReason}, to, "", Noticed{
		Severity: SeverityInfo, Title: fmt.Sprintf("The conversation has outgrown %s; going on with %s.", from.Ref(), to.Ref()),
	})
}

// fallBack changes to the next model after a call that failed and is not tried again, if there is one that this turn has not
// tried. It reports whether it did.
func (t *requester) fallBack(ctx context.Context, failed error) (bool, error) {
	s := t.session
	chain, ok := s.opts.Models.(fallbacks)
	if !ok || ctx.Err() != nil {
		return false, nil
	}
	from := t.model
	if t.tried == nil {
		t.tried = make(map[string]bool)
	}
	t.tried[from.Ref()] = true
	to, level, ok := chain.Fallback(from, failed, t.tried)
	for ; ok; to, level, ok = chain.Fallback(to, failed, t.tried) {
		t.tried[to.Ref()] = true
		if _, err := s.opts.Models.Open(ctx, to); err == nil {
			break
		}
	}
	if !ok {
		return false, nil
	}
	return t.switchModel(sessions.ModelChange{Model: to.Ref(), PreviousModel: from.Ref(), Reason: fallbackReason}, to, level, Noticed{
		Severity: SeverityWarning, Title: fmt.Sprintf("%s is not available; going on with %s.", from.Ref(), to.Ref()), Detail: failed.Error(),
	})
}

// switchModel changes the session's model and notifies the user, unless the user has chosen another model meanwhile. It reports
// whether it changed the model. An empty level is the present one.
func (t *requester) switchModel(change sessions.ModelChange, to providers.ModelInfo, level providers.ThinkingLevel, notice Noticed) (bool, error) {
	s := t.session
	switched := false
	err := t.do(func(st *state) error {
		if st.model.Ref() != change.PreviousModel {
			return nil
		}
		if _, err := s.opts.Log.Append(change); err != nil {
			return st.unsaved(err)
		}
		st.model = to
		st.window.ModelChanged()
		switched = true
		if err := st.fitToModel(cmp.Or(level, st.thinking)); err != nil {
			return err
		}
		st.emit(ConfigChanged{Now: st.snapshot()})
		st.emit(notice)
		st.emit(st.used(st.window.Next(&st.model)))
		return nil
	})
	return switched && err == nil, err
}
