package lsp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/text"
)

// MaxReported is how many diagnostics a report of a change lists at most.
const MaxReported = 50

// SeverityName is a severity in a word.
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

// maxMessage bounds the message of one diagnostic, in bytes: some servers explain types over pages.
const maxMessage = 600

// String is a diagnostic in one line, without its file: "3:5 [error] [compiler] undefined: x (UndeclaredName)".
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

// Summary counts diagnostics by severity: "2 errors, 1 warning (1 new)". It is empty for none.
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

// ReportText words the reports of a change for the model and for people; display shortens paths. At most most
// diagnostics are listed, the new ones of all files first.
func ReportText(reports []*Report, display func(path string) string, most int) string {
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
	all = all[:min(most, total)]
	listed := make(map[string][]*Diagnostic)
	for i := range all {
		listed[all[i].Path] = append(listed[all[i].Path], &all[i])
	}
	var b strings.Builder
	for _, r := range reports {
		name := display(r.Path)
		switch heard := len(r.Servers) - len(r.Silent) - len(r.Failed); {
		case len(r.Diagnostics) > 0:
			fmt.Fprintf(&b, "%s: %s\n", name, Summary(r.Diagnostics))
			for _, d := range listed[r.Path] {
				fmt.Fprintf(&b, "  %s\n", d)
			}
		case heard > 0:
			fmt.Fprintf(&b, "%s: no problems (%s)\n", name, strings.Join(r.heard(), ", "))
		}
		if n := len(r.Unlooked); n > 0 {
			fmt.Fprintf(&b, "%d more changed files were not looked at, from %s on; nothing is known about them.\n", n, name)
		}
		for _, server := range r.Silent {
			fmt.Fprintf(&b, "%s: %s has not answered in time; whether there are problems is not known yet.\n", name, server)
		}
		for _, server := range slices.Sorted(maps.Keys(r.Failed)) {
			fmt.Fprintf(&b, "%s: %s could not be asked: %s\n", name, server, r.Failed[server])
		}
	}
	if left := total - len(all); left > 0 {
		fmt.Fprintf(&b, "… and %d more; ask for them with the lsp tool's action diagnostics.\n", left)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// heard are the servers that have spoken.
func (r *Report) heard() []string {
	var names []string
	for _, server := range r.Servers {
		if _, failed := r.Failed[server]; !failed && !slices.Contains(r.Silent, server) {
			names = append(names, server)
		}
	}
	return names
}
