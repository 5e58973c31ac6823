package lsp

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// WorkspaceEdit is a change of several files. Its steps must be applied in order.
type WorkspaceEdit struct {
	Changes []DocumentChange
}

// Empty reports whether the edit has no steps. It may be nil.
func (w *WorkspaceEdit) Empty() bool { return w == nil || len(w.Changes) == 0 }

// DocumentChange is one step of a [WorkspaceEdit]: a *[TextDocumentEdit], *[CreateFile], *[RenameFile] or *[DeleteFile].
type DocumentChange interface{ documentChange() }

// TextDocumentEdit changes the text of one document. The ranges of all its edits are positions in the original text.
type TextDocumentEdit struct {
	URI string
	// Version is the version of the text that the edits are for; nil if the server did not send it.
	Version *int32
	Edits   []protocol.TextEdit
}

// CreateFile creates an empty file.
type CreateFile struct {
	URI string
	// Overwrite truncates an existing file. It takes precedence over IgnoreIfExists, which keeps it.
	Overwrite, IgnoreIfExists bool
}

// RenameFile renames a file or a directory.
type RenameFile struct {
	OldURI, NewURI string
	// Overwrite removes an existing target. It takes precedence over IgnoreIfExists, which makes the step a no-op.
	Overwrite, IgnoreIfExists bool
}

// DeleteFile removes a file or a directory.
type DeleteFile struct {
	URI string
	// Recursive permits removing a directory that is not empty.
	Recursive, IgnoreIfNotExists bool
}

func (*TextDocumentEdit) documentChange() {}
func (*CreateFile) documentChange()       {}
func (*RenameFile) documentChange()       {}
func (*DeleteFile) documentChange()       {}

// errInvalidEdit is wrapped by the error for an edit that does not conform to the protocol.
var errInvalidEdit = errors.New("invalid edit of the server")

// wirePosition accepts any number: some servers send numbers over 32 bits for the end of a document.
type wirePosition struct {
	Line      float64 `json:"line"`
	Character float64 `json:"character"`
}

func (p wirePosition) position() protocol.Position {
	unit := func(f float64) uint32 {
		return uint32(min(max(f, 0), math.MaxUint32))
	}
	return protocol.Position{Line: unit(p.Line), Character: unit(p.Character)}
}

type wireEdit struct {
	Range struct {
		Start wirePosition `json:"start"`
		End   wirePosition `json:"end"`
	} `json:"range"`
	NewText *string `json:"newText"`
	// Format 2 is a snippet: an extension of some servers (experimental.snippetTextEdit). Snippet is the standard form.
	Format  float64 `json:"insertTextFormat"`
	Snippet *struct {
		Value string `json:"value"`
	} `json:"snippet"`
}

func (e *wireEdit) edit() (protocol.TextEdit, error) {
	out := protocol.TextEdit{Range: protocol.Range{Start: e.Range.Start.position(), End: e.Range.End.position()}}
	switch {
	case e.Snippet != nil:
		out.NewText = plainSnippet(e.Snippet.Value)
	case e.NewText == nil:
		return out, fmt.Errorf("%w: an edit has no newText", errInvalidEdit)
	case e.Format == 2:
		out.NewText = plainSnippet(*e.NewText)
	default:
		out.NewText = *e.NewText
	}
	return out, nil
}

func decodeEdits(wire []wireEdit) ([]protocol.TextEdit, error) {
	edits := make([]protocol.TextEdit, len(wire))
	for i := range wire {
		var err error
		if edits[i], err = wire[i].edit(); err != nil {
			return nil, err
		}
	}
	return edits, nil
}

// DecodeTextEdits decodes the edits of one document, such as the answer to textDocument/formatting. It accepts null.
func DecodeTextEdits(raw jsonx.Raw) ([]protocol.TextEdit, error) {
	if len(raw) == 0 || jsonx.IsNull(raw) {
		return nil, nil
	}
	var wire []wireEdit
	if err := jsonx.Unmarshal(raw, &wire); err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalidEdit, err)
	}
	return decodeEdits(wire)
}

// wireDocumentChange has the members of all kinds of document changes.
type wireDocumentChange struct {
	Kind         string `json:"kind"`
	TextDocument struct {
		URI     string   `json:"uri"`
		Version *float64 `json:"version"`
	} `json:"textDocument"`
	Edits   []wireEdit `json:"edits"`
	URI     string     `json:"uri"`
	OldURI  string     `json:"oldUri"`
	NewURI  string     `json:"newUri"`
	Options struct {
		Overwrite         bool `json:"overwrite"`
		IgnoreIfExists    bool `json:"ignoreIfExists"`
		Recursive         bool `json:"recursive"`
		IgnoreIfNotExists bool `json:"ignoreIfNotExists"`
	} `json:"options"`
}

func (c *wireDocumentChange) change() (DocumentChange, error) {
	o := c.Options
	switch c.Kind {
	case "":
		edits, err := decodeEdits(c.Edits)
		if err != nil {
			return nil, err
		}
		e := &TextDocumentEdit{URI: c.TextDocument.URI, Edits: edits}
		if v := c.TextDocument.Version; v != nil && math.Abs(*v) <= math.MaxInt32 {
			e.Version = new(int32(*v))
		}
		return e, nil
	case "create":
		return &CreateFile{c.URI, o.Overwrite, o.IgnoreIfExists}, nil
	case "rename":
		return &RenameFile{c.OldURI, c.NewURI, o.Overwrite, o.IgnoreIfExists}, nil
	case "delete":
		return &DeleteFile{c.URI, o.Recursive, o.IgnoreIfNotExists}, nil
	default:
		return nil, fmt.Errorf("%w: unknown kind of step %q", errInvalidEdit, c.Kind)
	}
}

// DecodeWorkspaceEdit decodes the protocol's WorkspaceEdit. It uses documentChanges if there are any, otherwise changes, sorted by
// URI. Null is an empty edit. Snippets become plain text.
func DecodeWorkspaceEdit(raw jsonx.Raw) (*WorkspaceEdit, error) {
	w := new(WorkspaceEdit)
	if len(raw) == 0 || jsonx.IsNull(raw) {
		return w, nil
	}
	var wire struct {
		Changes         map[string][]wireEdit `json:"changes"`
		DocumentChanges []wireDocumentChange  `json:"documentChanges"`
	}
	if err := jsonx.Unmarshal(raw, &wire); err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalidEdit, err)
	}
	for i := range wire.DocumentChanges {
		c, err := wire.DocumentChanges[i].change()
		if err != nil {
			return nil, err
		}
		w.Changes = append(w.Changes, c)
	}
	if len(w.Changes) > 0 {
		w.sortTexts()
		return w, nil
	}
	for _, uri := range slices.Sorted(maps.Keys(wire.Changes)) {
		edits, err := decodeEdits(wire.Changes[uri])
		if err != nil {
			return nil, err
		}
		w.Changes = append(w.Changes, &TextDocumentEdit{URI: uri, Edits: edits})
	}
	return w, nil
}

// sortTexts sorts an edit that only changes texts by URI, because the order of some servers is random. The edits of one document
// keep their order.
func (w *WorkspaceEdit) sortTexts() {
	for _, c := range w.Changes {
		if _, ok := c.(*TextDocumentEdit); !ok {
			return // the order of other steps matters
		}
	}
	slices.SortStableFunc(w.Changes, func(a, b DocumentChange) int {
		return strings.Compare(a.(*TextDocumentEdit).URI, b.(*TextDocumentEdit).URI)
	})
}

// plainSnippet returns the text of a snippet without user input: placeholders and variables are replaced by their default, or the
// first choice.
func plainSnippet(s string) string {
	p := snippetParser{rest: s}
	p.text("")
	return p.out.String()
}

// snippetParser parses the protocol's snippet grammar. Anything else is plain text.
type snippetParser struct {
	rest string
	out  strings.Builder
	// depth is the nesting of placeholders.
	depth int
}

const maxSnippetDepth = 50

// text parses up to one of the characters in stop, which it does not consume.
func (p *snippetParser) text(stop string) {
	for p.rest != "" {
		c := p.rest[0]
		switch {
		case c == '\\' && len(p.rest) > 1 && strings.IndexByte(`\$}|,`, p.rest[1]) >= 0:
			p.out.WriteByte(p.rest[1])
			p.rest = p.rest[2:]
		case strings.IndexByte(stop, c) >= 0:
			return
		case c == '$' && p.placeholder():
		default:
			p.out.WriteByte(c)
			p.rest = p.rest[1:]
		}
	}
}

// placeholder parses a placeholder or variable. If there is none, it consumes nothing and returns false.
func (p *snippetParser) placeholder() bool {
	rest := p.rest[1:]
	if name := snippetName(rest); name != "" {
		p.rest = rest[len(name):]
		return true
	}
	if !strings.HasPrefix(rest, "{") || p.depth == maxSnippetDepth {
		return false
	}
	name := snippetName(rest[1:])
	after := rest[1+len(name):]
	if name == "" || after == "" {
		return false
	}
	inner := snippetParser{rest: after[1:], depth: p.depth + 1}
	switch after[0] {
	case '}':
		p.rest = after[1:]
		return true
	case ':':
		inner.text("}")
	case '|':
		inner.text(",|")
		choice := inner.out.String()
		skip := snippetParser{rest: inner.rest, depth: inner.depth}
		skip.text("|")
		inner.rest = strings.TrimPrefix(skip.rest, "|")
		inner.out.Reset()
		inner.out.WriteString(choice)
	case '/': // a transformation of a variable, which has no value
		inner.text("}")
		inner.out.Reset()
	default:
		return false
	}
	if !strings.HasPrefix(inner.rest, "}") {
		return false
	}
	p.out.WriteString(inner.out.String())
	p.rest = inner.rest[1:]
	return true
}

// snippetName returns the number or the name at the start of s.
func snippetName(s string) string {
	i := 0
	for i < len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit || letter && i > 0 && '0' <= s[0] && s[0] <= '9' {
			break
		}
		i++
	}
	return s[:i]
}
