package tools

import (
	"context"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
)

// Applied is what a change of many files came to.
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

// FindSpot is findSpot for tests.
func FindSpot(text *lsp.Text, file string, line int, symbol string) (foundLine, offset int, note string, err error) {
	s, err := findSpot(text, file, line, symbol)
	if err != nil {
		return 0, 0, "", err
	}
	return s.line, s.offset, s.note, nil
}

// Markup is markup for tests.
func Markup(raw string) string { return markup(jsonx.Raw(raw)) }

// ParameterLabel is parameterLabel for tests.
func ParameterLabel(signature, raw string) string { return parameterLabel(signature, jsonx.Raw(raw)) }
