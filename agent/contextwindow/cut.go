package contextwindow

import (
	"slices"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Cut divides a conversation into a part that a summary replaces and a part that stays.
type Cut struct {
	// previous is the last compaction; nil for none.
	previous *sessions.Compaction
	// older is summarized. If the cut is within a turn, prefix is the beginning of that turn, which gets a separate summary.
	older, prefix []sessions.Entry
	// first is the ID of the first entry that stays; empty for none.
	first string
	// saved and kept are the estimated sizes of the two parts, in tokens.
	saved, remaining int
}

// cutRule determines how much a cut keeps.
type cutRule struct {
	// keep is the number of newest tokens to keep, rounded to the nearest possible cut; zero for none.
	keep int
	// most bounds what stays if no possible cut is near. If it would be exceeded, nothing stays.
	most int
	// all makes the cut keep nothing.
	all bool
	// again allows a cut within what the last compaction kept.
	again bool
}

// MaxDepth is the number of times that a request that does not fit is retried with less of the conversation. At the last depth only the
// summary stays.
const MaxDepth = 4

// leastGain is the part of the window that an automatic compaction must free, as a fraction.
const leastGain = 20

// CutOptions are the conditions for a cut.
type CutOptions struct {
	Window   *Window
	Model    *providers.ModelInfo
	Settings *CompactionSettings
	Reason   Reason
	// Depth counts the compactions of the same request that did not free enough.
	Depth int
}

// ChooseCut chooses the cut of a compaction; nil if there is nothing to compact.
func ChooseCut(branch []sessions.Entry, o *CutOptions) *Cut {
	// The settings are in real tokens, the rule is in estimated ones.
	scale := o.Window.scale()
	rule := cutRule{keep: int(float64(o.Settings.KeepRecentTokens) / scale), most: 1 << 40, again: o.Depth > 0}
	if threshold := o.Settings.Threshold(o.Model.ContextWindow); threshold > 0 {
		// A small window must have room after the compaction too.
		room := max(int(float64(threshold)/scale)-o.Window.overhead, 0)
		rule.keep, rule.most = min(rule.keep, room/2), room*3/4
	}
	for range o.Depth {
		rule.keep, rule.most = rule.keep/4, rule.most/2
	}
	switch o.Depth {
	case MaxDepth - 2:
		rule.keep, rule.most = 1, 1<<40 // keep only the unanswered messages, whatever their length
	case MaxDepth - 1:
		rule.all = true
	default:
	}
	c := findCut(branch, rule)
	switch o.Reason {
	case ReasonManual:
		if c == nil || c.tiny() {
			rule.all = true
			c = findCut(branch, rule)
		}
		if c != nil && c.tiny() {
			return nil
		}
	case ReasonThreshold, ReasonIdle:
		// A summary takes up space too. If it saved little, it would be rewritten with each request.
		if c != nil && c.saved < o.Model.ContextWindow/leastGain {
			return nil
		}
	default:
	}
	return c
}

// CutAll returns a cut that keeps nothing but the message unanswered; nil for none.
func CutAll(branch []sessions.Entry, unanswered *providers.Message) *Cut {
	c := new(Cut)
	c.older, _, c.previous = inContext(branch)
	if unanswered == nil {
		return c
	}
	for _, e := range slices.Backward(branch) {
		if m, ok := e.(sessions.MessageEntry); ok && m.Message.ID == unanswered.ID {
			c.first, c.remaining = e.Ref().ID, messageTokens(unanswered)
			break
		}
	}
	return c
}

// tiny reports whether the cut removes a single message: a summary would not be shorter.
func (c *Cut) tiny() bool {
	n := 0
	for _, part := range [][]sessions.Entry{c.older, c.prefix} {
		for _, e := range part {
			if isMessage(e) {
				n++
			}
		}
	}
	return n < 2 && c.previous == nil
}

// files returns the files that the conversation has used up to the cut.
func (c *Cut) files() *fileOps {
	ops := newFileOps()
	if c.previous != nil {
		ops.details(c.previous.Details, c.previous.FromExtension)
	}
	ops.entries(c.older)
	ops.entries(c.prefix)
	return ops
}

// findCut divides a branch into the entries to summarize and those to keep. It returns nil if there is nothing to divide.
//
// Unless rule.again is set, the cut comes after the last compaction. The entries that this compaction kept go into the new summary
// if they precede the cut, because the old summary does not cover them. A cut never directly precedes a tool's result, because that
// would separate the result from its call.
func findCut(branch []sessions.Entry, rule cutRule) *Cut {
	entries, lower, previous := inContext(branch)
	if rule.again {
		lower = 0
	} else if !slices.ContainsFunc(entries[lower:], isMessage) {
		return nil
	}
	pruned := sessions.PrunedOf(branch)
	at := cutIndex(entries, lower, pruned, rule)
	if at < 0 {
		return nil
	}
	if !rule.all && rule.keep > 0 {
		at = max(min(at, unanswered(entries)), lower)
	}
	// Changes of settings directly before a message that stays belong to the message.
	for at > lower && !isMessage(entries[at-1]) {
		at--
	}
	c := &Cut{previous: previous, older: entries[:at]}
	if !slices.ContainsFunc(c.older, isMessage) {
		return nil
	}
	if at < len(entries) {
		c.first = entries[at].Ref().ID
		if first := slices.IndexFunc(entries[at:], isMessage); first >= 0 && !startsTurn(entries[at+first]) {
			c.split()
		}
	}
	for i, e := range entries {
		if i < at {
			c.saved += entryTokens(e, pruned)
		} else {
			c.remaining += entryTokens(e, pruned)
		}
	}
	return c
}

// unanswered returns the index of the first of the user's entries at the end of the conversation. They stay whatever their length,
// because the model must still answer them.
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

// split moves the beginning of the turn that is cut from older to prefix.
func (c *Cut) split() {
	for i, e := range slices.Backward(c.older) {
		if startsTurn(e) {
			c.older, c.prefix = c.older[:i:i], c.older[i:]
			return
		}
	}
}

// cutIndex returns the index of the first entry that stays: len(entries) for none, -1 if everything fits.
func cutIndex(entries []sessions.Entry, lower int, pruned map[string]bool, rule cutRule) int {
	if rule.all || rule.keep <= 0 {
		return len(entries)
	}
	// after[i] is the size of entries[i:].
	after := make([]int, len(entries)+1)
	from := -1
	for i := len(entries) - 1; i >= 0; i-- {
		after[i] = after[i+1] + entryTokens(entries[i], pruned)
		if from < 0 && i >= lower && after[i] >= rule.keep && after[i] > 0 {
			from = i
		}
	}
	if from < 0 {
		if after[0] < rule.keep {
			return -1
		}
		from = lower // everything new stays, and what the last compaction kept is removed
	}
	// A very long entry at the cut is no reason to keep much more than rule.keep.
	for _, most := range []int{min(2*rule.keep, rule.most), rule.most} {
		for i := from; i < len(entries); i++ {
			if canCut(entries[i]) && after[i] <= most {
				return i
			}
		}
	}
	// Only results follow. They stay with their answer if rule.most permits that.
	for i := from - 1; i >= lower; i-- {
		if canCut(entries[i]) {
			if after[i] <= rule.most {
				return i
			}
			break
		}
	}
	return len(entries)
}

// inContext returns the entries of the conversation that a model sees, without the summary before them. The last compaction
// remaining entries[:lower].
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
