package sessions

import (
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// foreignMessage makes user content of the messages that the interactive program writes and this one does not:
// commands that the user ran there, files that were mentioned, summaries. Hidden ones are not for a model.
func (d *decoder) foreignMessage(role string, raw jsonx.Raw) (parts []providers.Part, hidden bool, err error) {
	var w struct {
		Command  string   `json:"command"`
		Code     string   `json:"code"`
		Output   string   `json:"output"`
		ExitCode *float64 `json:"exitCode"`
		Exclude  bool     `json:"excludeFromContext"`
		Summary  string   `json:"summary"`
		Files    []struct {
			Path    string     `json:"path"`
			Content string     `json:"content"`
			Image   *readBlock `json:"image"`
		} `json:"files"`
	}
	if err := jsonx.Unmarshal(raw, &w); err != nil {
		return nil, false, err
	}
	text := func(s string) []providers.Part { return []providers.Part{providers.Text{Text: s}} }
	switch role {
	case "bashExecution":
		return text(ranText("the command", w.Command, w.Output, w.ExitCode)), w.Exclude, nil
	case "pythonExecution":
		return text(ranText("this Python code", w.Code, w.Output, w.ExitCode)), w.Exclude, nil
	case "branchSummary":
		return text(branchText(w.Summary)), false, nil
	case "compactionSummary":
		return text(compactionText(w.Summary)), false, nil
	case "fileMention":
		for _, f := range w.Files {
			parts = append(parts, providers.Text{Text: fmt.Sprintf("The file %s:\n\n%s", f.Path, f.Content)})
			if f.Image != nil {
				parts = append(parts, d.image(f.Image))
			}
		}
		return parts, false, nil
	default:
		return nil, false, fmt.Errorf("unknown role %q", role)
	}
}

func ranText(what, source, output string, code *float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "I ran %s\n\n%s\n\n", what, source)
	if output == "" {
		b.WriteString("It printed nothing.")
	} else {
		fmt.Fprintf(&b, "It printed:\n\n%s", output)
	}
	if code != nil && *code != 0 {
		fmt.Fprintf(&b, "\n\nIt exited with code %d.", int(*code))
	}
	return b.String()
}

func compactionText(summary string) string {
	return "The conversation before this point was replaced by this summary of it:\n\n" + summary
}

func branchText(summary string) string {
	return "Another branch of this conversation was left here. A summary of it:\n\n" + summary
}
