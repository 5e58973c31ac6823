package agent

import (
	"strings"

	"github.com/gajae-code/gjc/lsp"
	"github.com/gajae-code/gjc/providers"
)

// lateDiagnostics is what language servers have said of changes behind the calls that made them; empty for nothing. The
// user is told too.
func (t *Turn) lateDiagnostics() string {
	o := &t.session.opts
	if o.Languages == nil {
		return ""
	}
	reports := o.Languages.Late()
	if len(reports) == 0 {
		return ""
	}
	text := lsp.ReportText(reports, o.Workspace.Display, lsp.MaxReported)
	t.emit(Noticed{Severity: SeverityInfo, Title: "Diagnostics of an earlier change", Detail: text})
	return "Diagnostics of an earlier change, which came late:\n" + text
}

// addLate puts late diagnostics behind the last of the results.
func (t *Turn) addLate(results []*providers.Message) {
	if len(results) == 0 {
		return
	}
	if text := t.lateDiagnostics(); text != "" {
		last := results[len(results)-1]
		last.Parts = append(last.Parts, providers.Text{Text: text})
	}
}

// withLate puts late diagnostics behind a prompt, if that is all text; shown is what the user typed then. Others wait for
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
	text := t.lateDiagnostics()
	if text == "" {
		return shown
	}
	t.prompt = append(t.prompt[:len(t.prompt):len(t.prompt)], providers.Text{Text: text})
	if shown == "" {
		shown = strings.Join(typed, "")
	}
	return shown
}
