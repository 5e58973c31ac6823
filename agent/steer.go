package agent

import (
	"github.com/gajae-code/gjc/providers"
)

// Steered is the result of steering a turn.
type Steered struct {
	// Injected reports that the running turn accepted the text.
	Injected bool
	// Turn is the turn that was queued instead, if requested; nil for none.
	Turn *Turn
}

// Steer adds a message to the running turn. The model sees it with its next request, at the latest when it has finished its answer.
// Steer reports false, and does nothing, if no turn can still answer it: none is running, its last request is under way, its prompt
// is not ready yet, or it is ending.
func (s *Session) Steer(parts []providers.Part) (injected bool, err error) {
	done, err := s.QueueSteer(parts, false)()
	return done.Injected, err
}

// QueueSteer is [Session.Steer] in the order of the calls, like [Session.Prompt]: it returns at once, and the returned function
// waits for the result. With orPrompt, a turn is queued if no turn can accept the message.
func (s *Session) QueueSteer(parts []providers.Part, orPrompt bool) func() (Steered, error) {
	var result Steered
	pending := s.do(func(st *state) error {
		if t := st.turn; t != nil && !t.cancelling && !t.closed && t.prompt.Answer == nil {
			result.Injected = true
			t.steers = append(t.steers, parts)
			return nil
		}
		if !orPrompt || st.closing {
			return nil
		}
		result.Turn = s.newTurn(Prompt{Parts: parts})
		st.queue(result.Turn)
		return nil
	})
	return func() (Steered, error) {
		err := pending()
		return result, err
	}
}

// takeSteers adds the messages that were steered into t to the conversation.
func (st *state) takeSteers() error {
	s, t := st.session, st.turn
	for len(t.steers) > 0 {
		m := &providers.Message{ID: s.opts.NewID(), Role: providers.RoleUser, Parts: t.steers[0], Time: s.opts.Clock()}
		if _, err := s.opts.Log.AppendMessage(m); err != nil {
			return st.unsaved(err)
		}
		st.window.Append(*m)
		t.steers = t.steers[1:]
	}
	return nil
}

// goesOn reports whether a turn that would end with stop continues for messages that were steered into it. If not, the turn accepts
// no more messages. A refusal always ends the turn and leaves the messages to the next one.
func (t *RunningTurn) goesOn(stop StopReason) bool {
	more := false
	_ = t.do(func(st *state) error { // a finished turn accepts no more either
		now := st.turn
		more = len(now.steers) > 0 && !now.cancelling && (stop == StopEndTurn || stop == StopMaxTokens)
		now.closed = !more
		if more {
			now.ending = false
		}
		return nil
	})
	return more
}

// openToSteers allows the turn to be steered. Until then, it is uncertain whether the turn reaches a model request.
func (t *RunningTurn) openToSteers() {
	_ = t.do(func(st *state) error { // a finished turn stays closed
		st.turn.closed = false
		return nil
	})
}

// ending reports whether a tool has requested the end of the turn.
func (t *RunningTurn) ending() bool {
	is := false
	_ = t.do(func(st *state) error { // a finished turn ends anyway
		is = st.turn.ending
		return nil
	})
	return is
}
