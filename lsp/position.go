package lsp

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/protocol"
)

// Encoding is how a server counts the characters of a line (general.positionEncodings).
type Encoding string

// The encodings.
const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
	UTF32 Encoding = "utf-32"
)

// place is a position for people: both numbers count from 1.
func place(p protocol.Position) string { return fmt.Sprintf("%d:%d", p.Line+1, p.Character+1) }

// Text is a document with its lines. It does not change.
type Text struct {
	content string
	// starts has the offset of each line's first byte.
	starts []int
}

// NewText takes a document apart. Lines end with LF, CRLF or CR, as the protocol has it.
func NewText(content string) *Text {
	returns := strings.Count(content, "\r")
	t := &Text{content: content, starts: make([]int, 1, 1+strings.Count(content, "\n")+returns)}
	if returns == 0 { // as nearly all documents; a megabyte of them is taken apart at each change
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

// Lines returns how many lines there are; behind a last line end there is an empty one.
func (t *Text) Lines() int { return len(t.starts) }

// Line returns a line without its end; empty beyond the last one.
func (t *Text) Line(n int) string {
	if n < 0 || n >= len(t.starts) {
		return ""
	}
	return t.content[t.starts[n]:t.end(n)]
}

// end is the offset of line n's end, before the characters that end it.
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

// Offset returns the byte that a position names. A character beyond the end of its line is the line's end, a line beyond
// the last one the document's end, and one in the middle of a character that character's start: servers send all of
// these.
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

// Position returns where the byte at offset stands. An offset inside a character, or between the two that end a line, is
// that of what it is in.
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

// units is how many units a character has. A byte that is no UTF-8 counts as one in each encoding, as the replacement
// character does that servers read in its place; in UTF-8 that is three bytes to them, which nobody can undo.
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
