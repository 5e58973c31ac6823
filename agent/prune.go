package agent

import (
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// The rules of pruning, in tokens.
const (
	// protectedTokens is how much of the newest results stays.
	protectedTokens = 40_000
	// leastSaved is what pruning must be worth: it costs the provider's cache.
	leastSaved = 20_000
	// prunedTokens is what the notice in a result's place has.
	prunedTokens = 8
)

// neverPruned reports whether a tool's results stay: what the model has read is what it works on.
func neverPruned(tool string) bool { return tool == "read" || tool == "skill" }

// toPrune returns the ids of the results that go, and how many tokens that saves; nothing where it is not worth it.
func toPrune(branch []sessions.Entry) (ids []string, saved int) {
	entries, _, _ := inContext(branch)
	pruned := sessions.PrunedOf(branch)
	newer := 0
	for _, e := range slices.Backward(entries) {
		m, ok := sessions.MessageOf(e)
		if !ok || m.Role != providers.RoleTool {
			continue
		}
		n := entryTokens(e, pruned)
		protected := newer < protectedTokens
		newer += n
		if protected || n <= prunedTokens || neverPruned(m.ToolName) || pruned[e.Ref().ID] {
			continue
		}
		ids = append(ids, e.Ref().ID)
		saved += n - prunedTokens
	}
	if saved < leastSaved {
		return nil, 0
	}
	return ids, saved
}

// prune takes old results out of the model's sight, where that is worth it.
func (t *Turn) prune() error {
	return t.do(func(st *state) error {
		log := t.session.opts.Log
		branch, err := log.Branch()
		if err != nil {
			return err
		}
		ids, saved := toPrune(branch)
		if len(ids) == 0 {
			return nil
		}
		raw, err := jsonx.Marshal(sessions.Pruned{Entries: ids})
		if err != nil {
			return err
		}
		used := st.next()
		if _, err := log.Append(sessions.Custom{CustomType: sessions.CustomPruned, Data: raw}); err != nil {
			return t.session.unsaved(st, err)
		}
		if st.history, err = log.Messages(); err != nil {
			return err
		}
		// What was measured, without what is gone.
		st.usage = providers.Usage{Input: max(used-int(float64(saved)*st.scale()), 1)}
		st.measured = len(st.history)
		t.session.emit(st.used(st.usage.Input))
		return nil
	})
}
