package lineedit

import "unicode"

// buffer is a text with a cursor.
type buffer struct {
	text []rune
	pos  int
}

func (b *buffer) String() string { return string(b.text) }

func (b *buffer) set(s string) {
	b.text = []rune(s)
	b.pos = len(b.text)
}

// maxText bounds the text, in characters.
const maxText = MaxPaste

// insert inserts s at the cursor, without characters that could control the terminal.
func (b *buffer) insert(s string) {
	var more []rune
	for _, r := range s {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			more = append(more, r)
		}
	}
	more = more[:min(len(more), max(0, maxText-len(b.text)))]
	b.text = append(b.text[:b.pos:b.pos], append(more, b.text[b.pos:]...)...)
	b.pos += len(more)
}

// remove removes the text between two positions, moves the cursor there and returns the text.
func (b *buffer) remove(from, to int) string {
	removed := string(b.text[from:to])
	b.text = append(b.text[:from:from], b.text[to:]...)
	b.pos = from
	return removed
}

// left returns the position of the character before the cursor, with all that joins it.
func (b *buffer) left() int {
	at := max(0, b.pos-1)
	for at > 0 && (joins(b.text[at]) || b.text[at-1] == zeroWidthJoiner) {
		at--
	}
	return at
}

// right returns the position after the character at the cursor.
func (b *buffer) right() int {
	at := min(len(b.text), b.pos+1)
	for at < len(b.text) && (joins(b.text[at]) || b.text[at-1] == zeroWidthJoiner) {
		at++
	}
	return at
}

const zeroWidthJoiner = 0x200d

func (b *buffer) wordLeft() int {
	at := b.pos
	for at > 0 && unicode.IsSpace(b.text[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(b.text[at-1]) {
		at--
	}
	return at
}

func (b *buffer) wordRight() int {
	at := b.pos
	for at < len(b.text) && unicode.IsSpace(b.text[at]) {
		at++
	}
	for at < len(b.text) && !unicode.IsSpace(b.text[at]) {
		at++
	}
	return at
}

// lineStart and lineEnd are the ends of the line in which the cursor is.
func (b *buffer) lineStart() int {
	at := b.pos
	for at > 0 && b.text[at-1] != '\n' {
		at--
	}
	return at
}

func (b *buffer) lineEnd() int {
	at := b.pos
	for at < len(b.text) && b.text[at] != '\n' {
		at++
	}
	return at
}

// up moves the cursor to the line before. It reports false in the first one.
func (b *buffer) up() bool {
	start := b.lineStart()
	if start == 0 {
		return false
	}
	column := b.pos - start
	b.pos = start - 1
	b.pos = min(b.pos, b.lineStart()+column)
	return true
}

// down moves the cursor to the next line. It reports false in the last one.
func (b *buffer) down() bool {
	end := b.lineEnd()
	if end == len(b.text) {
		return false
	}
	column := b.pos - b.lineStart()
	b.pos = end + 1
	b.pos = min(b.pos+column, b.lineEnd())
	return true
}
