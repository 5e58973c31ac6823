package code

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

// lspSymbol is a DocumentSymbol, a SymbolInformation or a WorkspaceSymbol.
type lspSymbol struct {
	Name      string       `json:"name"`
	Detail    string       `json:"detail"`
	Kind      float64      `json:"kind"`
	Range     *lspRange    `json:"range"`
	Selection *lspRange    `json:"selectionRange"`
	Children  []lspSymbol  `json:"children"`
	Location  *lspLocation `json:"location"`
	Container string       `json:"containerName"`
}

// maxSymbols bounds the number of symbols of the workspace.
const maxSymbols = 200

func runSymbols(ctx context.Context, c *lspCall) (*agent.Result, error) {
	if c.path == "" {
		return runWorkspaceSymbols(ctx, c)
	}
	if err := c.present(ctx); err != nil {
		return nil, err
	}
	const method = "textDocument/documentSymbol"
	var b strings.Builder
	err := c.ask(ctx, false, method, func(ctx context.Context, s *lsp.Server, doc *lsp.Document) (bool, error) {
		list, err := requestList[lspSymbol](ctx, c, s, method, documentParams(doc))
		writeOutline(&b, list, 0)
		return b.Len() > 0, err // one server's outline is enough
	})
	if err != nil {
		return nil, err
	}
	if b.Len() == 0 {
		return c.result(ctx, "No symbols found"), nil
	}
	c.follow(&place{path: c.path})
	return c.result(ctx, "Symbols in "+c.name(c.path)+":\n"+b.String()), nil
}

// maxOutline bounds the depth of an outline.
const maxOutline = 20

func writeOutline(b *strings.Builder, list []lspSymbol, depth int) {
	if depth == maxOutline {
		return
	}
	for i := range list {
		s := &list[i]
		r := cmp.Or(s.Selection, s.Range)
		if r == nil && s.Location != nil {
			r = s.Location.Range
		}
		line := ""
		if r != nil {
			line = fmt.Sprintf(" @ line %d", r.Start.position().Line+1)
		}
		detail := ""
		if s.Detail != "" {
			detail = " " + toolkit.CutLine(strings.Join(strings.Fields(s.Detail), " "), 120)
		}
		if s.Container != "" {
			detail += " (in " + s.Container + ")"
		}
		fmt.Fprintf(b, "%s%s %s%s%s\n", strings.Repeat("  ", depth), symbolKind(s.Kind), s.Name, detail, line)
		writeOutline(b, s.Children, depth+1)
	}
}

// foundSymbol is a symbol of the workspace, and its place.
type foundSymbol struct {
	lspSymbol
	at place
}

func runWorkspaceSymbols(ctx context.Context, c *lspCall) (*agent.Result, error) {
	if c.in.Query == "" {
		return nil, fmt.Errorf("Error: query parameter required for workspace symbol search")
	}
	servers, _, err := c.w.All(ctx)
	if err != nil {
		return nil, err
	}
	var all []foundSymbol
	answered := 0
	var failed []string
	for _, s := range servers {
		if s.Spec().Linter {
			continue
		}
		c.asked = s.Name()
		list, err := workspaceSymbols(ctx, c, s)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			failed = append(failed, err.Error())
			continue
		}
		answered++
		for i := range list {
			f := foundSymbol{lspSymbol: list[i]}
			if list[i].Location != nil {
				f.at = c.place(ctx, list[i].Location.site(s.Encoding()))
			}
			all = append(all, f)
		}
	}
	switch {
	case answered == 0 && len(failed) > 0:
		return nil, fmt.Errorf("no language server could search for symbols: %s", strings.Join(failed, "; "))
	case answered == 0:
		return nil, c.noServer(ctx, "No language server found for this action")
	}
	c.notes = append(c.notes, failed...)
	all = matchSymbols(all, c.in.Query)
	if len(all) == 0 {
		return c.result(ctx, fmt.Sprintf("No symbols matching %q", c.in.Query)), nil
	}
	if over := len(all) - maxSymbols; over > 0 {
		all = all[:maxSymbols]
		c.notes = append(c.notes, fmt.Sprintf("%d more are not shown; use a longer query.", over))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Found %s matching %q:\n", text.Count(len(all), "symbol"), c.in.Query)
	for i := range all {
		f := &all[i]
		in := ""
		if f.Container != "" {
			in = " (" + f.Container + ")"
		}
		fmt.Fprintf(&b, "%s %s%s %s\n", symbolKind(f.Kind), f.Name, in, &f.at)
		c.follow(&f.at)
	}
	return c.result(ctx, b.String()), nil
}

func workspaceSymbols(ctx context.Context, c *lspCall, s *lsp.Server) ([]lspSymbol, error) {
	const method = "workspace/symbol"
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	if !s.Supports(method, "") {
		return nil, &lackError{s.Name(), method}
	}
	c.w.Refresh(ctx)
	c.awaitLoading(ctx, s)
	return requestList[lspSymbol](ctx, c, s, method, map[string]any{"query": c.in.Query})
}

// matchSymbols removes duplicates and symbols without the query in their names, unless none has it: servers match in many ways, some not by
// name. Exact names come first.
func matchSymbols(all []foundSymbol, query string) []foundSymbol {
	seen := make(map[string]bool, len(all))
	all = slices.DeleteFunc(all, func(f foundSymbol) bool {
		key := f.Name + "\x00" + f.at.String()
		twice := seen[key]
		seen[key] = true
		return twice
	})
	low := strings.ToLower(query)
	has := func(f foundSymbol) bool { return strings.Contains(strings.ToLower(f.Container+"."+f.Name), low) }
	if slices.ContainsFunc(all, has) {
		all = slices.DeleteFunc(all, func(f foundSymbol) bool { return !has(f) })
	}
	rank := func(f foundSymbol) int {
		switch {
		case f.Name == query:
			return 0
		case strings.EqualFold(f.Name, query):
			return 1
		case strings.HasPrefix(strings.ToLower(f.Name), low):
			return 2
		default:
			return 3
		}
	}
	slices.SortStableFunc(all, func(a, b foundSymbol) int { return rank(a) - rank(b) })
	return all
}
