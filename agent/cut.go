package agent

import (
	"slices"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// cut is where a compaction parts a conversation.
type cut struct {
	// previous is the compaction before; nil for none.
	previous *sessions.Compaction
	// older goes into the summary. Of a turn that is cut in its middle, prefix is the beginning, with a summary of its own.
	older, prefix []sessions.Entry
	// first is the first entry that is kept; empty for none.
	first string
	// saved and kept are about how many tokens each side has.
	saved, kept int
}

// cutRule says how much a cut keeps.
type cutRule struct {
	// keep is how many of the newest tokens stay, at the nearest place where a cut can be; zero for none.
	keep int
	// most bounds what stays where no place is near. Above it nothing stays.
	most int
	// all keeps nothing.
	all bool
	// again lets what the last compaction has kept be cut too.
	again bool
}

// findCut parts a branch. It returns nil where there is nothing to part.
//
// A cut is searched behind the last compaction. What that one has kept and its summary does not tell goes into the new
// summary: it would be lost between them. A cut is never made at a tool's result, which would be without its call.
func findCut(branch []sessions.Entry, rule cutRule) *cut {
	entries, lower, previous := inContext(branch)
	if rule.again {
		lower = 0
	} else if !slices.ContainsFunc(entries[lower:], isMessage) {
		return nil
	}
	at := cutPlace(entries, lower, sessions.PrunedOf(branch), rule)
	if at < 0 {
		return nil
	}
	if !rule.all && rule.keep > 0 {
		at = max(min(at, unanswered(entries)), lower)
	}
	// What was set just before what is kept belongs to it.
	for at > lower && !isMessage(entries[at-1]) {
		at--
	}
	c := &cut{previous: previous, older: entries[:at]}
	if !slices.ContainsFunc(c.older, isMessage) {
		return nil
	}
	if at < len(entries) {
		c.first = entries[at].Ref().ID
		if first := slices.IndexFunc(entries[at:], isMessage); first >= 0 && !startsTurn(entries[at+first]) {
			c.split()
		}
	}
	pruned := sessions.PrunedOf(branch)
	for i, e := range entries {
		if i < at {
			c.saved += entryTokens(e, pruned)
		} else {
			c.kept += entryTokens(e, pruned)
		}
	}
	return c
}

// unanswered returns the index of the first entry of the user's that the conversation ends with: a model must see what it
// is to answer, however long it is.
func unanswered(entries []sessions.Entry) int {
	at := len(entries)
	for i, e := range slices.Backward(entries) {
		if !isMessage(e) {
			continue
		}
		if !startsTurn(e) {
			break
		}
		at = i
	}
	return at
}

// split takes the beginning of the turn that is cut from the older side.
func (c *cut) split() {
	for i, e := range slices.Backward(c.older) {
		if startsTurn(e) {
			c.older, c.prefix = c.older[:i:i], c.older[i:]
			return
		}
	}
}

// cutPlace returns the index of the first entry that is kept, len(entries) for none, and -1 if all fits.
func cutPlace(entries []sessions.Entry, lower int, pruned map[string]bool, rule cutRule) int {
	if rule.all || rule.keep <= 0 {
		return len(entries)
	}
	// behind[i] is how many tokens there are from i on.
	behind := make([]int, len(entries)+1)
	from := -1
	for i := len(entries) - 1; i >= 0; i-- {
		behind[i] = behind[i+1] + entryTokens(entries[i], pruned)
		if from < 0 && i >= lower && behind[i] >= rule.keep && behind[i] > 0 {
			from = i
		}
	}
	if from < 0 {
		if behind[0] < rule.keep {
			return -1
		}
		from = lower // all that is new stays; what the last compaction kept goes
	}
	// What is very long where the cut should be is no reason to keep much more than was asked for.
	for _, most := range []int{min(2*rule.keep, rule.most), rule.most} {
		for i := from; i < len(entries); i++ {
			if canCut(entries[i]) && behind[i] <= most {
				return i
			}
		}
	}
	// All that is left behind are results: they stay with their answer if that can be borne.
	for i := from - 1; i >= lower; i-- {
		if canCut(entries[i]) {
			if behind[i] <= rule.most {
				return i
			}
			break
		}
	}
	return len(entries)
}

// inContext returns the entries that make a model's conversation, without the summary before them. Those before lower
// are what the last compaction kept.
func inContext(branch []sessions.Entry) (entries []sessions.Entry, lower int, previous *sessions.Compaction) {
	at := -1
	for i, e := range slices.Backward(branch) {
		if c, ok := e.(sessions.Compaction); ok {
			at, previous = i, &c
			break
		}
	}
	if previous == nil {
		return branch, 0, nil
	}
	from := slices.IndexFunc(branch[:at], func(e sessions.Entry) bool { return e.Ref().ID == previous.FirstKeptEntryID })
	if from < 0 || previous.FirstKeptEntryID == "" {
		return branch[at+1:], 0, previous
	}
	entries = append(entries, branch[from:at]...)
	return append(entries, branch[at+1:]...), at - from, previous
}

func isMessage(e sessions.Entry) bool {
	_, ok := sessions.MessageOf(e)
	return ok
}

func entryTokens(e sessions.Entry, pruned map[string]bool) int {
	m, ok := sessions.MessageOf(e)
	switch {
	case !ok:
		return 0
	case m.Role == providers.RoleTool && pruned[e.Ref().ID]:
		return prunedTokens
	default:
		return messageTokens(&m)
	}
}

// canCut reports whether a conversation can begin with e.
func canCut(e sessions.Entry) bool {
	m, ok := sessions.MessageOf(e)
	return ok && m.Role != providers.RoleTool
}

// startsTurn reports whether a turn begins with e.
func startsTurn(e sessions.Entry) bool {
	m, ok := sessions.MessageOf(e)
	return ok && m.Role == providers.RoleUser
}
