package code

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

// A server that is still indexing finds nothing, or only the declaration.
const (
	referenceTries = 3
	referencePause = 250 * time.Millisecond
)

func runDefinition(ctx context.Context, c *lspCall) (*agent.Result, error) {
	method := map[string]string{"type_definition": "typeDefinition", "implementation": "implementation"}[c.in.Action]
	list, err := locations(ctx, c, "textDocument/"+cmp.Or(method, "definition"), 1)
	if err != nil {
		return nil, err
	}
	noun := strings.ReplaceAll(c.in.Action, "_", " ")
	if len(list) == 0 {
		return c.result(ctx, "No "+noun+" found"), nil
	}
	return locationsResult(ctx, c, list, noun, ""), nil
}

func runReferences(ctx context.Context, c *lspCall) (*agent.Result, error) {
	list, err := locations(ctx, c, "textDocument/references", referenceTries)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return c.result(ctx, "No references found"), nil
	}
	more := ""
	if over := len(list) - edits.MaxFollowed; over > 0 {
		more = fmt.Sprintf("... %d additional reference(s) shown without context\n", over)
	}
	return locationsResult(ctx, c, list, "reference", more), nil
}

// locations returns the places that servers report for the symbol. It asks again, up to tries times, if a server reports no place
// but the symbol itself.
func locations(ctx context.Context, c *lspCall, method string, tries int) ([]place, error) {
	var sites []site
	err := c.askAt(ctx, method, func(ctx context.Context, s *lsp.Server, doc *lsp.Document, at *spot) (bool, error) {
		params := positionParams(doc, at.position(doc))
		if method == "textDocument/references" {
			params["context"] = map[string]any{"includeDeclaration": true}
		}
		for try := 1; ; try++ {
			var raw jsonx.Raw
			if err := c.request(ctx, s, method, params, &raw); err != nil {
				return false, err
			}
			found, err := decodeSites(raw, s.Encoding())
			if err != nil || len(found) > 1 || try == tries || len(found) == 1 && !c.isSpot(&found[0], at, doc) {
				sites = append(sites, found...)
				return false, err
			}
			if err := pause(ctx, referencePause); err != nil {
				return false, err
			}
			c.awaitLoading(ctx, s)
		}
	})
	if err != nil {
		return nil, err
	}
	return c.merge(ctx, sites), nil
}

// locationsResult lists places, the first ones with the lines around them. It writes more before the others.
func locationsResult(ctx context.Context, c *lspCall, list []place, noun, more string) *agent.Result {
	var b strings.Builder
	fmt.Fprintf(&b, "Found %s:\n", text.Count(len(list), noun))
	for i := range list[:min(len(list), edits.MaxFollowed)] {
		c.show(ctx, &b, &list[i])
	}
	b.WriteString(more)
	for i := edits.MaxFollowed; i < len(list); i++ {
		fmt.Fprintf(&b, "%s\n", &list[i])
	}
	return c.result(ctx, b.String())
}

// isSpot reports whether a site is the symbol that the call is about.
func (c *lspCall) isSpot(s *site, at *spot, doc *lsp.Document) bool {
	path, err := pathOf(s.uri)
	if err != nil || path != c.path {
		return false
	}
	from, to := doc.Text.Offset(s.start, s.encoding), doc.Text.Offset(s.end, s.encoding)
	return from <= at.offset && at.offset <= to
}
