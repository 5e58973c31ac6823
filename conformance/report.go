package conformance

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A Status is how a check went.
type Status string

// The statuses.
const (
	StatusPassed  Status = "passed"
	StatusFailed  Status = "failed"
	StatusSkipped Status = "skipped"
)

// A Reason is why a check was skipped.
type Reason string

// The reasons. Only ReasonNotSeen counts as a failure in a strict run.
const (
	ReasonNotAdvertised Reason = "not advertised" // the agent does not offer the part
	ReasonNotSeen       Reason = "not seen"       // what the check is about did not happen
	ReasonNotPossible   Reason = "not possible"   // this machine, or this setup, can not try it
)

// A Result is how one check went.
type Result struct {
	Check
	Status Status `json:"status"`
	// Reason is set for a skipped check, Detail for one that did not pass.
	Reason Reason `json:"reason,omitzero"`
	Detail string `json:"detail,omitzero"`
	// Transcript has the last messages of both directions, of a failed check; Stderr the end of what the agent told.
	Transcript []string `json:"transcript,omitempty"`
	Stderr     string   `json:"stderr,omitzero"`
	Millis     int64    `json:"millis"`
}

// A Report is how an agent did.
type Report struct {
	// Agent is what the agent calls itself: name and version.
	Agent   string   `json:"agent"`
	Command []string `json:"command"`
	// Conformant says that nothing failed but what is only recommended.
	Conformant bool     `json:"conformant"`
	Passed     int      `json:"passed"`
	Failed     int      `json:"failed"`
	Warnings   int      `json:"warnings"`
	Skipped    int      `json:"skipped"`
	Results    []Result `json:"results"`
}

// warning reports a failure that does not make the agent not conformant.
func (r *Result) warning() bool { return r.Status == StatusFailed && r.Tier == TierShould }

func (r *Report) count() {
	for i := range r.Results {
		switch c := &r.Results[i]; {
		case c.warning():
			r.Warnings++
		case c.Status == StatusFailed:
			r.Failed++
		case c.Status == StatusSkipped:
			r.Skipped++
		default:
			r.Passed++
		}
	}
	r.Conformant = r.Failed == 0
}

// WriteText writes the report for people: every check in its area, or only those that did not pass, and what is needed
// to understand a failed one.
func (r *Report) WriteText(w io.Writer, onlyFailed bool) error {
	var b strings.Builder
	area := ""
	for i := range r.Results {
		c := &r.Results[i]
		if onlyFailed && c.Status == StatusPassed {
			continue
		}
		if a := c.area(); a != area {
			area = a
			fmt.Fprintf(&b, "\n%s\n", area)
		}
		word := map[Status]string{StatusPassed: "ok  ", StatusFailed: "FAIL", StatusSkipped: "skip"}[c.Status]
		if c.warning() {
			word = "warn"
		}
		fmt.Fprintf(&b, "  %s %s", word, c.ID)
		if c.Status == StatusSkipped {
			fmt.Fprintf(&b, " (%s)", c.Detail)
		}
		b.WriteByte('\n')
		if c.Status == StatusFailed {
			fmt.Fprintf(&b, "       %s: %s\n       %s\n", c.Tier, c.Requirement, c.Spec)
			fmt.Fprintf(&b, "       %s\n", indent(c.Detail))
			for _, line := range c.Transcript {
				fmt.Fprintf(&b, "       | %s\n", line)
			}
			if c.Stderr != "" {
				fmt.Fprintf(&b, "       stderr: %s\n", indent(c.Stderr))
			}
		}
	}
	verdict := "conformant"
	if !r.Conformant {
		verdict = "NOT conformant"
	}
	fmt.Fprintf(&b, "\n%s: %s: %d passed, %d failed, %d warnings, %d skipped\n",
		cmp.Or(r.Agent, strings.Join(r.Command, " ")), verdict, r.Passed, r.Failed, r.Warnings, r.Skipped)
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n       ") }

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	data, err := jsonx.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	_, err = w.Write(append(data, '\n'))
	return err
}
