package code

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

func runHover(ctx context.Context, c *lspCall) (*agent.Result, error) {
	const method = "textDocument/hover"
	var texts []string
	err := c.askAt(ctx, method, func(ctx context.Context, s *lsp.Server, doc *lsp.Document, at *spot) (bool, error) {
		c.follow(&place{path: c.path, at: lsp.Place{Line: at.line + 1}})
		var raw jsonx.Raw
		if err := c.request(ctx, s, method, positionParams(doc, at.position(doc)), &raw); err != nil {
			return false, err
		}
		if text := markup(jsonx.Lookup(raw, "contents")); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	return c.result(ctx, cmp.Or(strings.Join(texts, "\n\n---\n\n"), "No hover information")), nil
}

type signatureHelp struct {
	Signatures []struct {
		Label         string    `json:"label"`
		Documentation jsonx.Raw `json:"documentation"`
		Parameters    []struct {
			Label         jsonx.Raw `json:"label"`
			Documentation jsonx.Raw `json:"documentation"`
		} `json:"parameters"`
		ActiveParameter *float64 `json:"activeParameter"`
	} `json:"signatures"`
	ActiveSignature float64  `json:"activeSignature"`
	ActiveParameter *float64 `json:"activeParameter"`
}

func runSignature(ctx context.Context, c *lspCall) (*agent.Result, error) {
	const method = "textDocument/signatureHelp"
	var b strings.Builder
	err := c.askAt(ctx, method, func(ctx context.Context, s *lsp.Server, doc *lsp.Document, at *spot) (bool, error) {
		c.follow(&place{path: c.path, at: lsp.Place{Line: at.line + 1}})
		// Servers answer for the call around a position: after the parenthesis, for the name of a function.
		for _, offset := range []int{afterParenthesis(doc.Text, at), at.offset} {
			if offset < 0 {
				continue
			}
			help, err := requestList[signatureHelp](ctx, c, s, method, positionParams(doc, doc.Text.Position(offset, s.Encoding())))
			if err != nil {
				return false, err
			}
			if len(help) > 0 && len(help[0].Signatures) > 0 {
				help[0].write(&b)
				break
			}
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	return c.result(ctx, cmp.Or(b.String(), "No signature here. Give the line and symbol of a function where it is called; use hover elsewhere.")), nil
}

// afterParenthesis returns the offset after the parenthesis that follows a symbol, or -1.
func afterParenthesis(text *lsp.Text, at *spot) int {
	rest := text.String()[at.end:]
	trimmed := strings.TrimLeft(rest, " \t")
	if strings.HasPrefix(trimmed, "(") {
		return at.end + len(rest) - len(trimmed) + 1
	}
	return -1
}

func (h *signatureHelp) write(b *strings.Builder) {
	for i, sig := range h.Signatures {
		mark := ""
		if len(h.Signatures) > 1 && i == int(h.ActiveSignature) {
			mark = " (this one)"
		}
		fmt.Fprintf(b, "%s%s\n", sig.Label, mark)
		active := 0 // the default if a server sends none
		if a := cmp.Or(sig.ActiveParameter, h.ActiveParameter); a != nil {
			active = int(*a)
		}
		for n, p := range sig.Parameters {
			doc := markup(p.Documentation)
			if doc == "" && n != active {
				continue
			}
			label := parameterLabel(sig.Label, p.Label)
			if n == active && i == int(h.ActiveSignature) {
				label += " (at the position)"
			}
			fmt.Fprintf(b, "  %s", label)
			if doc != "" {
				b.WriteString(": " + strings.ReplaceAll(doc, "\n", "\n    "))
			}
			b.WriteString("\n")
		}
		if doc := markup(sig.Documentation); doc != "" {
			fmt.Fprintf(b, "\n%s\n\n", doc)
		}
	}
}

// parameterLabel returns a parameter's name: a string, or a part of the signature in UTF-16 units.
func parameterLabel(signature string, raw jsonx.Raw) string {
	if raw.Kind() == '"' {
		return markup(raw)
	}
	var part [2]float64
	if jsonx.Unmarshal(raw, &part) != nil {
		return "?"
	}
	text := lsp.NewText(signature)
	at := func(units float64) int {
		return text.Offset(lspPosition{Character: units}.position(), lsp.UTF16)
	}
	return signature[at(part[0]):max(at(part[0]), at(part[1]))]
}

type inlayHint struct {
	Position     lspPosition `json:"position"`
	Label        jsonx.Raw   `json:"label"`
	PaddingLeft  bool        `json:"paddingLeft"`
	PaddingRight bool        `json:"paddingRight"`
}

func (h *inlayHint) text() string {
	text := ""
	if h.Label.Kind() == '"' {
		_ = jsonx.Unmarshal(h.Label, &text) // the label is a string
	} else {
		parts, err := decodeList[struct {
			Value string `json:"value"`
		}](h.Label)
		if err != nil {
			return ""
		}
		for _, p := range parts {
			text += p.Value
		}
	}
	if h.PaddingLeft {
		text = " " + text
	}
	if h.PaddingRight {
		text += " "
	}
	return text
}

// hintLines is the number of lines shown after the requested one.
const hintLines = 40

func runInlayHints(ctx context.Context, c *lspCall) (*agent.Result, error) {
	const method = "textDocument/inlayHint"
	lines := make(map[int]string)
	hints := 0
	err := c.ask(ctx, false, method, func(ctx context.Context, s *lsp.Server, doc *lsp.Document) (bool, error) {
		from, to := 0, doc.Text.Lines()
		if c.in.Line > 0 || c.in.Symbol != "" {
			at, err := c.spot(doc.Text)
			if err != nil {
				return false, err
			}
			from, to = at.line, min(at.line+hintLines, to)
		}
		params := documentParams(doc)
		params["range"] = protocol.Range{Start: protocol.Position{Line: uint32(from)}, End: protocol.Position{Line: uint32(to)}}
		list, err := requestList[inlayHint](ctx, c, s, method, params)
		hints += len(list)
		addHints(lines, list, doc.Text, s.Encoding())
		return false, err
	})
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return c.result(ctx, "No inlay hints"), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s, each in «»:\n", text.Count(hints, "inlay hint"), c.name(c.path))
	for _, n := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&b, "%d: %s\n", n+1, toolkit.CutLine(lines[n], toolkit.MaxColumns))
		c.follow(&place{path: c.path, at: lsp.Place{Line: n + 1}})
	}
	return c.result(ctx, b.String()), nil
}

// addHints inserts hints into their lines.
func addHints(lines map[int]string, hints []inlayHint, text *lsp.Text, e lsp.Encoding) {
	slices.SortStableFunc(hints, func(a, b inlayHint) int { // backwards, so that earlier offsets stay valid
		return text.Offset(b.Position.position(), e) - text.Offset(a.Position.position(), e)
	})
	for i := range hints {
		p := text.Position(text.Offset(hints[i].Position.position(), e), lsp.UTF8)
		n := int(p.Line)
		if _, ok := lines[n]; !ok {
			lines[n] = text.Line(n)
		}
		at := min(int(p.Character), len(lines[n]))
		lines[n] = lines[n][:at] + "«" + hints[i].text() + "»" + lines[n][at:]
	}
}

type foldingRange struct {
	StartLine float64 `json:"startLine"`
	EndLine   float64 `json:"endLine"`
	Kind      string  `json:"kind"`
}

func runFolding(ctx context.Context, c *lspCall) (*agent.Result, error) {
	const method = "textDocument/foldingRange"
	var b strings.Builder
	found := 0
	err := c.ask(ctx, false, method, func(ctx context.Context, s *lsp.Server, doc *lsp.Document) (bool, error) {
		list, err := requestList[foldingRange](ctx, c, s, method, documentParams(doc))
		for _, f := range list {
			from, to := int(f.StartLine)+1, int(f.EndLine)+1
			if from < c.in.Line || from < 1 || to < from {
				continue
			}
			found++
			kind := ""
			if f.Kind != "" {
				kind = " [" + f.Kind + "]"
			}
			fmt.Fprintf(&b, "%d-%d%s %s\n", from, to, kind, toolkit.CutLine(strings.TrimSpace(doc.Text.Line(from-1)), toolkit.MaxShownColumns))
		}
		return found > 0, err // one server's hints are enough
	})
	if err != nil {
		return nil, err
	}
	if found == 0 {
		return c.result(ctx, "No folding ranges"), nil
	}
	return c.result(ctx, fmt.Sprintf("%s in %s:\n", text.Count(found, "folding range"), c.name(c.path))+b.String()), nil
}
