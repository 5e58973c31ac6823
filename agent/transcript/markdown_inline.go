package transcript

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mdPieceKind is the kind of an inline piece.
type mdPieceKind uint8

const (
	mdText mdPieceKind = iota
	mdCode
	mdRuns
	mdBreak
	mdLink // its text is the target; it extends to its mdLinkEnd
	mdLinkEnd
	mdImage // like mdLink
	mdImageEnd
)

type mdPiece struct {
	kind mdPieceKind
	text string
	run  *mdRun
}

// mdRun is a run of delimiters that may open or close emphasis.
type mdRun struct {
	mark           byte
	size           int // its original length
	left           int // the part that is still text
	opens, closes  bool
	ends, emphases []byte // its tags in the order they were found: e, s or d
}

// mdBracket is an opening bracket that may start a link.
type mdBracket struct {
	piece, runs int // the preceding character
	at          int // the start of its text
	image       bool
	nested      bool // it contains another bracket
}

// mdInlines parses the text of a block in linear time: it searches for nothing twice and keeps nested structures on
// stacks.
type mdInlines struct {
	text     string
	links    map[string]string
	pieces   []mdPiece
	runs     []*mdRun
	brackets []mdBracket
	linkless int // brackets below this contain a link and cannot become one
	spans    codeSpans
	from     int // the start of the text that is not yet a piece
}

// inlinePieces returns the pieces of a block's text.
func inlinePieces(text string, links map[string]string) []mdPiece {
	m := &mdInlines{text: text, links: links, spans: codeSpans{text: text}}
	for i := 0; i < len(text); {
		i = m.next(i)
	}
	m.flush(len(text))
	m.emphasis(0)
	return m.pieces
}

// flush adds the text before i as a piece.
func (m *mdInlines) flush(i int) {
	if i > m.from {
		m.pieces = append(m.pieces, mdPiece{text: m.text[m.from:i]})
	}
	m.from = i
}

// put adds a piece for the text from i to end, and returns end.
func (m *mdInlines) put(i, end int, pieces ...mdPiece) int {
	m.flush(i)
	m.pieces = append(m.pieces, pieces...)
	m.from = end
	return end
}

// next parses what starts at i and returns its end.
func (m *mdInlines) next(i int) int {
	switch rest := m.text[i:]; rest[0] {
	case '\\':
		switch {
		case len(rest) > 1 && rest[1] == '\n':
			return m.put(i, i+2, mdPiece{kind: mdBreak})
		case len(rest) > 1 && isPunctuation(rest[1]):
			return m.put(i, i+2, mdPiece{text: rest[1:2]})
		}
	case '\n':
		line := m.text[m.from:i]
		end := m.from + len(strings.TrimRight(line, " "))
		kind := mdText
		if i-end >= 2 {
			kind = mdBreak
		}
		return m.put(end, i+1, mdPiece{kind: kind, text: "\n"})
	case '`':
		run, size := m.spans.at(i)
		if size == 0 {
			return i + run
		}
		return m.put(i, i+size, mdPiece{kind: mdCode, text: codeText(rest[run : size-run])})
	case '*', '_', '~':
		return m.delimiter(i)
	case '!':
		if strings.HasPrefix(rest, "![") {
			return m.bracket(i, i+2)
		}
	case '[':
		return m.bracket(i, i+1)
	case ']':
		return m.endBracket(i)
	case '<':
		if target, text := autolink(rest); text != "" {
			return m.put(i, i+len(text)+2, mdPiece{kind: mdLink, text: target}, mdPiece{text: text}, mdPiece{kind: mdLinkEnd})
		}
	case 'h':
		if i > 0 && isWordByte(m.text[i-1]) {
			break
		}
		if size := bareURL(rest); size > 0 {
			return m.put(i, i+size, mdPiece{kind: mdLink, text: rest[:size]}, mdPiece{text: rest[:size]}, mdPiece{kind: mdLinkEnd})
		}
	case '&':
		if text, size := entity(rest); size > 0 {
			return m.put(i, i+size, mdPiece{text: text})
		}
	}
	return i + 1
}

// delimiter parses a run of characters that may be emphasis.
func (m *mdInlines) delimiter(i int) int {
	mark := m.text[i]
	end := i + 1
	for end < len(m.text) && m.text[end] == mark {
		end++
	}
	before, after := ' ', ' '
	if i > 0 {
		before, _ = utf8.DecodeLastRuneInString(m.text[:i])
	}
	if end < len(m.text) {
		after, _ = utf8.DecodeRuneInString(m.text[end:])
	}
	// A single tilde means "about", and a star between digits multiplication.
	if mark == '~' && end-i != 2 || mark == '*' && before < utf8.RuneSelf && after < utf8.RuneSelf && isDigit(byte(before)) && isDigit(byte(after)) {
		return end
	}
	opens, closes := flanks(before, after), flanks(after, before)
	if mark == '_' {
		opens, closes = opens && (!closes || isMark(before)), closes && (!opens || isMark(after))
	}
	if !opens && !closes {
		return end
	}
	run := &mdRun{mark: mark, size: end - i, left: end - i, opens: opens, closes: closes}
	m.runs = append(m.runs, run)
	return m.put(i, end, mdPiece{kind: mdRuns, run: run})
}

// flanks reports whether a run of delimiters is left-flanking. Next to letters of languages written without spaces, it
// is also left-flanking before punctuation.
func flanks(before, after rune) bool {
	switch {
	case unicode.IsSpace(after):
		return false
	case !isMark(after) || isIdeograph(after):
		return true
	default:
		return unicode.IsSpace(before) || isMark(before) || isIdeograph(before)
	}
}

func isMark(c rune) bool { return unicode.IsPunct(c) || unicode.IsSymbol(c) }

func isIdeograph(c rune) bool {
	return 0x1100 <= c && c < 0x1200 || 0x2e80 <= c && c < 0xd800 || 0xf900 <= c && c < 0xfb00 || 0xfe30 <= c && c < 0xfe50 ||
		0xff00 <= c && c < 0xfff0 || 0x20000 <= c && c < 0x40000
}

// emphasis matches the runs from bottom on and removes them.
func (m *mdInlines) emphasis(bottom int) {
	var openers []*mdRun
	var searched [18]int // the openers already searched by a run of this kind
	for _, closer := range m.runs[bottom:] {
		kind := 6*strings.IndexByte("*_~", closer.mark) + closer.size%3
		if closer.opens {
			kind += 3
		}
		for closer.closes && closer.left > 0 {
			i := len(openers) - 1
			for i >= searched[kind] && !matches(openers[i], closer) {
				i--
			}
			if i < searched[kind] {
				searched[kind] = len(openers)
				break
			}
			openers = openers[:pair(openers[i], closer)+i]
			for k := range searched {
				searched[k] = min(searched[k], len(openers))
			}
		}
		if closer.opens && closer.left > 0 {
			openers = append(openers, closer)
		}
	}
	m.runs = m.runs[:bottom]
}

func matches(opener, closer *mdRun) bool {
	if opener.mark != closer.mark {
		return false
	}
	return !opener.closes && !closer.opens || (opener.size+closer.size)%3 != 0 || opener.size%3 == 0
}

// pair consumes the delimiters of one emphasis from both runs, and returns 1 if the opener has more.
func pair(opener, closer *mdRun) int {
	tag, size := byte('e'), 1
	switch {
	case opener.mark == '~':
		tag, size = 'd', 2
	case opener.left >= 2 && closer.left >= 2:
		tag, size = 's', 2
	}
	opener.emphases, closer.ends = append(opener.emphases, tag), append(closer.ends, tag)
	opener.left -= size
	closer.left -= size
	return min(opener.left, 1)
}

func (m *mdInlines) bracket(i, end int) int {
	if n := len(m.brackets); n > 0 {
		m.brackets[n-1].nested = true
	}
	m.flush(i)
	m.brackets = append(m.brackets, mdBracket{piece: len(m.pieces), runs: len(m.runs), at: end, image: end == i+2})
	return m.put(i, end, mdPiece{text: m.text[i:end]})
}

// endBracket turns the text before i into a link if it has a target.
func (m *mdInlines) endBracket(i int) int {
	n := len(m.brackets) - 1
	if n < 0 {
		return i + 1
	}
	b := m.brackets[n]
	m.brackets = m.brackets[:n]
	linkless := n < m.linkless && !b.image
	m.linkless = min(m.linkless, n)
	if linkless {
		return i + 1
	}
	target, end := m.target(b, i)
	if end == 0 {
		return i + 1
	}
	m.flush(i)
	m.emphasis(b.runs)
	if b.image {
		m.pieces[b.piece] = mdPiece{kind: mdImage, text: target}
		return m.put(i, end, mdPiece{kind: mdImageEnd})
	}
	m.linkless = n
	m.pieces[b.piece] = mdPiece{kind: mdLink, text: target}
	return m.put(i, end, mdPiece{kind: mdLinkEnd})
}

// target returns the target of the text that ends at i and the end of the link; 0 if there is none.
func (m *mdInlines) target(b mdBracket, i int) (target string, end int) {
	rest := m.text[i+1:]
	if strings.HasPrefix(rest, "(") {
		if target, size := linkTarget(rest); size > 0 {
			return target, i + 1 + size
		}
	}
	if len(m.links) == 0 {
		return "", 0
	}
	label, size := "", 0
	if strings.HasPrefix(rest, "[") {
		label, size = linkLabel(rest)
	}
	if size <= 2 && !b.nested && i-b.at <= maxLabel {
		label = normalized(m.text[b.at:i])
	}
	if target, ok := m.links[label]; ok {
		return target, i + 1 + size
	}
	return "", 0
}
