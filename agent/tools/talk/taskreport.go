package talk

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
)

// Limits of the part of a report that the model receives at once. All reports of a call together stay within [toolkit.MaxText].
const (
	maxInline = 12_000
	// maxInlineAll is shared by the reports of one call.
	maxInlineAll = 44 << 10
	// bytesPerToken is an estimate.
	bytesPerToken = 4
)

// taskReport is the result of one task.
type taskReport struct {
	task *taskItem
	done agent.TaskResult
	err  error
}

// result joins the reports of all tasks, in their order.
func (r *taskRun) result(reports []taskReport) (*agent.Result, error) {
	if len(reports) == 1 {
		report := &reports[0]
		if report.err != nil {
			return nil, fmt.Errorf("%w%s", report.err, report.addresses())
		}
		return &agent.Result{Text: r.receipt(report), IsError: report.failed()}, nil
	}
	var parts []string
	failed := 0
	for i := range reports {
		head := "## " + reports[i].name() + "\n\n"
		if reports[i].failed() {
			failed++
		}
		if err := reports[i].err; err != nil {
			parts = append(parts, head+"[Failed: "+err.Error()+cancelledNote(err)+"]"+reports[i].addresses())
			continue
		}
		parts = append(parts, head+r.receipt(&reports[i]))
	}
	return &agent.Result{Text: strings.Join(parts, "\n\n"), IsError: failed == len(reports)}, nil
}

// failed reports whether the task has no report, or one that does not match its schema.
func (r *taskReport) failed() bool { return r.err != nil || r.done.Invalid != "" }

// name returns the helper's name, or that of its task if it has not started.
func (r *taskReport) name() string {
	return cmp.Or(r.done.Name, r.task.ID, r.task.To, r.task.title())
}

// addresses returns notes with the changes of the helper in its worktree, and the addresses of its report and conversation; empty if it
// has not started.
func (r *taskReport) addresses() string {
	changes := ""
	if r.done.Changes != "" {
		changes = "\n\n[Worktree: " + r.done.Changes + "]"
	}
	switch name := r.done.Name; {
	case name == "":
		return ""
	case r.done.Text == "":
		return changes + "\n\n[Conversation: history://" + name + "]"
	default:
		return changes + "\n\n[Report: agent://" + name + ", conversation: history://" + name + "]"
	}
}

func cancelledNote(err error) string {
	if errors.Is(err, agent.ErrTaskCancelled) {
		return "; do not start it again without asking"
	}
	return ""
}

// receipt formats one report for the model.
func (r *taskRun) receipt(report *taskReport) string {
	done := &report.done
	if done.Delivered {
		return "The helper " + done.Name + " is still working. It has got the message."
	}
	text := strings.TrimSpace(done.Text)
	if text == "" && done.Question == "" {
		text = "(the helper said nothing)"
	}
	text = r.bounded(text)
	if done.Invalid != "" {
		text = "[Failed: the report does not match the schema of the output: " + done.Invalid + "]\n\n" + text
	}
	switch {
	case done.Question != "":
		// The question comes first, so that a long report does not cut it off.
		question := strings.TrimSpace(done.Question)
		if len(question) > maxInline {
			question = toolkit.CutBytes(question, maxInline) + " [The rest was cut off.]"
		}
		text = strings.TrimSpace("The helper needs an answer: " + question +
			"\n\n[It has ended, and the user has not seen the question. Ask the user, or answer it yourself where you can; then give it the answer in a task with `to`.]\n\n" + text)
	case done.OverBudget && done.Stop != agent.StopEndTurn:
		text += "\n\n[The helper was stopped: it had used its budget, and kept working after it was told to finish. Its work is not complete.]"
	case done.OverBudget:
		text += "\n\n[The helper had used its budget and was told to finish. Its work may not be complete.]"
	case done.Stop != agent.StopEndTurn:
		text += fmt.Sprintf("\n\n[The helper stopped early: %s.]", done.Stop)
	}
	return text + report.addresses()
}

// bounded returns the part of a report that the model gets at once.
func (r *taskRun) bounded(text string) string {
	most := min(maxInline, maxInlineAll/len(r.in.Tasks))
	if p := r.in.SpawnPlan; p != nil && p.MaxInlineTokens > 0 && p.MaxInlineTokens < most/bytesPerToken {
		most = p.MaxInlineTokens * bytesPerToken
	}
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s\n[The report was cut off here; it has %d bytes.]", strings.TrimRight(toolkit.CutBytes(text, most), "\n"), len(text))
}
