package conformance

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A Status is the outcome of a check.
type Status string

// The statuses.
const (
	StatusPassed  Status = "passed"
	StatusFailed  Status = "failed"
	StatusSkipped Status = "skipped"
)

// A Reason is the reason for skipping a check.
type Reason string

// The reasons. Only ReasonNotSeen counts as a failure in a strict run.
const (
	ReasonNotAdvertised Reason = "not advertised" // the agent does not support the part
	ReasonNotSeen       Reason = "not seen"       // what the check tests did not happen
	ReasonNotPossible   Reason = "not possible"   // not possible on this machine or with this setup
)

// A Result is the result of one check.
type Result struct {
	Check
	Status Status `json:"status"`
	// Reason is set for a skipped check, Detail for one that did not pass.
	Reason Reason `json:"reason,omitzero"`
	Detail string `json:"detail,omitzero"`
	// Transcript has the last messages of both directions, for a failed check; Stderr has the end of the agent's
	// stderr.
	Transcript []string `json:"transcript,omitempty"`
	Stderr     string   `json:"stderr,omitzero"`
	Millis     int64    `json:"millis"`
}

// A Report is the result of a run.
type Report struct {
	// Agent is the agent's name and version, as it reports them.
	Agent   string   `json:"agent"`
	Command []string `json:"command"`
	// Conformant reports that no check failed, except those of [TierShould].
	Conformant bool     `json:"conformant"`
	Passed     int      `json:"passed"`
	Failed     int      `json:"failed"`
	Warnings   int      `json:"warnings"`
	Skipped    int      `json:"skipped"`
	Results    []Result `json:"results"`
}

// warning reports whether the agent is conformant despite a failure of the check.
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

// WriteText writes the report for human readers: every check by area, or only those that did not pass, with details of
// failed ones.
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
