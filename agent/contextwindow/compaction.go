package contextwindow

import (
	"context"
	"errors"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/sessions"
)

// ErrNothingToCompact is the error of a compaction that would not shorten the conversation.
var ErrNothingToCompact = errors.New("there is nothing to compact yet")

// Compaction is the result of a compaction.
type Compaction struct {
	Summary string
	// ShortSummary is one line of it.
	ShortSummary string
	// Before and After are the sizes of the conversation, in tokens. After is an estimate.
	Before, After int
}

// Reason says why a conversation is compacted.
type Reason string

// The reasons.
const (
	ReasonManual     Reason = "manual"
	ReasonThreshold  Reason = "threshold"
	ReasonOverflow   Reason = "overflow"
	ReasonIncomplete Reason = "incomplete"
	ReasonIdle       Reason = "idle"
)

// turnHeading precedes the summary of the beginning of a turn that is cut.
const turnHeading = "\n\n---\n\n**Turn Context (split turn):**\n\n"

// noHistory replaces the summary if the cut is within the first turn.
const noHistory = "There was nothing before this turn."

// Compact writes the summary of the part that a cut removes. focus, if not empty, says what it must preserve.
func (w *Writer) Compact(ctx context.Context, c *Cut, focus string, pruned map[string]bool) (Compaction, error) {
	previous := ""
	if c.previous != nil {
		previous = w.Hide(withoutLists(c.previous.Summary))
	}
	older, prefix := serialize(c.older, pruned, w.Hide), serialize(c.prefix, pruned, w.Hide)
	var summary string
	switch {
	case len(older) > 0:
		task := &summaryTask{blocks: older, previous: previous, instructions: summaryFirst, focus: focus}
		if previous != "" {
			task.instructions = summaryUpdate
		}
		var err error
		if summary, err = w.write(ctx, task); err != nil {
			return Compaction{}, err
		}
	case previous != "":
		summary = previous
		w.say(summary)
	default:
		summary = noHistory
		w.say(summary)
	}
	short := ShortSummary(summary)
	if len(prefix) > 0 {
		// If the second summary restarts, the text that the client receives begins with the first again.
		done, restart := summary+turnHeading, w.Restart
		w.say(turnHeading)
		w.Restart = func(err error) {
			restart(err)
			w.Say(done)
		}
		turn, err := w.write(ctx, &summaryTask{blocks: prefix, instructions: summaryTurn, focus: focus})
		if err != nil {
			return Compaction{}, err
		}
		if summary == noHistory {
			short = ShortSummary(turn)
		}
		summary = done + turn
	}
	if tag := c.files().tag(); tag != "" {
		summary += tag
		w.say(tag)
	}
	return Compaction{Summary: summary, ShortSummary: short}, nil
}

// openWorkTag marks the open work in a summary.
const openWorkTag = "open-work"

// OpenWork returns the end of the summary of a compaction that names the open work, one item each; empty for none. The next compaction
// removes it from the summary, because the work may have ended by then.
func OpenWork(items []string) string {
	if len(items) == 0 {
		return ""
	}
	text := strings.ReplaceAll(strings.Join(items, "\n"), "</"+openWorkTag+">", "<\\/"+openWorkTag+">")
	return "\n\n<" + openWorkTag + ">\n" + text + "\n</" + openWorkTag + ">"
}

// compactionDetails is the additional data in a compaction's entry.
type compactionDetails struct {
	fileDetails
	Reason      Reason `json:"reason,omitzero"`
	TokensAfter int    `json:"tokensAfter,omitzero"`
}

// Entry returns the entry for the log of a compaction.
func (c *Cut) Entry(done *Compaction, reason Reason) (sessions.Compaction, error) {
	raw, err := jsonx.Marshal(compactionDetails{fileDetails: c.files().lists(), Reason: reason, TokensAfter: done.After})
	return sessions.Compaction{
		Summary: done.Summary, ShortSummary: done.ShortSummary, FirstKeptEntryID: c.first, TokensBefore: done.Before, Details: raw,
	}, err
}

// Details returns the reason of a stored compaction and the size of the conversation after it; zero values if another program
// wrote the entry.
func Details(e *sessions.Compaction) (reason Reason, after int) {
	var d compactionDetails
	if e.FromExtension || jsonx.Unmarshal(e.Details, &d) != nil {
		return "", 0
	}
	return d.Reason, d.TokensAfter
}
