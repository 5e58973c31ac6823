// Package contextwindow decides which part of a conversation a model receives, so that it fits into the model's window. It
// estimates how full the window is, cuts a conversation in two for a compaction, asks models for summaries and handoff documents,
// and selects old tool results that are no longer sent. It depends on providers and sessions, but not on turns.
package contextwindow

import (
	"slices"

	"github.com/gajae-code/gjc/providers"
)

// Window is the conversation that the next request carries, with an estimate of how full it makes the model's window. All
// sizes are in tokens.
type Window struct {
	// Messages is the conversation.
	Messages []providers.Message

	// usage is the usage of the last answer, and measured is the number of messages that it covers. After a compaction usage is an
	// estimate.
	usage    providers.Usage
	measured int
	// overhead is the estimated size of a request without its messages; zero if it is unknown.
	overhead int
	// ratio is the number of real tokens for each estimated one; zero if it is unknown.
	ratio float64
	// tight is the size of the window when there was last nothing to compact; zero for never. Another attempt would read the whole
	// log, so it must wait until there is more to compact.
	tight int
}

// NewWindow returns the window of a loaded conversation.
func NewWindow(messages []providers.Message) Window {
	w := Window{Messages: messages}
	w.usage, w.measured = lastUsage(messages)
	return w
}

// Clone returns a copy with a separate slice of messages.
func (w *Window) Clone() Window {
	c := *w
	c.Messages = slices.Clone(w.Messages)
	return c
}

// Append adds a message.
func (w *Window) Append(m providers.Message) { w.Messages = append(w.Messages, m) }

// Clear removes the conversation.
func (w *Window) Clear() { w.Messages, w.usage, w.measured = nil, providers.Usage{}, 0 }

// Load replaces the conversation with another branch of it.
func (w *Window) Load(messages []providers.Message) {
	w.Messages = messages
	w.usage, w.measured = lastUsage(messages)
}

// Mark is a saved state of a window, for [Window.Return].
type Mark struct {
	// Messages is the number of messages.
	Messages int
	usage    providers.Usage
	measured int
}

// Mark returns the current state.
func (w *Window) Mark() Mark { return Mark{len(w.Messages), w.usage, w.measured} }

// Return returns to the state m, with the messages of that state.
func (w *Window) Return(m Mark, messages []providers.Message) {
	w.Messages, w.usage, w.measured = messages, m.usage, m.measured
}

// Usage returns the usage of the last answer, or an estimate after a compaction.
func (w *Window) Usage() providers.Usage { return w.usage }

// Next returns the size of the next request: the measurement of the last answer plus an estimate of the messages since then, or an
// estimate of everything.
func (w *Window) Next(model *providers.ModelInfo) int {
	if used := w.usage.Context(); used > 0 && w.measured > 0 && w.measured <= len(w.Messages) {
		return used + Estimate(model, w.Messages[w.measured:])
	}
	return w.overhead + Estimate(model, w.Messages)
}

// Limits on the ratio between a measurement and its estimate. A provider outside of them counts differently.
const (
	minRatio = 0.5
	maxRatio = 4
)

// Measure records the usage of an answer, which is the last message.
func (w *Window) Measure(model *providers.ModelInfo, usage providers.Usage) {
	w.usage, w.measured = usage, len(w.Messages)
	used := usage.Context()
	if used == 0 {
		w.measured = 0
		return
	}
	if estimate := w.overhead + Estimate(model, w.Messages); estimate > 0 {
		w.ratio = min(max(float64(used)/float64(estimate), minRatio), maxRatio)
	}
}

// ModelChanged turns the measurements of another model into estimates.
func (w *Window) ModelChanged() { w.ratio = 0 }

// Compacted replaces the conversation after a compaction.
func (w *Window) Compacted(model *providers.ModelInfo, messages []providers.Message) {
	w.Messages = messages
	w.usage = providers.Usage{Input: w.scaled(w.overhead + Estimate(model, messages))}
	w.measured, w.tight = len(messages), 0
}

// Pruned replaces the conversation after pruning and returns its new size; saved is the estimated number of tokens removed.
func (w *Window) Pruned(model *providers.ModelInfo, messages []providers.Message, saved int) int {
	used := w.Next(model)
	w.Messages = messages
	w.usage = providers.Usage{Input: max(used-w.scaled(saved), 1)}
	w.measured = len(messages)
	return w.usage.Input
}

// AfterCompaction estimates the size of the window after a summary replaces the part that a cut removes.
func (w *Window) AfterCompaction(c *Cut, summary string) int {
	return w.scaled(w.overhead + c.remaining + Tokens(len(summary)))
}

// Overhead returns the estimated size of a request without its messages; zero if it is unknown.
func (w *Window) Overhead() int { return w.overhead }

// SetOverhead sets the estimated size of a request without its messages.
func (w *Window) SetOverhead(n int) { w.overhead = n }

// Over reports whether the conversation exceeds the threshold in the settings and is large enough to attempt a compaction.
func (w *Window) Over(model *providers.ModelInfo, settings *CompactionSettings) bool {
	limit, used := settings.Threshold(model.ContextWindow), w.Next(model)
	return limit > 0 && used > limit && (w.tight == 0 || used > w.tight+model.ContextWindow/leastGain || used < w.tight)
}

// NothingToCompact records that there was nothing to compact. Over returns false until the conversation has grown.
func (w *Window) NothingToCompact(model *providers.ModelInfo) { w.tight = w.Next(model) }

// scale returns the number of real tokens for each estimated one.
func (w *Window) scale() float64 {
	if w.ratio == 0 {
		return 1
	}
	return w.ratio
}

func (w *Window) scaled(tokens int) int { return int(float64(tokens) * w.scale()) }

// lastUsage returns the usage of the last complete answer in a conversation, and the number of messages that it covers. It skips
// answers that are older than the first message: they precede a compaction, which invalidated their measurement.
func lastUsage(messages []providers.Message) (usage providers.Usage, covered int) {
	for i := range messages {
		m := &messages[i]
		if i > 0 && m.Time.Before(messages[0].Time) {
			continue
		}
		incomplete := m.StopReason == providers.StopError || m.StopReason == providers.StopAborted
		if m.Role == providers.RoleAssistant && m.Usage.Context() > 0 && !incomplete {
			usage, covered = m.Usage, i+1
		}
	}
	return usage, covered
}
