package lineedit

import (
	"fmt"
	"slices"
	"strings"
)

// painted describes what Paint has left on the screen.
type painted struct {
	on  bool
	row int // of the cursor, from the first row of the line
}

// Erase returns what removes the painted line from the screen, and leaves the cursor where it began; "" if there is none.
func (e *Editor) Erase() string {
	if !e.painted.on {
		return ""
	}
	up := up(e.painted.row)
	e.painted = painted{}
	return "\r" + up + "\x1b[J"
}

// Leave returns what moves the cursor below the painted line, which stays on the screen.
func (e *Editor) Leave(columns, rows int, prompt string) string {
	e.buf.pos = len(e.buf.text)
	line := e.Paint(columns, rows, prompt)
	e.painted = painted{}
	return line + "\r\n"
}

// Paint returns what shows the prompt and the line on a terminal of a size, in place of what was painted before. The prompt is one line,
// which may have escape sequences for colours. Of a line that needs more rows, it shows those around the cursor.
func (e *Editor) Paint(columns, rows int, prompt string) string {
	columns, rows = max(columns, 2), max(rows, 1)
	if e.searching {
		prompt = "(search) " + e.query + ": "
	}
	if Width(Plain(prompt)) >= columns { // only the last characters of a long search matter
		prompt = last(Plain(prompt), columns-1)
	}
	p := page{columns: columns, indent: min(Width(Plain(prompt)), columns/2), rows: make([]strings.Builder, 1)}
	p.write(prompt, Width(Plain(prompt)))
	cursor, column := 0, 0
	for i, r := range e.buf.text {
		if i == e.buf.pos {
			p.wrap(r)
			cursor, column = len(p.rows)-1, p.column
		}
		p.add(r)
	}
	if e.buf.pos == len(e.buf.text) {
		p.wrap(' ')
		cursor, column = len(p.rows)-1, p.column
	}
	first := max(0, min(cursor-rows/2, len(p.rows)-rows))
	end := min(len(p.rows), first+rows)
	var b strings.Builder
	b.WriteString(e.Erase())
	for i := first; i < end; i++ {
		if i > first {
			b.WriteString("\r\n")
		}
		b.WriteString(p.rows[i].String())
	}
	b.WriteString("\r" + up(end-1-cursor))
	if column > 0 {
		fmt.Fprintf(&b, "\x1b[%dC", column)
	}
	e.painted = painted{on: true, row: cursor - first}
	return b.String()
}

// last returns the end of a text that fits into a number of columns.
func last(s string, columns int) string {
	width := 0
	runes := []rune(s)
	for i, r := range slices.Backward(runes) {
		if width += runeWidth(r); width > columns {
			return string(runes[i+1:])
		}
	}
	return s
}

func up(rows int) string {
	if rows <= 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA", rows)
}

// page divides a text into rows. A row is never filled to its last column, where terminals differ in where the cursor stands.
type page struct {
	columns, indent int
	rows            []strings.Builder
	column          int // of the next character
}

// write writes text without line breaks, of a known width.
func (p *page) write(s string, width int) {
	p.rows[len(p.rows)-1].WriteString(s)
	p.column += width
}

func (p *page) add(r rune) {
	if r == '\n' {
		p.newRow()
		p.write(strings.Repeat(" ", p.indent), p.indent)
		return
	}
	p.wrap(r)
	if r == '\t' {
		p.write(strings.Repeat(" ", tabWidth), tabWidth)
		return
	}
	p.write(string(r), runeWidth(r))
}

// wrap begins a row if the current one has no room for r.
func (p *page) wrap(r rune) {
	if r != '\n' && p.column+max(runeWidth(r), 1) >= p.columns && !joins(r) && p.column > 0 {
		p.newRow()
	}
}

func (p *page) newRow() {
	p.rows = append(p.rows, strings.Builder{})
	p.column = 0
}

// Plain returns a text without its colours.
func Plain(s string) string {
	var b strings.Builder
	for rest := s; rest != ""; {
		before, after, found := strings.Cut(rest, "\x1b[")
		b.WriteString(before)
		if !found {
			break
		}
		_, rest, _ = strings.Cut(after, "m")
	}
	return b.String()
}
