package code

import (
	"fmt"
	"math"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/lazyregexp"
	"github.com/gajae-code/gjc/lsp"
)

// The messages that the tool decodes. The types accept what servers really send: numbers of any size, and either form if the
// protocol has two.

type lspPosition struct {
	Line      float64 `json:"line"`
	Character float64 `json:"character"`
}

func (p lspPosition) position() protocol.Position {
	unit := func(f float64) uint32 { return uint32(min(max(f, 0), math.MaxUint32)) }
	return protocol.Position{Line: unit(p.Line), Character: unit(p.Character)}
}

type lspRange struct {
	Start lspPosition `json:"start"`
	End   lspPosition `json:"end"`
}

// lspLocation is a Location or a LocationLink. The location of a WorkspaceSymbol may have only a URI.
type lspLocation struct {
	URI             string    `json:"uri"`
	Range           *lspRange `json:"range"`
	TargetURI       string    `json:"targetUri"`
	TargetRange     *lspRange `json:"targetRange"`
	TargetSelection *lspRange `json:"targetSelectionRange"`
}

// site is a place that a server reports.
type site struct {
	uri string
	// whole reports that the site is the whole file.
	whole      bool
	start, end protocol.Position
	encoding   lsp.Encoding
}

func (l *lspLocation) site(e lsp.Encoding) site {
	s := site{uri: l.URI, encoding: e}
	r := l.Range
	if l.TargetURI != "" {
		s.uri = l.TargetURI
		if r = l.TargetSelection; r == nil {
			r = l.TargetRange
		}
	}
	if r == nil {
		s.whole = true
		return s
	}
	s.start, s.end = r.Start.position(), r.End.position()
	return s
}

// decodeList decodes null, one value or an array of them.
func decodeList[T any](raw jsonx.Raw) ([]T, error) {
	switch {
	case len(raw) == 0 || jsonx.IsNull(raw):
		return nil, nil
	case raw.Kind() == '[':
		var list []T
		err := jsonx.Unmarshal(raw, &list)
		return list, answerError(err)
	default:
		var one T
		err := jsonx.Unmarshal(raw, &one)
		return []T{one}, answerError(err)
	}
}

// answerError returns the error for an answer that does not follow the protocol.
func answerError(err error) error {
	if err != nil {
		return fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	return nil
}

func decodeSites(raw jsonx.Raw, e lsp.Encoding) ([]site, error) {
	list, err := decodeList[lspLocation](raw)
	var sites []site
	for i := range list {
		if s := list[i].site(e); s.uri != "" {
			sites = append(sites, s)
		}
	}
	return sites, err
}

// markup returns the text of MarkupContent, MarkedString, or an array of those, with blank lines between.
func markup(raw jsonx.Raw) string { return dataImage().ReplaceAllString(plainMarkup(raw), "") }

// dataImage matches a picture embedded in the text, which is long and useless to a model.
var dataImage = lazyregexp.New(`!\[[^\]]*\]\(data:[^)]*\)`)

func plainMarkup(raw jsonx.Raw) string {
	switch raw.Kind() {
	case '"':
		var s string
		_ = jsonx.Unmarshal(raw, &s) // the markup is a string
		return strings.TrimSpace(s)
	case '{':
		var m struct {
			Value    string `json:"value"`
			Language string `json:"language"`
		}
		if jsonx.Unmarshal(raw, &m) != nil {
			return ""
		}
		if m.Language != "" {
			return "```" + m.Language + "\n" + strings.TrimRight(m.Value, "\n") + "\n```"
		}
		return strings.TrimSpace(m.Value)
	case '[':
		var list []jsonx.Raw
		_ = jsonx.Unmarshal(raw, &list) // the markup is an array
		var parts []string
		for _, one := range list {
			if text := plainMarkup(one); text != "" {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, "\n\n")
	default:
		return ""
	}
}

// documentParams and positionParams are the parameters of most requests.
func documentParams(doc *lsp.Document) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": string(doc.URI)}}
}

func positionParams(doc *lsp.Document, p protocol.Position) map[string]any {
	params := documentParams(doc)
	params["position"] = p
	return params
}

// symbolKind returns a SymbolKind as a word.
func symbolKind(kind float64) string {
	names := []string{
		"", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum", "interface",
		"function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null", "enum member", "struct",
		"event", "operator", "type parameter",
	}
	if n := int(kind); n > 0 && n < len(names) {
		return names[n]
	}
	return "symbol"
}
