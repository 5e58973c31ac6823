package lsp

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// WorkspaceEdit is a change of many files, in the order in which it is to be made.
type WorkspaceEdit struct {
	Changes []DocumentChange
}

// Empty reports whether the edit changes nothing; a nil one does not.
func (w *WorkspaceEdit) Empty() bool { return w == nil || len(w.Changes) == 0 }

// DocumentChange is one step of a [WorkspaceEdit]: a *[TextDocumentEdit], *[CreateFile], *[RenameFile] or *[DeleteFile].
type DocumentChange interface{ documentChange() }

// TextDocumentEdit changes the text of one document. The ranges of all its edits are of the text before them.
type TextDocumentEdit struct {
	URI string
	// Version is that of the text that the edits are for; nil where the server does not say.
	Version *int32
	Edits   []protocol.TextEdit
}

// CreateFile makes an empty file.
type CreateFile struct {
	URI string
	// Overwrite empties a file that is there, and wins over IgnoreIfExists, which leaves it.
	Overwrite, IgnoreIfExists bool
}

// RenameFile moves a file or a directory.
type RenameFile struct {
	OldURI, NewURI string
	// Overwrite removes what is at the new place, and wins over IgnoreIfExists, which leaves all as it is.
	Overwrite, IgnoreIfExists bool
}

// DeleteFile removes a file or a directory.
type DeleteFile struct {
	URI string
	// Recursive takes a directory that is not empty.
	Recursive, IgnoreIfNotExists bool
}

func (*TextDocumentEdit) documentChange() {}
func (*CreateFile) documentChange()       {}
func (*RenameFile) documentChange()       {}
func (*DeleteFile) documentChange()       {}

// ErrBadEdit is wrapped by the error for an edit that is not one of the protocol's.
var ErrBadEdit = errors.New("the server's edit cannot be read")

// wirePosition takes any number: there are servers that say "to the end" with more than the protocol's 32 bits hold.
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
	// Format 2 is a snippet (an extension of some servers, experimental.snippetTextEdit); Snippet is the protocol's own.
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
		return out, fmt.Errorf("%w: an edit has no newText", ErrBadEdit)
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

// DecodeTextEdits decodes the edits of one document, as formatting answers with them; null is none.
func DecodeTextEdits(raw jsonx.Raw) ([]protocol.TextEdit, error) {
	if len(raw) == 0 || jsonx.IsNull(raw) {
		return nil, nil
	}
	var wire []wireEdit
	if err := jsonx.Unmarshal(raw, &wire); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadEdit, err)
	}
	return decodeEdits(wire)
}

// wireDocumentChange has the members of all kinds of a document change.
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
		return nil, fmt.Errorf("%w: it has a step of the unknown kind %q", ErrBadEdit, c.Kind)
	}
}

// DecodeWorkspaceEdit decodes the protocol's WorkspaceEdit, in all its forms: documentChanges where there are any, else
// changes, by URI. Null is an edit that changes nothing. Placeholders of snippets become plain text.
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
		return nil, fmt.Errorf("%w: %w", ErrBadEdit, err)
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
	var uris []string
	for uri := range wire.Changes {
		uris = append(uris, uri)
	}
	slices.Sort(uris)
	for _, uri := range uris {
		edits, err := decodeEdits(wire.Changes[uri])
		if err != nil {
			return nil, err
		}
		w.Changes = append(w.Changes, &TextDocumentEdit{URI: uri, Edits: edits})
	}
	return w, nil
}

// sortTexts puts an edit that only changes texts in the order of its files: some servers have another one each time. The
// edits of one document keep theirs.
func (w *WorkspaceEdit) sortTexts() {
	for _, c := range w.Changes {
		if _, ok := c.(*TextDocumentEdit); !ok {
			return // the order of other steps means something
		}
	}
	slices.SortStableFunc(w.Changes, func(a, b DocumentChange) int {
		return strings.Compare(a.(*TextDocumentEdit).URI, b.(*TextDocumentEdit).URI)
	})
}
