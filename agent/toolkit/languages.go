package toolkit

import (
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/lsp"
)

// languageServers holds the language servers of a session, as one of its values.
type languageServers struct {
	workspace *lsp.Workspace
	display   func(path string) string
}

// SetLanguages makes language servers available to the tools of a session; nil for none. Their owner closes them. display
// shortens paths for people.
func SetLanguages(values *agent.Values, workspace *lsp.Workspace, display func(path string) string) {
	agent.SetValue(values, languageServers{workspace, display})
}

// Languages returns the language servers of a session; nil for none.
func Languages(values *agent.Values) *lsp.Workspace {
	servers, _ := agent.LookupValue[languageServers](values)
	return servers.workspace
}

// HasLanguages reports whether a session has language servers.
func HasLanguages(values *agent.Values) bool { return Languages(values) != nil }

// FilesChanged implements [agent.FileWatcher].
func (l languageServers) FilesChanged() {
	if l.workspace != nil {
		l.workspace.Changed()
	}
}

// Report implements [agent.Reporter]. It reports diagnostics that arrived after the call that caused them.
func (l languageServers) Report() agent.Report {
	if l.workspace == nil {
		return agent.Report{}
	}
	reports := l.workspace.Late()
	if len(reports) == 0 {
		return agent.Report{}
	}
	text := lsp.ReportText(reports, l.display, lsp.MaxReported)
	return agent.Report{
		Title: "Diagnostics of an earlier change", Detail: text,
		Text: "Late diagnostics of an earlier change:\n" + text,
	}
}
