package lsp

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/protocol"
)

// Encoding is the unit in which a server counts the characters of a line (general.positionEncodings).
type Encoding string

// The encodings.
const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
	UTF32 Encoding = "utf-32"
)

// place formats a position for display: both numbers count from 1.
func place(p protocol.Position) string { return fmt.Sprintf("%d:%d", p.Line+1, p.Character+1) }

// Text is the text of a document and its lines. It is immutable.
type Text struct {
	content string
	// starts has the offset of each line's first byte.
	starts []int
}

// NewText splits a document into lines. Lines end with LF, CRLF or CR, as in the protocol.
func NewText(content string) *Text {
	returns := strings.Count(content, "\r")
	t := &Text{content: content, starts: make([]int, 1, 1+strings.Count(content, "\n")+returns)}
	if returns == 0 { // the usual case, which must be fast: a document is split at each change
		for i := 0; ; {
			n := strings.IndexByte(content[i:], '\n')
			if n < 0 {
				return t
			}
			i += n + 1
			t.starts = append(t.starts, i)
		}
	}
	for i := 0; i < len(content); i++ {
		switch content[i] {
		case '\r':
			if i+1 < len(content) && content[i+1] == '\n' {
				i++
			}
			t.starts = append(t.starts, i+1)
		case '\n':
			t.starts = append(t.starts, i+1)
		}
	}
	return t
}

// String returns the document.
func (t *Text) String() string { return t.content }

// Lines returns the number of lines. A line break at the end of the text is followed by an empty line.
func (t *Text) Lines() int { return len(t.starts) }

// Line returns a line without its line break, or "" after the last line.
func (t *Text) Line(n int) string {
	if n < 0 || n >= len(t.starts) {
		return ""
	}
	return t.content[t.starts[n]:t.end(n)]
}

// end returns the offset of the end of line n, before its line break.
func (t *Text) end(n int) int {
	if n+1 == len(t.starts) {
		return len(t.content)
	}
	end := t.starts[n+1] - 1
	if end > t.starts[n] && t.content[end] == '\n' && t.content[end-1] == '\r' {
		end--
	}
	return end
}

// Offset returns the byte offset of a position. Servers send invalid positions, which it clamps: a character past the end of its
// line to the end of the line, a line past the last one to the end of the document, and a position inside a character to its start.
func (t *Text) Offset(p protocol.Position, e Encoding) int {
	if uint64(p.Line) >= uint64(len(t.starts)) {
		return len(t.content)
	}
	at, end := t.starts[p.Line], t.end(int(p.Line))
	left := uint64(p.Character)
	for at < end && left > 0 {
		r, size := utf8.DecodeRuneInString(t.content[at:end])
		units := uint64(e.units(r, size))
		if units > left {
			break
		}
		left -= units
		at += size
	}
	return at
}

// Position returns the position of a byte offset. For an offset inside a character or a CRLF, it returns the position of its start.
func (t *Text) Position(offset int, e Encoding) protocol.Position {
	offset = min(max(offset, 0), len(t.content))
	line := sort.SearchInts(t.starts, offset+1) - 1
	at, stop := t.starts[line], min(offset, t.end(line))
	n := 0
	for at < stop {
		r, size := utf8.DecodeRuneInString(t.content[at:])
		if at+size > stop {
			break
		}
		n += e.units(r, size)
		at += size
	}
	return protocol.Position{Line: uint32(line), Character: uint32(n)}
}

// units returns the number of units of a character. An invalid byte counts as one unit, like the replacement character that
// servers read instead. In UTF-8 that character has three bytes, so that positions after it are wrong.
func (e Encoding) units(r rune, size int) int {
	switch e {
	case UTF8:
		return size
	case UTF32:
		return 1
	default:
		if r >= 0x10000 {
			return 2
		}
		return 1
	}
}

// ErrOverlap is wrapped by the error for edits with overlapping ranges.
var ErrOverlap = errors.New("overlapping LSP edits")

// Apply returns the text with all edits applied. All ranges are positions in t. Insertions at one place keep their order.
func (t *Text) Apply(edits []protocol.TextEdit, e Encoding) (string, error) {
	type change struct {
		from, to int
		edit     *protocol.TextEdit
	}
	changes := make([]change, 0, len(edits))
	for i := range edits {
		c := change{t.Offset(edits[i].Range.Start, e), t.Offset(edits[i].Range.End, e), &edits[i]}
		if c.to < c.from {
			return "", fmt.Errorf("an LSP edit ends at %s, before its start at %s", place(edits[i].Range.End), place(edits[i].Range.Start))
		}
		changes = append(changes, c)
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.to - b.to // an insertion precedes a replacement at the same place
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
