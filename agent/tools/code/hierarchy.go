package code

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
)

// hierarchyItem is a CallHierarchyItem or a TypeHierarchyItem. It is sent back to the server unchanged.
type hierarchyItem struct {
	raw       jsonx.Raw
	Name      string    `json:"name"`
	Kind      float64   `json:"kind"`
	Detail    string    `json:"detail"`
	URI       string    `json:"uri"`
	Range     lspRange  `json:"range"`
	Selection *lspRange `json:"selectionRange"`
}

func decodeItems(raw jsonx.Raw) ([]hierarchyItem, error) {
	raws, err := decodeList[jsonx.Raw](raw)
	if err != nil {
		return nil, err
	}
	items := make([]hierarchyItem, 0, len(raws))
	for _, r := range raws {
		item := hierarchyItem{raw: r.Clone()}
		if err := jsonx.Unmarshal(r, &item); err != nil {
			return nil, answerError(err)
		}
		items = append(items, item)
	}
	return items, nil
}

func (h *hierarchyItem) site(e lsp.Encoding) site {
	r := h.Range
	if h.Selection != nil {
		r = *h.Selection
	}
	return site{uri: h.URI, start: r.Start.position(), end: r.End.position(), encoding: e}
}

// maxHierarchy bounds the number of entries in each direction.
const maxHierarchy = 100

// direction checks the parameter direction.
func (c *lspCall) direction(names ...string) ([]string, error) {
	switch d := c.in.Direction; {
	case d == "" || d == "both":
		return names, nil
	case slices.Contains(names, d):
		return []string{d}, nil
	default:
		return nil, fmt.Errorf("%w for lsp: direction of %s is %s or both, not %q", agent.ErrBadInput, c.in.Action, strings.Join(names, ", "), d)
	}
}

// hierarchy describes one of the two kinds.
type hierarchy struct {
	prepare string
	// directions are the names of both directions. methods and headlines are parallel to it.
	directions [2]string
	methods    [2]string
	headlines  [2]string
	none       string
	// entries decodes an answer.
	entries func(raw jsonx.Raw) ([]hierarchyEntry, error)
}

// hierarchyEntry is an item, and the lines in its caller that contain the calls.
type hierarchyEntry struct {
	hierarchyItem
	lines []int
}

func runCallHierarchy(ctx context.Context, c *lspCall) (*agent.Result, error) {
	return runHierarchy(ctx, c, &hierarchy{
		prepare:    "textDocument/prepareCallHierarchy",
		directions: [2]string{"incoming", "outgoing"},
		methods:    [2]string{"callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"},
		headlines:  [2]string{"called by", "calls"},
		none:       "No function here whose calls can be listed",
		entries: func(raw jsonx.Raw) ([]hierarchyEntry, error) {
			calls, err := decodeList[struct {
				From       jsonx.Raw  `json:"from"`
				To         jsonx.Raw  `json:"to"`
				FromRanges []lspRange `json:"fromRanges"`
			}](raw)
			var list []hierarchyEntry
			for _, call := range calls {
				end := call.From
				if end == nil {
					end = call.To
				}
				items, err := decodeItems(end)
				if err != nil {
					return nil, err
				}
				for _, item := range items {
					e := hierarchyEntry{hierarchyItem: item}
					for _, r := range call.FromRanges {
						e.lines = append(e.lines, int(r.Start.position().Line)+1)
					}
					list = append(list, e)
				}
			}
			return list, err
		},
	})
}

func runTypeHierarchy(ctx context.Context, c *lspCall) (*agent.Result, error) {
	return runHierarchy(ctx, c, &hierarchy{
		prepare:    "textDocument/prepareTypeHierarchy",
		directions: [2]string{"supertypes", "subtypes"},
		methods:    [2]string{"typeHierarchy/supertypes", "typeHierarchy/subtypes"},
		headlines:  [2]string{"supertypes", "subtypes"},
		none:       "No type here whose hierarchy can be listed",
		entries: func(raw jsonx.Raw) ([]hierarchyEntry, error) {
			items, err := decodeItems(raw)
			var list []hierarchyEntry
			for _, item := range items {
				list = append(list, hierarchyEntry{hierarchyItem: item})
			}
			return list, err
		},
	})
}

func runHierarchy(ctx context.Context, c *lspCall, h *hierarchy) (*agent.Result, error) {
	wanted, err := c.direction(h.directions[:]...)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	err = c.askAt(ctx, h.prepare, func(ctx context.Context, s *lsp.Server, doc *lsp.Document, at *spot) (bool, error) {
		var raw jsonx.Raw
		if err := c.request(ctx, s, h.prepare, positionParams(doc, at.position(doc)), &raw); err != nil {
			return false, err
		}
		roots, err := decodeItems(raw)
		if err != nil {
			return false, err
		}
		for i := range roots {
			p := c.place(ctx, roots[i].site(s.Encoding()))
			c.follow(&p)
			fmt.Fprintf(&b, "%s %s %s\n", symbolKind(roots[i].Kind), roots[i].Name, &p)
			for n, direction := range h.directions {
				if !slices.Contains(wanted, direction) {
					continue
				}
				err := lacking(c.branch(ctx, &b, s, h, n, roots[i].raw))
				if lack, ok := errors.AsType[*lackError](err); ok && len(wanted) > 1 { // the other direction is still useful
					fmt.Fprintf(&b, "  %s: unknown, %s does not support %s\n", h.headlines[n], lack.server, lack.method)
					continue
				}
				if err != nil {
					return false, err
				}
			}
		}
		return b.Len() > 0, nil // one server's answer is enough
	})
	if err != nil {
		return nil, err
	}
	return c.result(ctx, cmp.Or(b.String(), h.none)), nil
}

// branch writes one direction of one item.
func (c *lspCall) branch(ctx context.Context, b *strings.Builder, s *lsp.Server, h *hierarchy, n int, item jsonx.Raw) error {
	var raw jsonx.Raw
	if err := c.request(ctx, s, h.methods[n], map[string]any{"item": item}, &raw); err != nil {
		return err
	}
	entries, err := h.entries(raw)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		fmt.Fprintf(b, "  %s: none\n", h.headlines[n])
		return nil
	}
	fmt.Fprintf(b, "  %s:\n", h.headlines[n])
	for i := range entries {
		if i == maxHierarchy {
			fmt.Fprintf(b, "    … and %d more\n", len(entries)-i)
			break
		}
		e := &entries[i]
		p := c.place(ctx, e.site(s.Encoding()))
		c.follow(&p)
		fmt.Fprintf(b, "    %s %s %s", symbolKind(e.Kind), e.Name, &p)
		if len(e.lines) > 0 {
			fmt.Fprintf(b, " (call at line %s)", joinLines(e.lines))
		}
		b.WriteString("\n")
	}
	return nil
}

func joinLines(lines []int) string {
	slices.Sort(lines)
	var texts []string
	for _, n := range slices.Compact(lines) {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, ", ")
}
