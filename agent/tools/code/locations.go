package code

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
)

// definitionMethod returns the method of an action of the definition family, and its noun.
func definitionMethod(action string) (method, noun string) {
	switch action {
	case "type_definition":
		return "textDocument/typeDefinition", "type definition"
	case "implementation":
		return "textDocument/implementation", "implementation"
	default:
		return "textDocument/definition", "definition"
	}
}

func runDefinition(ctx context.Context, c *lspCall) (*agent.Result, error) {
	method, noun := definitionMethod(c.in.Action)
	servers, err := c.servers(ctx, false)
	if err != nil {
		return nil, err
	}
	var sites []site
	err = c.ask(ctx, servers, method, func(ctx context.Context, s *lsp.Server, doc *lsp.Document) error {
		at, err := c.spot(doc.Text)
		if err != nil {
			return err
		}
		c.note(at.note)
		var raw jsonx.Raw
		if err := c.request(ctx, s, method, positionParams(doc, at.position(doc)), &raw); err != nil {
			return err
		}
		found, err := decodeSites(raw, s.Encoding())
		sites = append(sites, found...)
		return err
	})
	if err != nil {
		return nil, err
	}
	list := c.merge(ctx, sites)
	if len(list) == 0 {
		return c.result(ctx, "No "+noun+" found"), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Found %s:\n", plural(len(list), noun))
	for i := range list {
		if i < edits.MaxFollowed {
			c.show(ctx, &b, &list[i])
		} else {
			fmt.Fprintf(&b, "%s\n", &list[i])
		}
	}
	return c.result(ctx, b.String()), nil
}

// plural returns "1 definition", or "2 definitions".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// A server that has not finished its index finds nothing, or only the declaration.
const (
	referenceTries = 3
	referencePause = 250 * time.Millisecond
)

func runReferences(ctx context.Context, c *lspCall) (*agent.Result, error) {
	const method = "textDocument/references"
	servers, err := c.servers(ctx, false)
	if err != nil {
		return nil, err
	}
	var sites []site
	err = c.ask(ctx, servers, method, func(ctx context.Context, s *lsp.Server, doc *lsp.Document) error {
		at, err := c.spot(doc.Text)
		if err != nil {
			return err
		}
		c.note(at.note)
		params := positionParams(doc, at.position(doc))
		params["context"] = map[string]any{"includeDeclaration": true}
		for try := 1; ; try++ {
			var raw jsonx.Raw
			if err := c.request(ctx, s, method, params, &raw); err != nil {
				return err
			}
			found, err := decodeSites(raw, s.Encoding())
			if err != nil || len(found) > 1 || len(found) == 1 && !c.isSpot(&found[0], at, doc) || try == referenceTries {
				sites = append(sites, found...)
				return err
			}
			if err := pause(ctx, referencePause); err != nil {
				return err
			}
			c.settle(ctx, s)
		}
	})
	if err != nil {
		return nil, err
	}
	list := c.merge(ctx, sites)
	if len(list) == 0 {
		return c.result(ctx, "No references found"), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Found %s:\n", plural(len(list), "reference"))
	for i := range list {
		if i < edits.MaxFollowed {
			c.show(ctx, &b, &list[i])
			continue
		}
		if i == edits.MaxFollowed {
			fmt.Fprintf(&b, "... %d additional reference(s) shown without context\n", len(list)-edits.MaxFollowed)
		}
		fmt.Fprintf(&b, "%s\n", &list[i])
	}
	return c.result(ctx, b.String()), nil
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
