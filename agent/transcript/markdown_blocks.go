package transcript

import (
	"bytes"
	"strings"
)

// maxDepth is the maximum nesting of quotes and lists; deeper ones are text. A list level counts twice.
const maxDepth = 60

// mdKind is the kind of a Markdown block.
type mdKind uint8

const (
	mdDocument mdKind = iota
	mdQuote
	mdList
	mdItem
	mdParagraph
	mdHeading
	mdFenced
	mdIndented
	mdTable
	mdRule
)

// mdBlock is a Markdown block: a container with blocks, or a leaf with text.
type mdBlock struct {
	kind        mdKind
	blocks      []*mdBlock
	text        []byte   // lines of a code block end with a newline; the first line of a table is its header
	first, last int      // its first and last line, from 1, without trailing blank lines
	number      int      // the level of a heading, the start of a list
	mark        byte     // the marker of a list or fence
	width       int      // the indentation of an item's text in columns, or the length of a fence
	indent      int      // a fence's indentation
	full        int      // the size of an indented code block without trailing blank lines
	info        string   // the info string of a fence
	columns     []string // the alignment of a table's columns
	loose       bool     // blank lines separate a list's parts
}

// mdReader parses blocks by the rules of CommonMark, line by line, in linear time. HTML is text.
type mdReader struct {
	open   []*mdBlock        // the open blocks, from the document inwards
	links  map[string]string // the targets of link reference definitions
	number int               // the current line
}

// readMarkdown parses a document. It returns the targets of references by label.
func readMarkdown(text string) (*mdBlock, map[string]string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	r := &mdReader{open: []*mdBlock{{}}, links: map[string]string{}}
	document := r.open[0]
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		r.number++
		r.read(&mdLine{text: line, end: len(strings.TrimRight(line, " \t"))})
	}
	r.close(0)
	return document, r.links
}

func (r *mdReader) read(l *mdLine) {
	n, done := r.matching(l)
	if done {
		return
	}
	for !l.blank() {
		more := false
		if n, more, done = r.start(l, n); done {
			return
		} else if !more {
			break
		}
	}
	tip := r.open[len(r.open)-1]
	switch {
	case l.blank():
		r.close(n)
	case tip.kind == mdParagraph: // even if the line lacks the markers of the containing blocks
		if len(tip.text) > 0 {
			tip.text = append(tip.text, '\n')
		}
		tip.text, tip.last = append(tip.text, strings.TrimLeft(l.rest(), " \t")...), r.number
	case tip.kind == mdTable && n == len(r.open):
		tip.text, tip.last = append(append(tip.text, '\n'), l.rest()...), r.number
	default:
		r.begin(n, &mdBlock{kind: mdParagraph, text: []byte(strings.TrimLeft(l.rest(), " \t"))})
	}
}

// matching skips the markers of the open blocks and counts the blocks that the line continues. It adds lines to code
// blocks.
func (r *mdReader) matching(l *mdLine) (n int, done bool) {
	for n = 1; n < len(r.open); n++ {
		goesOn := true
		switch b := r.open[n]; b.kind {
		case mdQuote:
			if goesOn = l.quote(); goesOn {
				b.last = r.number
			}
		case mdItem:
			if l.blank() {
				goesOn = len(b.blocks) > 0
			} else {
				goesOn = l.indent() >= b.width
			}
			if goesOn {
				l.skip(b.width)
			}
		case mdFenced:
			b.last = r.number
			if l.indent() < 4 && closesFence(l.peek(), b) {
				r.close(n)
				return n, true
			}
			l.skip(b.indent)
			b.text = append(append(b.text, l.rest()...), '\n')
			return n, true
		case mdIndented:
			if l.blank() || l.indent() >= 4 {
				r.indented(b, l)
				return n, true
			}
			goesOn = false
		case mdParagraph, mdTable:
			goesOn = !l.blank()
		default: // a list continues if its item does
		}
		if !goesOn {
			break
		}
	}
	return n, false
}

func (r *mdReader) indented(b *mdBlock, l *mdLine) {
	l.skip(4)
	b.text = append(append(b.text, l.rest()...), '\n')
	if !l.blank() {
		b.full, b.last = len(b.text), r.number
	}
}

// start starts the block whose marker follows n open blocks. It returns true for a container, whose content follows on
// the line.
func (r *mdReader) start(l *mdLine, n int) (now int, more, done bool) {
	in := r.open[n-1]
	if l.indent() >= 4 {
		if in.kind == mdTable || r.open[len(r.open)-1].kind == mdParagraph {
			return n, false, false
		}
		r.indented(r.begin(n, &mdBlock{kind: mdIndented}), l)
		return n, false, true
	}
	s := l.peek()
	if level, text := heading(s); level > 0 {
		r.begin(n, &mdBlock{kind: mdHeading, number: level, text: []byte(text)})
		return n, false, true
	}
	if size, info := fence(s); size > 0 {
		r.begin(n, &mdBlock{kind: mdFenced, mark: s[0], width: size, indent: l.indent(), info: info})
		return n, false, true
	}
	if in.kind == mdParagraph && (r.underlined(s, n) || r.table(s, n)) {
		return n, false, true
	}
	if isRule(s) {
		r.begin(n, &mdBlock{kind: mdRule})
		return n, false, true
	}
	if len(r.open)+2 > maxDepth {
		return n, false, false
	}
	if s[0] == '>' {
		r.begin(n, &mdBlock{kind: mdQuote})
		l.quote()
		return len(r.open), true, false
	}
	if mark, number, size := marker(s); size > 0 {
		empty := strings.Trim(s[size:], " \t") == ""
		if in.kind == mdParagraph && (empty || (mark == '.' || mark == ')') && number != 1) {
			return n, false, false
		}
		r.item(l, n, mark, number, size)
		return len(r.open), true, false
	}
	return n, false, false
}

// item starts an item, and a list if there is no matching open list.
func (r *mdReader) item(l *mdLine, n int, mark byte, number, size int) {
	if list := r.open[n-1]; list.kind != mdList || list.mark != mark {
		if list.kind == mdList {
			n--
		}
		r.begin(n, &mdBlock{kind: mdList, mark: mark, number: number})
		n = len(r.open)
	}
	width := l.indent() + size
	l.skip(l.indent())
	l.at, l.column = l.at+size, l.column+size
	if space := l.indent(); l.blank() || space > 4 {
		l.skip(1)
		width++
	} else {
		l.skip(space)
		width += space
	}
	r.begin(n, &mdBlock{kind: mdItem, width: width})
}

// underlined turns the paragraph into a heading if the line underlines it.
func (r *mdReader) underlined(s string, n int) bool {
	line := strings.TrimRight(s, " \t")
	if line[0] != '=' && line[0] != '-' || strings.Trim(line, line[:1]) != "" {
		return false
	}
	b := r.open[n-1]
	if r.define(b); len(b.text) == 0 {
		return false
	}
	b.kind, b.number, b.last = mdHeading, 1, r.number
	if line[0] == '-' {
		b.number = 2
	}
	r.close(n - 1)
	return true
}

// table starts a table if the line delimits its columns and the paragraph's last line is its header.
func (r *mdReader) table(s string, n int) bool {
	columns := alignment(s)
	if columns == nil {
		return false
	}
	b := r.open[n-1]
	before := bytes.LastIndexByte(b.text, '\n')
	header := b.text[before+1:]
	if len(cells(string(header), false)) != len(columns) {
		return false
	}
	if before < 0 {
		b.kind, b.columns, b.last = mdTable, columns, r.number
		return true
	}
	t := r.begin(n, &mdBlock{kind: mdTable, text: header, columns: columns})
	t.first--
	b.text, b.last = b.text[:before:before], r.number-2
	return true
}

// begin closes all but n open blocks, and those that cannot contain the new one.
func (r *mdReader) begin(n int, b *mdBlock) *mdBlock {
	for {
		r.close(n)
		if k := r.open[n-1].kind; k < mdList || k == mdItem || k == mdList && b.kind == mdItem {
			break
		}
		n--
	}
	parent := r.open[n-1]
	b.first, b.last = r.number, r.number
	parent.blocks = append(parent.blocks, b)
	r.open = append(r.open, b)
	if b.kind == mdHeading || b.kind == mdRule {
		r.close(n)
	}
	return b
}

func (r *mdReader) close(n int) {
	for i := len(r.open) - 1; i >= n; i-- {
		b := r.open[i]
		switch b.kind {
		case mdParagraph:
			r.define(b)
		case mdIndented:
			b.text = b.text[:b.full]
		case mdList:
			b.loose = isLoose(b)
		default:
		}
		if i > 0 {
			r.open[i-1].last = max(r.open[i-1].last, b.last)
		}
		r.open = r.open[:i]
	}
}

// isLoose reports whether blank lines separate a list's items or the blocks in an item.
func isLoose(list *mdBlock) bool {
	gap := func(blocks []*mdBlock) bool {
		for i, b := range blocks {
			if i > 0 && b.first > blocks[i-1].last+1 {
				return true
			}
		}
		return false
	}
	for _, item := range list.blocks {
		if gap(item.blocks) {
			return true
		}
	}
	return gap(list.blocks)
}

// define parses the link reference definitions at the start of a paragraph.
func (r *mdReader) define(b *mdBlock) {
	if !bytes.HasPrefix(b.text, []byte("[")) {
		return
	}
	s := string(b.text)
	for {
		label, target, size := definition(s)
		if size == 0 {
			break
		}
		if _, ok := r.links[label]; !ok {
			r.links[label] = target
		}
		s = s[size:]
	}
	b.text = b.text[len(b.text)-len(s):]
}
