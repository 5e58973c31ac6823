package talk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
)

// Limits of one report: of the part that is stored, and of the part that the model receives at once. All reports of a call together
// stay within [toolkit.MaxText].
const (
	maxReport      = 500_000
	maxReportLines = 5000
	maxInline      = 12_000
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
func (r *taskRun) result(ctx context.Context, reports []taskReport) (*agent.Result, error) {
	if len(reports) == 1 {
		if err := reports[0].err; err != nil {
			return nil, err
		}
		return &agent.Result{Text: r.receipt(ctx, &reports[0])}, nil
	}
	var parts []string
	failed := 0
	for i := range reports {
		head := "## " + reports[i].task.ID + "\n\n"
		if err := reports[i].err; err != nil {
			failed++
			parts = append(parts, head+"[Failed: "+err.Error()+cancelledNote(err)+"]")
			continue
		}
		parts = append(parts, head+r.receipt(ctx, &reports[i]))
	}
	return &agent.Result{Text: strings.Join(parts, "\n\n"), IsError: failed == len(reports)}, nil
}

func cancelledNote(err error) string {
	if errors.Is(err, agent.ErrTaskCancelled) {
		return "; do not start it again without asking"
	}
	return ""
}

// receipt formats one report for the model.
func (r *taskRun) receipt(ctx context.Context, report *taskReport) string {
	done := &report.done
	text := strings.TrimSpace(done.Text)
	if text == "" && done.Question == "" {
		text = "(the helper said nothing)"
	}
	text = r.bounded(ctx, text)
	switch {
	case done.Question != "":
		// The question comes first, so that a long report does not cut it off.
		question := strings.TrimSpace(done.Question)
		if len(question) > maxInline {
			question = toolkit.CutBytes(question, maxInline) + " [The rest was cut off.]"
		}
		text = strings.TrimSpace("The helper needs an answer: " + question +
			"\n\n[It has ended, and the user has not seen the question. Ask the user, or answer it yourself where you can; then give the work to a new helper, with the answer.]\n\n" + text)
	case done.OverBudget && done.Stop != agent.StopEndTurn:
		text += "\n\n[The helper was stopped: it had used its token budget, and kept working after it was told to finish. Its work is not complete.]"
	case done.OverBudget:
		text += "\n\n[The helper had used its token budget and was told to finish. Its work may not be complete.]"
	case done.Stop != agent.StopEndTurn:
		text += fmt.Sprintf("\n\n[The helper stopped early: %s.]", done.Stop)
	}
	return text
}

// bounded returns the part of a report that the model gets at once. It stores the whole report if the session can.
func (r *taskRun) bounded(ctx context.Context, text string) string {
	most := min(maxInline, maxInlineAll/len(r.in.Tasks))
	if p := r.in.SpawnPlan; p != nil && p.MaxInlineTokens > 0 && p.MaxInlineTokens < most/bytesPerToken {
		most = p.MaxInlineTokens * bytesPerToken
	}
	if len(text) <= most {
		return text
	}
	whole, cut := boundedReport(text)
	note := fmt.Sprintf("[The report was cut off here; it has %d bytes.", len(text))
	if r.call.Artifacts != nil {
		if url, err := r.call.Artifacts.Put(ctx, "task", []byte(whole)); err == nil {
			note += " Full text: " + url + "."
			if cut {
				note = fmt.Sprintf("[The report was cut off here; it has %d bytes. The first %d bytes: %s.", len(text), len(whole), url)
			}
		}
	}
	return strings.TrimRight(toolkit.CutBytes(text, most), "\n") + "\n" + note + "]"
}

// boundedReport returns the part of a report that is stored, and whether the report was shortened.
func boundedReport(text string) (kept string, cut bool) {
	kept = toolkit.CutBytes(text, maxReport)
	at := 0
	for range maxReportLines {
		i := strings.IndexByte(kept[at:], '\n')
		if i < 0 {
			return kept, len(kept) < len(text)
		}
		at += i + 1
	}
	return kept[:at], at < len(text)
}
