package contextwindow

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

var (
	//go:embed prompts/branch-summary.md
	branchPrompt string
	//go:embed prompts/branch-preamble.md
	branchPreamble string
)

// ErrNothingToSummarize is the error for a branch without a message.
var ErrNothingToSummarize = errors.New("the branch that is left has no messages")

// BranchTask is a request for the summary of a branch.
type BranchTask struct {
	files *fileOps
	task  summaryTask
}

// NewBranchTask returns a request for a summary of the entries of a branch that the conversation leaves, oldest first.
// instructions, if not empty, replace gjc's own. For a branch without a message it returns [ErrNothingToSummarize].
func NewBranchTask(
	entries []sessions.Entry, window *Window, model *providers.ModelInfo, settings *BranchSummarySettings, instructions string, hide func(string) string,
) (*BranchTask, error) {
	// The list of files includes those of entries that do not fit into the request.
	b := &BranchTask{files: newFileOps()}
	b.files.entries(entries)
	size := model.ContextWindow
	if size <= 0 {
		size = unknownWindow
	}
	budget := max(size-settings.ReserveTokens, size/2)
	if b.task.blocks = newestWithin(entries, int(float64(budget)/window.scale()), hide); len(b.task.blocks) == 0 {
		return nil, ErrNothingToSummarize
	}
	if b.task.instructions = instructions; strings.TrimSpace(instructions) == "" {
		b.task.instructions = branchPrompt
	}
	return b, nil
}

// Write returns the summary. The caller must set its FromID.
func (b *BranchTask) Write(ctx context.Context, w *Writer) (sessions.BranchSummary, error) {
	summary, err := w.write(ctx, &b.task)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return sessions.BranchSummary{}, err
	}
	raw, err := jsonx.Marshal(b.files.lists())
	if err != nil {
		return sessions.BranchSummary{}, err
	}
	return sessions.BranchSummary{
		Summary: strings.TrimSpace(branchPreamble) + "\n\n" + summary + b.files.tag(), Details: raw,
	}, nil
}
