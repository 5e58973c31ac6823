package tools

import (
	"context"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/lsp"
)

// Applied is the outcome of a change of many files.
type Applied struct {
	Content []agent.Content
	Changed []string
	Notes   []string
}

// ApplyOperations is applyOperations for tests.
func ApplyOperations(ctx context.Context, call *agent.Call, ops []lsp.FileOperation) (*Applied, error) {
	w, err := applyOperations(ctx, call, ops, seenFiles(ctx, call, ops))
	if err != nil {
		return nil, err
	}
	return &Applied{w.content, w.changed, w.notes}, nil
}
