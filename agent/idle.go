package agent

import (
	"context"
	"errors"
	"time"

	"github.com/gajae-code/gjc/agent/contextwindow"
)

// watchIdle starts the timer that compacts a long conversation without a prompt. The actor calls it when a turn is over
// and none waits.
func (st *state) watchIdle() {
	s := st.session
	c := &s.settings.Compaction
	if !c.Automatic() || !c.IdleEnabled || c.IdleTimeoutSeconds <= 0 || s.child || st.closing || st.window.Next(&st.model) < c.IdleThresholdTokens {
		return
	}
	st.idle = time.AfterFunc(time.Duration(c.IdleTimeoutSeconds)*time.Second, func() {
		s.do(func(st *state) error {
			if st.idle == nil || st.closing || st.turn != nil || len(st.waiting) > 0 {
				return nil
			}
			st.idle = nil
			t := s.newTurn(Prompt{Answer: compactIdle})
			t.idle = true
			st.queue(t)
			return nil
		})
	})
}

// stopIdle ends the wait and an idle compaction, so that the next turn starts at once.
func (st *state) stopIdle() {
	if st.idle != nil {
		st.idle.Stop()
		st.idle = nil
	}
	if st.turn != nil && st.turn.idle {
		st.cancelTurn(st.turn, ErrCancelled)
	}
}

// compactIdle compacts the conversation of an idle session.
func compactIdle(ctx context.Context, t *RunningTurn) error {
	err := t.compactor.prune()
	still := false
	if err == nil {
		err = t.do(func(st *state) error {
			still = st.window.Next(&st.model) >= t.session.settings.Compaction.IdleThresholdTokens
			return nil
		})
	}
	if err == nil && still {
		_, err = t.compactor.compact(ctx, compacting{reason: contextwindow.ReasonIdle})
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, contextwindow.ErrNothingToCompact) && !errors.Is(err, errTurnOver) {
		t.emit(Noticed{Severity: SeverityWarning, Title: "Auto-compaction failed: " + err.Error()})
	}
	return nil
}
