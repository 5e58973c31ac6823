package agent

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Fallbacks is what a [Models] may be too: then a session goes over to another model where one is not available.
type Fallbacks interface {
	// Fallback names the model that comes behind info, whose call has failed with err for good, and is not among those that
	// were tried, by reference; false for none. A level is for the session on that model; empty for the one it has.
	Fallback(info providers.ModelInfo, err error, tried map[string]bool) (providers.ModelInfo, providers.ThinkingLevel, bool)
}

// fallbackReason stands in the log with a model that a session has gone over to because another was not available.
const fallbackReason = "fallback"

// fallBack goes over to the next model for good behind a call that has failed for good, if there is one that this turn has
// not tried. It reports whether it did.
func (t *Turn) fallBack(ctx context.Context, failed error) (bool, error) {
	s := t.session
	chain, ok := s.opts.Models.(Fallbacks)
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
	fell := false
	err := t.do(func(st *state) error {
		if st.model.Ref() != from.Ref() {
			return nil // the user has chosen another one meanwhile
		}
		change := sessions.ModelChange{Model: to.Ref(), PreviousModel: from.Ref(), Reason: fallbackReason}
		if _, err := s.opts.Log.Append(change); err != nil {
			return s.unsaved(st, err)
		}
		// Another model counts differently: what was measured is a guess now.
		st.model, st.ratio = to, 0
		fell = true
		if err := s.fitToModel(st, cmp.Or(level, st.thinking)); err != nil {
			return err
		}
		s.emit(ConfigChanged{Now: st.snapshot()})
		s.emit(Noticed{
			Severity: SeverityWarning, Title: fmt.Sprintf("%s is not available; going on with %s.", from.Ref(), to.Ref()), Detail: failed.Error(),
		})
		s.emit(st.used(st.next()))
		return nil
	})
	return fell && err == nil, err
}
