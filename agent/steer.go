package agent

import (
	"github.com/gajae-code/gjc/providers"
)

// Steered is what became of words for the running turn.
type Steered struct {
	// Injected says that the running turn takes them.
	Injected bool
	// Turn is the one that was begun with them instead, if that was asked for; nil for none.
	Turn *Turn
}

// Steer gives the running turn more to go on: the model sees it with its next request, the latest when it has
// finished its answer. It reports false, and does nothing, if no turn runs that could still answer it: the last request
// that the turn may make is on its way, its prompt is yet to be made, or it is ending.
func (s *Session) Steer(parts []providers.Part) (injected bool, err error) {
	done, err := s.QueueSteer(parts, false)()
	return done.Injected, err
}

// QueueSteer is [Session.Steer] in the order of the calls, like [Session.Prompt]: it returns at once, and what it
// returns waits. With orPrompt a turn is queued where none can take the words.
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

// takeSteers makes what was steered into t part of the conversation.
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

// goesOn reports whether a turn that would end with stop has to go on for what was steered into it. If not, it takes no
// more, from the same moment on. Behind a refusal the turn is over in any case: what was not taken is left to the next.
func (t *RunningTurn) goesOn(stop StopReason) bool {
	more := false
	_ = t.do(func(st *state) error { // a turn that is over takes no more either
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

// openToSteers lets the turn be steered. Before that nothing says that it will come to a model request at all.
func (t *RunningTurn) openToSteers() {
	_ = t.do(func(st *state) error { // a turn that is over stays closed
		st.turn.closed = false
		return nil
	})
}

// ending reports whether a tool has asked for the end of the turn.
func (t *RunningTurn) ending() bool {
	is := false
	_ = t.do(func(st *state) error { // a turn that is over ends anyway
		is = st.turn.ending
		return nil
	})
	return is
}
