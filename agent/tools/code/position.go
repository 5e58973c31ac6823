package code

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

// spot is the position in a text that line and symbol identify.
type spot struct {
	// line counts from 0; offset is the byte offset of the symbol's last part.
	line, offset int
	// end is the byte offset of the end of the symbol.
	end int
	// note says what was guessed; empty if nothing was.
	note string
}

func (s *spot) position(doc *lsp.Document) protocol.Position {
	return doc.Text.Position(s.offset, doc.Server.Encoding())
}

// spot finds the position of the call in the server's text. It adds a note on what was guessed.
func (c *lspCall) spot(text *lsp.Text) (*spot, error) {
	at, err := findSpot(text, c.name(c.path), c.in.Line, c.in.Symbol)
	if err != nil {
		return nil, err
	}
	c.note(at.note)
	return at, nil
}

func lineStart(text *lsp.Text, line int) int {
	return text.Offset(protocol.Position{Line: uint32(line)}, lsp.UTF8)
}

// findSpot finds a symbol on a line, which counts from 1. Without a line it finds the first occurrence in the text, and without a symbol
// the first character of the line that is not blank.
func findSpot(source *lsp.Text, file string, line int, symbol string) (*spot, error) {
	last := source.Lines()
	if last > 1 && source.Line(last-1) == "" {
		last--
	}
	if line > last {
		return nil, fmt.Errorf("%w for lsp: line %d is beyond the end of %s, which has %s", agent.ErrBadInput, line, file, text.Count(last, "line"))
	}
	if symbol == "" {
		n := max(line, 1) - 1
		body := source.Line(n)
		at := lineStart(source, n) + len(body) - len(strings.TrimLeftFunc(body, unicode.IsSpace))
		return &spot{line: n, offset: at, end: at}, nil
	}
	name, nth := splitOccurrence(symbol)
	if line == 0 {
		return firstSpot(source, file, name, nth)
	}
	found := symbolsIn(source.Line(line-1), name)
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("symbol %q not found on line %d%s", name, line, elsewhere(source, name))
	case nth > len(found):
		return nil, fmt.Errorf("symbol %q occurrence %d is out of bounds on line %d (found %d)", name, nth, line, len(found))
	}
	at := lineStart(source, line-1)
	return &spot{line: line - 1, offset: at + found[nth-1].at, end: at + found[nth-1].end}, nil
}

// firstSpot finds the nth occurrence of a name in the whole text. Exact case has precedence, and comments come last.
func firstSpot(text *lsp.Text, file, name string, nth int) (*spot, error) {
	var all []spot
	for _, find := range []func(line, symbol string) []occurrence{written, inAnyCase} {
		var code, comment []spot
		for n := range text.Lines() {
			line := text.Line(n)
			for _, o := range find(line, name) {
				s := spot{line: n, offset: lineStart(text, n) + o.at, end: lineStart(text, n) + o.end}
				if isComment(line) {
					comment = append(comment, s)
				} else {
					code = append(code, s)
				}
			}
		}
		if all = slices.Concat(code, comment); len(all) > 0 {
			break
		}
	}
	switch {
	case len(all) == 0:
		return nil, fmt.Errorf("symbol %q not found in %s", name, file)
	case nth > len(all):
		return nil, fmt.Errorf("symbol %q occurrence %d is out of bounds in %s (found %d)", name, nth, file, len(all))
	}
	s := all[nth-1]
	s.note = fmt.Sprintf("No line was given; using %s on line %d.", name, s.line+1)
	return &s, nil
}

// isComment reports whether a line looks like a comment.
func isComment(line string) bool {
	line = strings.TrimLeftFunc(line, unicode.IsSpace)
	for _, mark := range []string{"//", "/*", "*", "#", "--", ";", "<!--", `"""`} {
		if strings.HasPrefix(line, mark) {
			return !strings.HasPrefix(line, "#[") && !strings.HasPrefix(line, "#include") && !strings.HasPrefix(line, "#define")
		}
	}
	return false
}

// maxElsewhere bounds the lines that are named for a symbol that is not on its line.
const maxElsewhere = 8

// elsewhere lists the lines that contain a name.
func elsewhere(text *lsp.Text, name string) string {
	var lines []string
	for n := range text.Lines() {
		if len(symbolsIn(text.Line(n), name)) == 0 {
			continue
		}
		if len(lines) == maxElsewhere {
			lines = append(lines, "…")
			break
		}
		lines = append(lines, strconv.Itoa(n+1))
	}
	switch len(lines) {
	case 0:
		return ", nor anywhere else in the file"
	case 1:
		return "; it is on line " + lines[0]
	default:
		return "; it is on lines " + strings.Join(lines, ", ")
	}
}

// splitOccurrence splits "name#2".
func splitOccurrence(symbol string) (name string, nth int) {
	if i := strings.LastIndexByte(symbol, '#'); i > 0 {
		if n, err := strconv.Atoi(symbol[i+1:]); err == nil && n > 0 {
			return symbol[:i], n
		}
	}
	return symbol, 1
}

// occurrence is the position of a symbol in a line, in bytes; at is the start of its last name.
type occurrence struct{ at, end int }

// symbolsIn finds a symbol in a line, in its exact case or, failing that, ignoring case.
func symbolsIn(line, symbol string) []occurrence {
	if found := written(line, symbol); len(found) > 0 {
		return found
	}
	return inAnyCase(line, symbol)
}

// written finds a symbol in its exact case.
func written(line, symbol string) []occurrence {
	return matches(line, symbol, func(s string) bool { return s == symbol })
}

func inAnyCase(line, symbol string) []occurrence {
	return matches(line, symbol, func(s string) bool { return strings.EqualFold(s, symbol) })
}

// matches finds the parts of a line with as many characters as symbol for which same returns true, without overlaps. A plain name
// matches only a whole name.
func matches(line, symbol string, same func(string) bool) []occurrence {
	whole := strings.IndexFunc(symbol, func(r rune) bool { return !identifierRune(r) }) < 0
	n := utf8.RuneCountInString(symbol)
	if n == 0 {
		return nil
	}
	var starts []int
	for i := range line {
		starts = append(starts, i)
	}
	starts = append(starts, len(line))
	var found []occurrence
	for i := 0; i+n < len(starts); i++ {
		at, end := starts[i], starts[i+n]
		if !same(line[at:end]) {
			continue
		}
		if whole {
			before, _ := utf8.DecodeLastRuneInString(line[:at])
			after, _ := utf8.DecodeRuneInString(line[end:])
			if at > 0 && identifierRune(before) || end < len(line) && identifierRune(after) {
				continue
			}
		}
		found = append(found, occurrence{at + lastName(line[at:end]), end})
		i += n - 1
	}
	return found
}

// lastName returns the position of the last name in a qualified name, such as "pkg.Type" or "A::b". In other text it returns that
// of the first name.
func lastName(symbol string) int {
	first, last := -1, 0
	qualified, in := true, false
	for i, r := range symbol {
		name := identifierRune(r)
		if name && !in {
			last = i
			if first < 0 {
				first = i
			}
		}
		in = name
		qualified = qualified && (name || strings.ContainsRune(".:->", r))
	}
	if qualified && in {
		return last
	}
	return max(first, 0)
}

// identifierRune reports whether a character can be part of a name in some language, combining marks included.
func identifierRune(r rune) bool {
	return r == '_' || r == '$' || unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Pc)
}
