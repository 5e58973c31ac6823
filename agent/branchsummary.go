package agent

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/sessions"
)

var (
	//go:embed prompts/branch-summary.md
	branchPrompt string
	//go:embed prompts/branch-preamble.md
	branchPreamble string
)

// ErrNothingToSummarize is returned for a branch without a message.
var ErrNothingToSummarize = errors.New("the branch that is left has no messages")

// SummarizeBranch has the model write what happened in entries, those of a branch that is left, oldest first.
// instructions, if not empty, take the place of gjc's own. FromID of the result is the caller's to fill in, and so is to
// append it. It is for the function that [Session.Answer] runs.
func (t *Turn) SummarizeBranch(ctx context.Context, entries []sessions.Entry, instructions string) (sessions.BranchSummary, error) {
	snap, _, err := t.look(ctx)
	if err != nil {
		return sessions.BranchSummary{}, err
	}
	// All files count, also of what does not fit into the request.
	ops := newFileOps()
	ops.entries(entries)
	window := snap.model.ContextWindow
	if window <= 0 {
		window = unknownWindow
	}
	budget := max(window-t.session.settings.BranchSummary.ReserveTokens, window/2)
	blocks := newestWithin(entries, int(float64(budget)/snap.scale()), t.session.opts.Secrets.Hide)
	if len(blocks) == 0 {
		return sessions.BranchSummary{}, ErrNothingToSummarize
	}
	w, err := t.newSummaryWriter(ctx, snap.model)
	if err != nil {
		return sessions.BranchSummary{}, err
	}
	if strings.TrimSpace(instructions) == "" {
		instructions = branchPrompt
	}
	summary, err := w.write(ctx, &summaryTask{blocks: blocks, instructions: instructions})
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return sessions.BranchSummary{}, err
	}
	files := ops.lists()
	raw, err := jsonx.Marshal(files)
	if err != nil {
		return sessions.BranchSummary{}, err
	}
	return sessions.BranchSummary{
		Summary: strings.TrimSpace(branchPreamble) + "\n\n" + summary + ops.tag(), Details: raw,
	}, nil
}

// newestWithin is the newest part of a conversation that has no more than budget tokens, in words. A summary at the edge
// is taken all the same if little of the budget is used: it tells of much.
func newestWithin(entries []sessions.Entry, budget int, hide func(string) string) []string {
	pruned := sessions.PrunedOf(entries)
	var newest []string
	used := 0
	for _, e := range slices.Backward(entries) {
		block := serialised([]sessions.Entry{e}, pruned, hide)
		if len(block) == 0 {
			continue
		}
		n := tokens(len(block[0]))
		if used+n > budget && len(newest) > 0 {
			if isSummary(e) && used < budget*9/10 {
				newest = append(newest, cutMiddle(block[0], max((budget-used)*4, 0)))
			}
			break
		}
		newest = append(newest, block[0])
		used += n
	}
	slices.Reverse(newest)
	return newest
}

func isSummary(e sessions.Entry) bool {
	switch e.(type) {
	case sessions.Compaction, sessions.BranchSummary:
		return true
	default:
		return false
	}
}
