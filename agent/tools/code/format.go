package code

import (
	"context"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
)

// formatsUnsaid reports whether a server accepts textDocument/formatting without declaring it. ESLint's server does if its setting
// "format" is on.
func formatsUnsaid(s *lsp.Server, method string) bool {
	spec := s.Spec()
	return method == "textDocument/formatting" && spec.Linter && jsonx.Lookup(spec.Settings, "format").String() == "true"
}

// planFormat formats the file with the first server that supports it, with the indentation of the file.
func planFormat(ctx context.Context, c *lspCall, plan *agent.CallPlan) error {
	const method = "textDocument/formatting"
	if err := c.present(ctx); err != nil {
		return err
	}
	e := &preparedEdit{what: "format", diffs: true}
	err := c.ask(ctx, true, method, func(ctx context.Context, s *lsp.Server, doc *lsp.Document) (bool, error) {
		if !s.Supports(method, c.path) {
			c.diagnosed(ctx, doc) // it fixes the problems that it has found
		}
		params := documentParams(doc)
		params["options"] = lsp.FormattingOptions(doc.Text.String())
		var raw jsonx.Raw
		if err := c.request(ctx, s, method, params, &raw); err != nil {
			return false, err
		}
		edits, err := lsp.DecodeTextEdits(raw)
		if err != nil {
			return false, err
		}
		edit := lsp.WorkspaceEdit{Changes: []lsp.DocumentChange{&lsp.TextDocumentEdit{URI: uriOf(c.path), Edits: edits}}}
		e.ops, err = edit.Plan(c.surroundings(ctx, s.Encoding(), map[string]*lsp.Document{c.path: doc}))
		e.none = c.name(c.path) + " is already formatted (" + s.Name() + ")"
		return err == nil, err
	})
	if err != nil {
		return err
	}
	c.prepare(ctx, plan, e)
	return nil
}
