package slash

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/rewind"
	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/sessions"
)

// rewindUsage explains /rewind.
const rewindUsage = "Use /rewind to list the prompts, and /rewind N code|conversation|both to go back to just before one."

// rewindTo runs /rewind.
func rewindTo(c *call) error {
	recorder, ok := agent.LookupValue[*rewind.Recorder](c.session.Values())
	if !ok {
		return c.fail(errors.New("checkpoints are off; switch them on with checkpoints.enabled in config.yml"))
	}
	fields := strings.Fields(c.args)
	steps, err := recorder.Steps(c)
	if err != nil {
		return c.fail(err)
	}
	if len(fields) == 0 {
		return c.say(listSteps(steps, time.Now()), nil)
	}
	n, err := strconv.Atoi(fields[0])
	what := "both"
	if len(fields) > 1 {
		what = fields[1]
	}
	if err != nil || len(fields) > 2 || !slices.Contains([]string{"code", "conversation", "both"}, what) {
		return c.say(rewindUsage, nil)
	}
	if n < 1 || n > len(steps) {
		return c.fail(rewind.ErrNoStep)
	}
	return c.rewind(recorder, &steps[n-1], what)
}

// rewind goes back to before a step: with the files first, as the user may refuse that.
func (c *call) rewind(recorder *rewind.Recorder, step *rewind.Step, what string) error {
	var done []string
	if what != "conversation" {
		words, err := c.rewindFiles(recorder, step)
		if err != nil {
			return c.fail(err)
		}
		done = append(done, words)
	}
	if what != "code" {
		if step.Kind != checkpoint.Prompt {
			done = append(done, "The conversation stays: this step is no prompt.")
			return c.say(strings.Join(done, "\n\n"), nil)
		}
		to, err := c.turn.Navigate(c, step.Entry, agent.NavigateOptions{})
		switch {
		case errors.Is(err, sessions.ErrNotFound):
			return c.fail(errors.New("the prompt is not in this session's log, so the conversation stays"))
		case err != nil:
			return c.fail(err)
		}
		words := "The conversation continues before that prompt."
		if prompt := textOf(to.Words); prompt != "" {
			words += " Your prompt there, to edit and send again:\n\n" + quoted(prompt)
		}
		done = append(done, words)
	}
	return c.say(strings.Join(done, "\n\n"), nil)
}

// rewindFiles restores the files.
func (c *call) rewindFiles(recorder *rewind.Recorder, step *rewind.Step) (string, error) {
	if snap, err := c.session.Snapshot(); err != nil {
		return "", err
	} else if snap.Mode == approval.ModePlan {
		return "", errors.New("plan mode changes nothing; leave it with /mode first")
	}
	plan, err := recorder.Plan(c, step)
	if err != nil {
		return "", err
	}
	var notes []string
	if len(plan.Others) > 0 {
		notes = append(notes, fmt.Sprintf("Note: %s recorded changes in the same directory since then; those are taken back too.", text.Count(len(plan.Others), "other session")))
	}
	for _, dir := range plan.Missing {
		notes = append(notes, "Note: the state of "+dir+" is not recorded, so nothing in it changes.")
	}
	if step.Skipped > 0 {
		notes = append(notes, fmt.Sprintf("Note: %s too large, secret or unreadable; they stay as they are.", text.Count(step.Skipped, "file")))
	}
	if len(plan.Files()) == 0 {
		return strings.Join(append([]string{"The files are as they were before that prompt."}, notes...), "\n"), nil
	}
	done, err := c.turn.RunTool("rewind", jsonx.Raw("{}"), recorder.Tool(plan))
	if err != nil {
		return "", err
	}
	return strings.Join(append([]string{done}, notes...), "\n"), nil
}

// maxListed bounds the steps that a list shows.
const maxListed = 30

// listSteps describes the steps for people.
func listSteps(steps []rewind.Step, now time.Time) string {
	if len(steps) == 0 {
		return "No prompt is recorded yet."
	}
	var b strings.Builder
	b.WriteString("Prompts, the latest first, with the files that changed after each:\n")
	for i := range steps {
		if i == maxListed {
			fmt.Fprintf(&b, "\n%d earlier ones are not shown.\n", len(steps)-i)
			break
		}
		s := &steps[i]
		fmt.Fprintf(&b, "%d. %s (%s, %s ago)\n", s.N, s.Title, text.Count(len(s.Changed), "file"), ago(now.Sub(s.Time)))
		for j, f := range s.Changed {
			if j == 5 {
				fmt.Fprintf(&b, "   - and %d more\n", len(s.Changed)-j)
				break
			}
			fmt.Fprintf(&b, "   - %s %s\n", past(f.Verb()), f.Path)
		}
	}
	b.WriteString("\n" + rewindUsage + " Ignored files are never recorded nor restored.")
	return b.String()
}

func past(verb string) string { return strings.TrimSuffix(verb, "e") + "ed" }

func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return text.Count(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return text.Count(int(d.Hours()), "hour")
	default:
		return text.Count(int(d.Hours()/24), "day")
	}
}
