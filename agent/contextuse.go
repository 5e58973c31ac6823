package agent

import (
	"context"

	"github.com/gajae-code/gjc/providers"
)

// ContextUse is what fills a model's window, in tokens. But for Used and Size all are estimates.
type ContextUse struct {
	// Used is what the last request filled; zero where that is not known. Size is the window's.
	Used, Size int
	// Next is what the next request will fill, without what is still to be said.
	Next int
	// System, Tools and Conversation are what the next request will have.
	System, Tools, Conversation int
	ToolCount, Messages         int
}

// ContextUse tells what fills the model's window.
func (s *Session) ContextUse(ctx context.Context) (ContextUse, error) {
	var snap state
	if err := s.do(func(st *state) error {
		snap = st.copied()
		return nil
	})(); err != nil {
		return ContextUse{}, err
	}
	tools := s.offered(&snap.model, snap.mode)
	use := ContextUse{
		Used: snap.usage.Context(), Size: snap.model.ContextWindow, Conversation: snap.estimate(snap.history),
		ToolCount: len(tools), Messages: len(snap.history), System: tokens(len(s.systemPrompt(ctx, &snap, tools))),
	}
	for _, tool := range tools {
		spec := tool.Spec()
		use.Tools += tokens(len(spec.Name) + len(spec.Description) + len(spec.Schema))
	}
	snap.overhead = use.System + use.Tools
	use.Next = snap.next()
	return use, nil
}

// copied is the state with a history of its own.
func (st *state) copied() state {
	snap := *st
	snap.history = append([]providers.Message(nil), st.history...)
	return snap
}

// next is how many tokens the next request fills: what was measured with the last answer, and an estimate of what has
// come since; an estimate of all where nothing was measured.
func (st *state) next() int {
	if used := st.usage.Context(); used > 0 && st.measured > 0 && st.measured <= len(st.history) {
		return used + st.estimate(st.history[st.measured:])
	}
	return st.overhead + st.estimate(st.history)
}

// measure takes note of what an answer has filled, which is the last message of the history.
func (st *state) measure(usage providers.Usage) {
	st.usage = usage
	st.measured = len(st.history)
	used := usage.Context()
	if used == 0 {
		st.measured = 0
		return
	}
	if guess := st.overhead + st.estimate(st.history); guess > 0 {
		st.ratio = min(max(float64(used)/float64(guess), minRatio), maxRatio)
	}
}

// The bounds of how far a measure may be from an estimate. What lies beyond is a provider that counts something else.
const (
	minRatio = 0.5
	maxRatio = 4
)

// scale is how many real tokens an estimated one is.
func (st *state) scale() float64 {
	if st.ratio == 0 {
		return 1
	}
	return st.ratio
}

// guessed takes note of a conversation that is another than the one that was measured, and returns its estimate.
func (st *state) guessed() int {
	st.usage = providers.Usage{Input: int(float64(st.overhead+st.estimate(st.history)) * st.scale())}
	st.measured, st.tight = len(st.history), 0
	return st.usage.Input
}

// lastUsage returns the usage of the last whole answer in a history, and how many messages it covers. An answer that is
// older than a message before it was given before a compaction: what it has measured is gone. Of one that was cut off it is
// not known what it would have been.
func lastUsage(history []providers.Message) (usage providers.Usage, covered int) {
	for i := range history {
		m := &history[i]
		if i > 0 && m.Time.Before(history[0].Time) {
			continue
		}
		cut := m.StopReason == providers.StopError || m.StopReason == providers.StopAborted
		if m.Role == providers.RoleAssistant && m.Usage.Context() > 0 && !cut {
			usage, covered = m.Usage, i+1
		}
	}
	return usage, covered
}

// imageTokens is what a picture is counted with. Providers scale large ones down to about this.
const imageTokens = 1200

// estimate guesses how many tokens messages have for the session's model.
func (st *state) estimate(messages []providers.Message) int {
	n := 0
	for i := range messages {
		n += messageTokens(&messages[i])
		if !st.model.Images {
			n -= pictures(&messages[i]) * imageTokens // a line of words is sent instead
		}
	}
	return n
}

func pictures(m *providers.Message) int {
	n := 0
	for _, p := range m.Parts {
		if _, is := p.(providers.Image); is {
			n++
		}
	}
	return n
}

// messageTokens guesses how many tokens a message has. Four bytes make one, as a rule of thumb.
func messageTokens(m *providers.Message) int {
	bytes := 0
	for _, p := range m.Parts {
		switch p := p.(type) {
		case providers.Text:
			bytes += len(p.Text)
		case providers.Thinking:
			bytes += len(p.Text)
		case providers.ToolCall:
			bytes += len(p.Name) + len(p.Input)
		default:
		}
	}
	return tokens(bytes) + pictures(m)*imageTokens
}

func tokens(bytes int) int { return (bytes + 3) / 4 }

// requestOverhead is what a request fills beside its messages.
func requestOverhead(req *providers.Request) int {
	n := len(req.System)
	for i := range req.Tools {
		tool := &req.Tools[i]
		n += len(tool.Name) + len(tool.Description) + len(tool.Schema)
	}
	return tokens(n)
}
