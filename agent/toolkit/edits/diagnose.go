package edits

import (
	"context"
	"fmt"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/lsp"
)

// diagnoseTime bounds how long a change waits for the language servers.
const diagnoseTime = 5 * time.Second

// Uses returns the declaration of tools that change files: language servers receive the files that are open, and reports show lines of those
// that the change breaks.
func Uses() approval.Uses { return approval.Uses{Roots: true} }

// ReportsWrites reports whether the user wants to see diagnostics after a file is written.
func ReportsWrites(call *agent.Call) bool {
	return onWrite(call).DiagnoseWrites
}

// ReportsEdits reports whether the user wants to see diagnostics after a file is edited.
func ReportsEdits(call *agent.Call) bool {
	return onWrite(call).DiagnoseEdits
}

// FormatsWrites reports whether the user wants language servers to format files before they are written.
func FormatsWrites(call *agent.Call) bool {
	return onWrite(call).Format
}

// onWrite returns what language servers should do for a file that is written, according to the user's settings.
func onWrite(call *agent.Call) lsp.OnWrite {
	if servers := toolkit.Languages(call.Values); servers != nil {
		return servers.OnWrite()
	}
	return lsp.OnWrite{}
}

// Diagnose notifies the language servers of a change. If report is set, it adds their diagnostics to res. before holds the texts of
// the files that existed before the change.
func Diagnose(ctx context.Context, call *agent.Call, res *agent.Result, report bool, before map[string]string, paths []string, events ...lsp.FileEvent) {
	servers := toolkit.Languages(call.Values)
	switch {
	case servers == nil:
	case report:
		addReports(call, res, servers.Before(before).Report(ctx, diagnoseTime, paths, events...))
	default:
		for _, path := range paths {
			kind := lsp.FileCreated
			if _, was := before[path]; was {
				kind = lsp.FileChanged
			}
			events = append(events, lsp.FileEvent{Path: path, Type: kind})
		}
		servers.Changed(events...)
	}
}

// DiagnoseChange calls [Diagnose] for one file that a tool has written.
func DiagnoseChange(ctx context.Context, c *Change, res *agent.Result, report bool) {
	before := make(map[string]string, 1)
	if c.Old != nil {
		before[c.Path] = c.Old.Text
	}
	Diagnose(ctx, c.Call, res, report, before, []string{c.Path})
}

// addReports appends the diagnostics of language servers to a result.
func addReports(call *agent.Call, res *agent.Result, reports []*lsp.Report) {
	text := lsp.ReportText(reports, func(path string) string { return toolkit.Display(&call.Workspace, path) }, lsp.MaxReported)
	if text == "" {
		return
	}
	if res.Content == nil {
		res.Content = []agent.Content{agent.TextContent{Text: res.Text}}
	}
	res.Text += "\n\nDiagnostics:\n" + text
	res.Content = append(res.Content, agent.TextContent{Text: text})
	for _, r := range reports {
		for i := range r.Diagnostics {
			if d := &r.Diagnostics[i]; d.New && len(res.Locations) < maxDiagnosed {
				res.Locations = append(res.Locations, agent.Location{Path: d.Path, Line: d.Start.Line})
			}
		}
	}
}

// maxDiagnosed bounds the locations in a result.
const maxDiagnosed = 20

// formatTime bounds how long a language server may take to format a text.
const formatTime = 2 * time.Second

// FormatWrite returns text as formatted by a language server. note states for the model that the text was formatted or that the
// server failed; otherwise it is empty.
func FormatWrite(ctx context.Context, call *agent.Call, path, text string) (formatted, note string) {
	ctx, cancel := context.WithTimeout(ctx, formatTime)
	defer cancel()
	formatted, server, err := toolkit.Languages(call.Values).Format(ctx, path, text)
	switch {
	case err != nil && server != nil:
		return text, fmt.Sprintf("%s could not format the text: %v", server.Name(), err)
	case err != nil || formatted == text:
		return text, ""
	default:
		return formatted, fmt.Sprintf("%s formatted the text; read the file before the next edit.", server.Name())
	}
}
