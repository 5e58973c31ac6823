package lsp

import (
	"context"
	"strings"

	"go.lsp.dev/protocol"
)

// FormattingOptions returns the indentation that a text uses; by default, four spaces.
func FormattingOptions(text string) protocol.FormattingOptions {
	opts := protocol.FormattingOptions{
		TabSize: 4, InsertSpaces: true, TrimTrailingWhitespace: true, InsertFinalNewline: true, TrimFinalNewlines: true,
	}
	widths := make(map[int]int)
	tabs, before := 0, 0
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " \t")
		if strings.TrimSpace(body) == "" {
			continue
		}
		indent := line[:len(line)-len(body)]
		if strings.HasPrefix(indent, "\t") {
			tabs++
			continue
		}
		if step := len(indent) - before; step > 1 && step <= 8 {
			widths[step]++
		}
		before = len(indent)
	}
	best := 0
	for width, n := range widths {
		if n > widths[best] || n == widths[best] && width < best {
			best = width
		}
	}
	switch {
	case tabs > 0 && tabs >= widths[best]:
		opts.InsertSpaces = false
	case best > 0:
		opts.TabSize = uint32(best)
	}
	return opts
}

// Format returns the text of a file as formatted by the first server that supports formatting, and that server. If there is none,
// it returns the text unchanged and a nil server. The text need not be on disk.
func (w *Workspace) Format(ctx context.Context, path, text string) (string, *Server, error) {
	servers, err := w.Servers(ctx, path)
	if err != nil {
		return text, nil, err
	}
	for _, s := range servers {
		if err := s.Start(ctx); err != nil {
			return text, s, err
		}
		if !s.Supports("textDocument/formatting", path) {
			continue
		}
		formatted, err := w.format(ctx, s, path, text)
		return formatted, s, err
	}
	return text, nil, nil
}

func (w *Workspace) format(ctx context.Context, s *Server, path, text string) (string, error) {
	doc, err := w.hold(ctx, s, path, text)
	if err != nil {
		return text, err
	}
	defer doc.Release()
	var edits []protocol.TextEdit
	params := protocol.DocumentFormattingParams{
		TextDocument: protocol.TextDocumentIdentifier{URI: doc.URI}, Options: FormattingOptions(text),
	}
	if err := s.Call(ctx, "textDocument/formatting", &params, &edits); err != nil {
		return text, err
	}
	formatted, err := doc.Text.Apply(edits, s.Encoding())
	if err != nil {
		return text, err
	}
	return formatted, nil
}
