package lsp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
)

// ErrOverlap is wrapped by the error for edits that cannot all be made: they want the same text.
var ErrOverlap = errors.New("overlapping LSP edits")

// Apply makes all edits at once: each range is one of t, whatever the others do. Insertions at one place keep their
// order. On an error nothing is made.
func (t *Text) Apply(edits []protocol.TextEdit, e Encoding) (string, error) {
	type change struct {
		from, to int
		edit     *protocol.TextEdit
	}
	changes := make([]change, 0, len(edits))
	for i := range edits {
		c := change{t.Offset(edits[i].Range.Start, e), t.Offset(edits[i].Range.End, e), &edits[i]}
		if c.to < c.from {
			return "", fmt.Errorf("an LSP edit ends at %s, before it begins at %s", place(edits[i].Range.End), place(edits[i].Range.Start))
		}
		changes = append(changes, c)
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.to - b.to // an insertion stands before what is replaced behind it
	})
	var s strings.Builder
	at := 0
	for i, c := range changes {
		if c.from < at {
			before := changes[i-1].edit.Range
			now := c.edit.Range
			return "", fmt.Errorf("%w: %s-%s conflicts with %s-%s", ErrOverlap, place(before.Start), place(before.End), place(now.Start), place(now.End))
		}
		s.WriteString(t.content[at:c.from])
		s.WriteString(c.edit.NewText)
		at = c.to
	}
	s.WriteString(t.content[at:])
	return s.String(), nil
}
