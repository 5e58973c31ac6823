package agent

import (
	"strings"

	"github.com/gajae-code/gjc/lsp"
	"github.com/gajae-code/gjc/providers"
)

// late is what came to be known behind the calls that it is about: what language servers have said of changes, and what tools
// keep to tell. It is empty for nothing. The user is told too.
func (t *Turn) late() string {
	o := &t.session.opts
	var texts []string
	if o.Languages != nil {
		if reports := o.Languages.Late(); len(reports) > 0 {
			text := lsp.ReportText(reports, o.Workspace.Display, lsp.MaxReported)
			t.emit(Noticed{Severity: SeverityInfo, Title: "Diagnostics of an earlier change", Detail: text})
			texts = append(texts, "Diagnostics of an earlier change, which came late:\n"+text)
		}
	}
	if about, text := LateOf(o.Kept); text != "" {
		if about != "" {
			t.emit(Noticed{Severity: SeverityInfo, Title: o.Secrets.Hide(about)})
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n\n")
}

// addLate adds what came late to the conversation.
func (t *Turn) addLate() error {
	text := t.late()
	if text == "" {
		return nil
	}
	return t.do(func(st *state) error { return t.session.remind(st, "late", text) })
}

// withLate puts what came late behind a prompt, if that is all text; shown is what the user typed then. Others wait for
// the first tool call.
func (t *Turn) withLate(shown string) string {
	var typed []string
	for _, p := range t.prompt {
		text, ok := p.(providers.Text)
		if !ok {
			return shown
		}
		typed = append(typed, text.Text)
	}
	text := t.late()
	if text == "" {
		return shown
	}
	t.prompt = append(t.prompt[:len(t.prompt):len(t.prompt)], providers.Text{Text: text})
	if shown == "" {
		shown = strings.Join(typed, "")
	}
	return shown
}
