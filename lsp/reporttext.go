package lsp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/text"
)

// MaxReported bounds the diagnostics in the report of a change.
const MaxReported = 50

// SeverityName returns the name of a severity.
func SeverityName(s Severity) string {
	switch s {
	case SeverityWarning:
		return "warning"
	case SeverityInformation:
		return "info"
	case SeverityHint:
		return "hint"
	default:
		return "error"
	}
}

// maxMessage bounds the message of one diagnostic, in bytes: some servers send pages of explanation.
const maxMessage = 600

// String formats a diagnostic without its file: "3:5 [error] [compiler] undefined: x (UndeclaredName)".
func (d *Diagnostic) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%d [%s]", d.Start.Line, d.Start.Column, SeverityName(d.Severity))
	if d.New {
		b.WriteString(" [new]")
	}
	if d.Source != "" {
		fmt.Fprintf(&b, " [%s]", d.Source)
	}
	message := text.TruncateBytes(strings.TrimSpace(d.Message), maxMessage)
	b.WriteString(" " + strings.ReplaceAll(message, "\n", "\n    "))
	if d.Code != "" {
		fmt.Fprintf(&b, " (%s)", d.Code)
	}
	return b.String()
}

// Summary returns the counts by severity: "2 errors, 1 warning (1 new)"; "" for no diagnostics.
func Summary(list []Diagnostic) string {
	counts, fresh := [5]int{}, 0
	for i := range list {
		counts[list[i].Severity]++
		if list[i].New {
			fresh++
		}
	}
	var parts []string
	for s := SeverityError; s <= SeverityHint; s++ {
		if n := counts[s]; n == 1 {
			parts = append(parts, "1 "+SeverityName(s))
		} else if n > 1 && s == SeverityInformation {
			parts = append(parts, fmt.Sprintf("%d infos", n))
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d %ss", n, SeverityName(s)))
		}
	}
	text := strings.Join(parts, ", ")
	if fresh > 0 {
		text += fmt.Sprintf(" (%d new)", fresh)
	}
	return text
}

// ReportText formats the reports of a change for the model and the user; display shortens paths. It lists at most limit
// diagnostics, the new ones of all files first.
func ReportText(reports []*Report, display func(path string) string, limit int) string {
	var all []Diagnostic
	for _, r := range reports {
		all = append(all, r.Diagnostics...)
	}
	slices.SortStableFunc(all, func(a, b Diagnostic) int {
		switch {
		case a.New && !b.New:
			return -1
		case b.New && !a.New:
			return 1
		}
		return 0
	})
	total := len(all)
	all = all[:min(limit, total)]
	listed := make(map[string][]*Diagnostic)
	for i := range all {
		listed[all[i].Path] = append(listed[all[i].Path], &all[i])
	}
	var b strings.Builder
	for _, r := range reports {
		name := display(r.Path)
		switch answered := len(r.Servers) - len(r.Silent) - len(r.Failed); {
		case len(r.Diagnostics) > 0:
			fmt.Fprintf(&b, "%s: %s\n", name, Summary(r.Diagnostics))
			for _, d := range listed[r.Path] {
				fmt.Fprintf(&b, "  %s\n", d)
			}
		case answered > 0:
			fmt.Fprintf(&b, "%s: no problems (%s)\n", name, strings.Join(r.answered(), ", "))
		}
		if n := len(r.Unchecked); n > 0 {
			fmt.Fprintf(&b, "%d more changed files were not checked, from %s on.\n", n, name)
		}
		for _, server := range r.Silent {
			fmt.Fprintf(&b, "%s: %s has not answered in time; there may be problems.\n", name, server)
		}
		for _, server := range slices.Sorted(maps.Keys(r.Failed)) {
			fmt.Fprintf(&b, "%s: %s failed: %s\n", name, server, r.Failed[server])
		}
	}
	if left := total - len(all); left > 0 {
		fmt.Fprintf(&b, "… and %d more; list them with the lsp tool's action diagnostics.\n", left)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// answered returns the servers that have answered.
func (r *Report) answered() []string {
	var names []string
	for _, server := range r.Servers {
		if _, failed := r.Failed[server]; !failed && !slices.Contains(r.Silent, server) {
			names = append(names, server)
		}
	}
	return names
}
