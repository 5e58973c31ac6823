package chat

import (
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/cmd/gjc/internal/lineedit"
)

// markdown shows Markdown as it arrives, on a terminal with attributes. It keeps back only what the next characters may give another
// meaning: the mark at the beginning of a line, an open span, and the rows of a table. Without attributes it changes nothing.
type markdown struct {
	style
	held   string
	inside bool   // the beginning of the line is already shown
	fence  string // that closes the code block; "" outside
	wrap   func(string) string
	last   rune     // the last character shown on this line; 0 at its beginning
	table  []string // its rows so far
	lines  filler
	// columns returns the width of the terminal. Required with attributes.
	columns func() int
}

// write returns what more text adds to the screen.
func (m *markdown) write(more string) string {
	if !m.attributes {
		return more
	}
	m.held += more
	return m.flow(false)
}

// end returns what is left, and begins a new text.
func (m *markdown) end() string {
	out := m.flow(true) + m.lines.flush(m.columns) + m.rows()
	*m = markdown{style: m.style, columns: m.columns}
	return out
}

func (m *markdown) flow(final bool) string {
	var b strings.Builder
	for m.held != "" {
		before, inside := len(m.held), m.inside
		switch {
		case m.inside:
			b.WriteString(m.inline(final))
		case m.fence != "":
			b.WriteString(m.code(final))
		default:
			b.WriteString(m.begin(final))
		}
		if len(m.held) == before && m.inside == inside {
			break // the rest waits for more
		}
	}
	return b.String()
}

// cut takes a whole line, or at the end of the text what is left of one.
func (m *markdown) cut(final bool) (line string, ok bool) {
	line, rest, whole := strings.Cut(m.held, "\n")
	if !whole && !final {
		return "", false
	}
	m.held = rest
	return line, true
}

// code shows a line of a code block.
func (m *markdown) code(final bool) string {
	trimmed := strings.TrimLeft(m.held, " ")
	if !strings.HasPrefix(trimmed, m.fence) && !strings.HasPrefix(m.fence, trimmed) { // this line is no fence, so it can be shown as it arrives
		text, rest, whole := strings.Cut(m.held, "\n")
		m.held = rest
		if whole {
			return m.cyan(text) + "\n"
		}
		m.inside, m.wrap = true, m.cyan
		return m.cyan(text)
	}
	line, ok := m.cut(final)
	if !ok {
		return ""
	}
	if mark := strings.TrimSpace(line); strings.Trim(mark, m.fence[:1]) == "" && len(mark) >= len(m.fence) {
		m.fence = ""
		return ""
	}
	return m.cyan(line) + "\n"
}

// begin shows the beginning of a line, once it is known what the line is.
func (m *markdown) begin(final bool) string {
	line, _, whole := strings.Cut(m.held, "\n")
	known := whole || final
	trimmed := strings.TrimLeft(line, " ")
	indent := len(line) - len(trimmed)
	if strings.HasPrefix(trimmed, "|") {
		if row, ok := m.cut(final); ok {
			m.table = append(m.table, strings.TrimSpace(row))
		}
		return ""
	}
	if trimmed == "" && !known {
		return ""
	}
	before := m.rows()
	shown, done := "", false
	switch trimmed[:min(1, len(trimmed))] {
	case "`", "~":
		done = m.beginFence(trimmed, known)
	case "#":
		done = m.beginHeading(trimmed, indent, known)
	case ">":
		if trimmed == ">" && !known {
			return before
		}
		m.inside, m.wrap = true, m.italic
		m.held = strings.TrimPrefix(m.held[indent+1:], " ")
		m.lines = filler{column: 2, hang: 2}
		return before + m.dim(m.mark("▏", "|")) + " "
	case "-", "*", "+", "_":
		shown, done = m.beginItem(trimmed, indent, known)
	case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9":
		text := strings.TrimLeft(trimmed, "0123456789")
		done = len(text) < 2 && !known
		if strings.HasPrefix(text, ". ") || strings.HasPrefix(text, ") ") {
			m.lines.hang = len(line) - len(text) + 2
		}
	}
	if !done {
		m.inside, m.wrap = true, nil
		m.lines.hang = max(m.lines.hang, indent)
	}
	return before + shown
}

// beginFence begins a code block. Like the others it reports false if the line is an ordinary one, and true if nothing more is to be done
// now, maybe because the line is not yet known.
func (m *markdown) beginFence(trimmed string, known bool) bool {
	info := strings.TrimLeft(trimmed, trimmed[:1])
	marks := len(trimmed) - len(info)
	if marks < 3 || strings.Contains(info, "`") {
		return info == "" && !known
	}
	if _, ok := m.cut(known); ok {
		m.fence = trimmed[:marks]
	}
	return true
}

func (m *markdown) beginHeading(trimmed string, indent int, known bool) bool {
	text := strings.TrimLeft(trimmed, "#")
	if text == "" {
		return !known
	}
	level := len(trimmed) - len(text)
	if level > 6 || text[0] != ' ' {
		return false
	}
	m.held = strings.TrimLeft(m.held[indent+level:], " ")
	m.inside, m.wrap = true, func(s string) string { return m.bold(m.underline(s)) }
	return true
}

// beginItem begins an item of a list, or shows a rule.
func (m *markdown) beginItem(trimmed string, indent int, known bool) (shown string, done bool) {
	c := trimmed[:1]
	if strings.Trim(trimmed, c+" ") == "" {
		if !known {
			return "", true
		}
		if c != "+" && strings.Count(trimmed, c) >= 3 {
			m.cut(known)
			return m.dim(strings.Repeat(m.mark("─", "-"), min(24, m.columns()-1))) + "\n", true
		}
	}
	if c == "_" || !strings.HasPrefix(trimmed[1:], " ") {
		return "", false
	}
	m.held = m.held[indent+1:]
	m.inside, m.wrap = true, nil
	m.lines = filler{column: indent + 1, hang: indent + 2}
	return strings.Repeat(" ", indent) + m.mark("•", "-"), true
}

// filler breaks a line between words where the terminal would break it within one. It keeps back the word that is not yet complete.
type filler struct {
	word   string // with its attributes
	gap    int    // the spaces before it
	column int    // where the line ends
	hang   int    // the indentation of the rows after the first
}

// fill adds text without line breaks.
func (f *filler) fill(text string, columns func() int) string {
	var b strings.Builder
	for text != "" {
		at := strings.IndexByte(text, ' ')
		if at < 0 {
			f.word += text
			break
		}
		f.word += text[:at]
		if f.word != "" {
			b.WriteString(f.flush(columns))
		}
		f.gap++
		text = text[at+1:]
	}
	return b.String()
}

// flush returns the word that was kept back.
func (f *filler) flush(columns func() int) string {
	if f.word == "" {
		return ""
	}
	width := lineedit.Width(lineedit.Plain(f.word))
	before := strings.Repeat(" ", f.gap)
	if f.column+f.gap+width >= columns() && f.column > f.hang && width > 0 {
		before, f.column, f.gap = "\n"+strings.Repeat(" ", f.hang), f.hang, 0
	}
	out := before + f.word
	f.column += f.gap + width
	f.word, f.gap = "", 0
	return out
}

// maxHeld bounds what an open span keeps back, in bytes.
const maxHeld = 400

// inline shows the rest of a line as far as it is known.
func (m *markdown) inline(final bool) string {
	line, rest, whole := strings.Cut(m.held, "\n")
	var shown string
	var n int
	if m.fence != "" {
		shown, n = line, len(line)
	} else {
		shown, n = m.spans(line, m.last, whole || final || len(line) > maxHeld)
	}
	if n > 0 {
		m.last, _ = utf8.DecodeLastRuneInString(line[:n])
	}
	if m.wrap != nil && shown != "" {
		shown = m.wrap(shown)
	}
	if m.fence == "" {
		shown = m.lines.fill(shown, m.columns)
	}
	if whole && n == len(line) {
		shown += m.lines.flush(m.columns)
		m.held, m.inside, m.wrap, m.last, m.lines = rest, false, nil, 0, filler{}
		return shown + "\n"
	}
	m.held = m.held[n:]
	return shown
}

// spans shows the spans of a part of a line, given the character before it, and returns how many bytes it has shown. Unless the line is
// complete, it stops before a span that may still end.
func (m *markdown) spans(line string, before rune, complete bool) (string, int) {
	var b strings.Builder
	i := 0
	for i < len(line) {
		next := strings.IndexAny(line[i:], "`*_~[!\\")
		if next < 0 {
			b.WriteString(line[i:])
			return b.String(), len(line)
		}
		b.WriteString(line[i : i+next])
		i += next
		if i > 0 {
			before, _ = utf8.DecodeLastRuneInString(line[:i])
		}
		shown, n := m.span(line[i:], before, complete)
		switch {
		case n > 0:
			b.WriteString(shown)
			i += n
		case n == 0 && !complete:
			return b.String(), i
		default: // an ordinary character
			b.WriteByte(line[i])
			i++
		}
	}
	return b.String(), i
}

// span shows the span with which s begins, and returns its length; 0 if it has no end yet, and -1 if it is none. Complete says that
// nothing comes after s.
func (m *markdown) span(s string, before rune, complete bool) (string, int) {
	switch s[0] {
	case '\\':
		if len(s) == 1 {
			return "", 0
		}
		if strings.IndexByte("\\`*_{}[]()#+-.!|~<>", s[1]) >= 0 {
			return s[1:2], 2
		}
		return "", -1
	case '`':
		return m.codeSpan(s, complete)
	case '!':
		if len(s) == 1 {
			return "", 0
		}
		if s[1] != '[' {
			return "", -1
		}
		shown, n := m.link(s[1:])
		if n > 0 {
			n++
		}
		return shown, n
	case '[':
		return m.link(s)
	default:
		return m.emphasis(s, before, complete)
	}
}

func (m *markdown) codeSpan(s string, complete bool) (string, int) {
	text := strings.TrimLeft(s, "`")
	mark := s[:len(s)-len(text)]
	at := strings.Index(text, mark)
	for at >= 0 && strings.HasPrefix(text[at+len(mark):], "`") { // a longer run does not close it
		longer := at + len(mark) + len(text[at+len(mark):]) - len(strings.TrimLeft(text[at+len(mark):], "`"))
		next := strings.Index(text[longer:], mark)
		if next < 0 {
			return "", 0
		}
		at = longer + next
	}
	if at < 0 || at+len(mark) == len(text) && !complete { // another backtick may follow
		return "", 0
	}
	inner := text[:at]
	if len(inner) > 2 && inner[0] == ' ' && inner[len(inner)-1] == ' ' {
		inner = inner[1 : len(inner)-1]
	}
	return m.cyan(inner), at + 2*len(mark)
}

// link shows [text](target).
func (m *markdown) link(s string) (string, int) {
	text, rest, ok := strings.Cut(s[1:], "]")
	switch {
	case !ok || rest == "":
		return "", 0
	case rest[0] != '(':
		return "", -1
	}
	target, _, ok := strings.Cut(rest[1:], ")")
	if !ok {
		return "", 0
	}
	n := len(text) + len(target) + 4
	shown, _ := m.spans(text, 0, true)
	if text == target || text == "" {
		return m.underline(target), n
	}
	return m.underline(shown) + m.dim(" ("+target+")"), n
}

// emphases are the marks of emphasis, the longest first.
var emphases = []struct {
	mark  string
	apply func(style, string) string
}{
	{"***", func(s style, t string) string { return s.bold(s.italic(t)) }},
	{"**", style.bold},
	{"__", style.bold},
	{"~~", style.struck},
	{"*", style.italic},
	{"_", style.italic},
}

func (m *markdown) emphasis(s string, before rune, complete bool) (string, int) {
	for _, e := range emphases {
		text, ok := strings.CutPrefix(s, e.mark)
		switch {
		case !ok && !strings.HasPrefix(e.mark, s):
			continue
		case !ok || text == "":
			return "", 0
		case isSpace(text[0]) || s[0] == '_' && isWord(before):
			return "", -1
		}
		at := closing(text, e.mark, complete)
		if at < 0 {
			return "", 0
		}
		shown, _ := m.spans(text[:at], 0, true)
		return e.apply(m.style, shown), at + 2*len(e.mark)
	}
	return "", -1
}

// closing returns where the mark that closes an emphasis is; -1 if there is none yet.
func closing(text, mark string, complete bool) int {
	for from := 0; from < len(text); {
		at := strings.Index(text[from:], mark)
		if at < 0 {
			return -1
		}
		at += from
		after := strings.TrimLeft(text[at:], mark[:1])
		run := len(text) - at - len(after)
		if after == "" && !complete { // the next character decides
			return -1
		}
		next, _ := utf8.DecodeRuneInString(after)
		switch inner := run - len(mark); {
		case at == 0 || isSpace(text[at-1]) || mark[0] == '_' && after != "" && isWord(next):
		case inner == 0:
			return at
		case run == 3: // the first marks close what is within
			return at + inner
		}
		from = at + run
	}
	return -1
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' }

func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f && r != utf8.RuneError
}

// rows shows the table that was collected, with columns of the same width.
func (m *markdown) rows() string {
	if len(m.table) == 0 {
		return ""
	}
	var cells [][]string
	var widths []int
	head := -1
	for i, line := range m.table {
		if i > 0 && strings.Trim(line, "|:- ") == "" {
			head = len(cells)
			continue
		}
		var row []string
		for j, cell := range splitRow(line) {
			shown, _ := m.spans(cell, 0, true)
			row = append(row, shown)
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], lineedit.Width(lineedit.Plain(shown)))
		}
		cells = append(cells, row)
	}
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	wide := total >= m.columns()
	m.table = nil
	var b strings.Builder
	for i, row := range cells {
		for j, cell := range row {
			if i < head {
				cell = m.bold(cell)
			}
			b.WriteString(cell)
			if j == len(row)-1 {
				break
			}
			if !wide { // columns that do not fit next to each other are not aligned
				b.WriteString(strings.Repeat(" ", widths[j]-lineedit.Width(lineedit.Plain(cell))))
			}
			b.WriteString(m.dim(m.mark(" │ ", " | ")))
		}
		b.WriteByte('\n')
		if i == head-1 {
			b.WriteString(m.dim(strings.Repeat(m.mark("─", "-"), min(total, m.columns()-1))) + "\n")
		}
	}
	return b.String()
}

// splitRow returns the cells of a row. A bar after a backslash is text.
func splitRow(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	var cells []string
	for part := range strings.SplitSeq(line, "|") {
		if n := len(cells); n > 0 && strings.HasSuffix(cells[n-1], "\\") {
			cells[n-1] = strings.TrimSuffix(cells[n-1], "\\") + "|" + part
			continue
		}
		cells = append(cells, part)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}
