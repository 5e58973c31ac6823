package contextwindow

import (
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Limits of pruning, in tokens.
const (
	// protectedTokens is the number of tokens of the newest results that are never pruned.
	protectedTokens = 40_000
	// leastSaved is the least that pruning must save, because it voids the provider's cache.
	leastSaved = 20_000
	// prunedTokens is the size of the note that replaces a result.
	prunedTokens = 8
)

// neverPruned reports whether the results of a tool always stay: the model works on the files and skills that it has read.
func neverPruned(tool string) bool { return tool == "read" || tool == "skill" }

// Prune selects old results that models no longer see. It returns a log entry that lists them, and the estimated number of tokens
// saved; zero if pruning is not worthwhile.
func Prune(branch []sessions.Entry) (e sessions.Custom, saved int, err error) {
	ids, saved := prunable(branch)
	if len(ids) == 0 {
		return e, 0, nil
	}
	raw, err := jsonx.Marshal(sessions.Pruned{Entries: ids})
	return sessions.Custom{CustomType: sessions.CustomPruned, Data: raw}, saved, err
}

// prunable returns the IDs of the results to prune, and the number of tokens that this saves.
func prunable(branch []sessions.Entry) (ids []string, saved int) {
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
