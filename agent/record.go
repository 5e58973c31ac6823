package agent

import (
	"errors"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// record stores messages and adds them to the conversation. Of a turn that is over it accepts only answers.
func (t *RunningTurn) record(msgs ...*providers.Message) error {
	err := t.do(func(st *state) error {
		for _, m := range msgs {
			if err := t.keep(st, m); err != nil {
				return err
			}
			st.turn.recorded(m)
		}
		return nil
	})
	if errors.Is(err, errTurnOver) {
		for _, m := range msgs {
			if m.Role == providers.RoleAssistant {
				t.drop(t.model, m)
			}
		}
	}
	return err
}

// keep appends a message to the log and to the conversation.
func (t *RunningTurn) keep(st *state, m *providers.Message) error {
	if m.Time.IsZero() {
		m.Time = t.session.opts.Clock()
	}
	if m.Role == providers.RoleAssistant {
		m.Price = t.model.Price(m.Usage, t.tier)
	}
	if _, err := t.session.opts.Log.AppendMessage(m); err != nil {
		return st.unsaved(err)
	}
	st.saved()
	kept := *m
	if m.Role == providers.RoleAssistant {
		st.charge(st.turn, answerUse(&t.model, m))
	}
	kept.Details = nil // what people are shown of a result is in the log, and large
	st.window.Append(kept)
	if m.Role == providers.RoleUser && st.rules != nil {
		st.rules.turns++
	}
	return nil
}

// customShown is the type of the entry before a user message that was made of what the entry says.
const customShown = "gjc.shown"

// recordShown keeps what the user typed, if the prompt is something else.
func (t *RunningTurn) recordShown(text string) error {
	if text == "" {
		return nil
	}
	raw, err := jsonx.Marshal(text)
	if err != nil {
		return err
	}
	return t.do(func(st *state) error {
		if _, err := t.session.opts.Log.Append(sessions.Custom{CustomType: customShown, Data: raw}); err != nil {
			return st.unsaved(err)
		}
		return nil
	})
}
