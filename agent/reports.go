package agent

import (
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// reports returns the reports of the session's values to the model; empty for none. It notifies the user too.
func (t *RunningTurn) reports() string {
	o := &t.session.opts
	var texts []string
	for _, r := range o.Values.Reports() {
		if r.Title != "" {
			t.emit(Noticed{Severity: SeverityInfo, Title: o.Secrets.Hide(r.Title), Detail: r.Detail})
		}
		if r.Text != "" {
			texts = append(texts, r.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// addReports adds the reports to the conversation.
func (t *RunningTurn) addReports() error {
	text := t.reports()
	if text == "" {
		return nil
	}
	return t.do(func(st *state) error { return st.remind("late", text) })
}

// withReports appends the reports to a prompt that is all text, and returns what the user typed if shown is empty. Other
// prompts leave the reports to the first tool call.
func (t *RunningTurn) withReports(shown string) string {
	var typed []string
	for _, p := range t.parts {
		text, ok := p.(providers.Text)
		if !ok {
			return shown
		}
		typed = append(typed, text.Text)
	}
	text := t.reports()
	if text == "" {
		return shown
	}
	t.parts = append(t.parts[:len(t.parts):len(t.parts)], providers.Text{Text: text})
	if shown == "" {
		shown = strings.Join(typed, "")
	}
	return shown
}
