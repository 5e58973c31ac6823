package agent

import (
	"fmt"

	"github.com/gajae-code/gjc/providers"
)

// Steer gives the running turn more to go on: the model sees it with its next request, the latest when it has
// finished its answer. It reports false, and does nothing, if no turn runs that could still take it.
func (s *Session) Steer(parts []providers.Part) (injected bool, err error) {
	err = s.do(func(st *state) error {
		t := st.turn
		if t == nil || t.cancelling || t.closed || t.local != nil {
			return nil
		}
		injected = true
		t.steers = append(t.steers, parts)
		return nil
	})()
	return injected, err
}

// takeSteers makes what was steered into t part of the conversation. It runs on the actor.
func (s *Session) takeSteers(st *state, t *Turn) error {
	for len(t.steers) > 0 {
		m := &providers.Message{ID: s.opts.NewID(), Role: providers.RoleUser, Parts: t.steers[0], Time: s.opts.Clock()}
		if _, err := s.opts.Log.AppendMessage(m); err != nil {
			return fmt.Errorf("saving the conversation: %w", err)
		}
		st.history = append(st.history, *m)
		t.steers = t.steers[1:]
	}
	return nil
}

// steered reports whether the turn has to go on for what was steered into it. If not, it takes no more.
func (t *Turn) steered() bool {
	more := false
	_ = t.do(func(*state) error { // a turn that is over takes no more either
		more = len(t.steers) > 0
		t.closed = !more
		return nil
	})
	return more
}
