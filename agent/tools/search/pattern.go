package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// A pattern is a regular expression, in Go's syntax, for single lines: "^" and "\A" match at the start of a line, "$" and "\z" at
// its end, and only an explicit carriage return in the pattern matches one. Bytes that are not UTF-8 match nothing. It is safe for
// concurrent use.
type pattern struct {
	re        *regexp.Regexp
	prefilter prefilter
	// rust is the simplified syntax tree, from which [pattern.Rust] is written.
	rust *syntax.Regexp
}

// errLineFeed reports a pattern that cannot match any line because it contains a line feed.
var errLineFeed = errors.New("the pattern contains a line feed")

// invalidByte represents a byte that is not UTF-8 in the text that the regular expression reads. It is a surrogate, which no valid
// text contains, and classes exclude it.
const invalidByte rune = 0xD800

// maxWhole is the length in bytes of the longest line that is matched in one piece, without checking the context.
const maxWhole = 4 << 10

// compilePattern parses a pattern. The error is a [*syntax.Error], or errLineFeed.
func compilePattern(expr string, ignoreCase bool) (*pattern, error) {
	flags := syntax.Perl &^ syntax.OneLine
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(expr, flags)
	if err != nil {
		return nil, err
	}
	tree, ok := forLines(tree)
	if !ok {
		return nil, errLineFeed
	}
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, err
	}
	return &pattern{re: re, prefilter: newPrefilter(tree), rust: tree.Simplify()}, nil
}

// forLines returns re for the text of one line. ok is false if re contains a line feed.
func forLines(re *syntax.Regexp) (_ *syntax.Regexp, ok bool) {
	switch re.Op {
	case syntax.OpBeginText:
		return &syntax.Regexp{Op: syntax.OpBeginLine}, true
	case syntax.OpEndText:
		return &syntax.Regexp{Op: syntax.OpEndLine}, true
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return class(without([]rune{0, utf8.MaxRune}, '\n', '\r', invalidByte)), true
	case syntax.OpCharClass:
		return class(without(re.Rune, '\n', '\r', invalidByte)), true
	case syntax.OpLiteral:
		return re, !slices.Contains(re.Rune, '\n')
	case syntax.OpCapture:
		return forLines(re.Sub[0])
	default:
		for i, sub := range re.Sub {
			if re.Sub[i], ok = forLines(sub); !ok {
				return nil, false
			}
		}
		return re, true
	}
}

func class(ranges []rune) *syntax.Regexp {
	if len(ranges) == 0 {
		return &syntax.Regexp{Op: syntax.OpNoMatch}
	}
	return &syntax.Regexp{Op: syntax.OpCharClass, Rune: ranges}
}

// without removes runes from ranges, which are pairs of the first and the last rune.
func without(ranges []rune, removed ...rune) []rune {
	for _, r := range removed {
		var left []rune
		for i := 0; i < len(ranges); i += 2 {
			lo, hi := ranges[i], ranges[i+1]
			if r < lo || r > hi {
				left = append(left, lo, hi)
				continue
			}
			if lo < r {
				left = append(left, lo, r-1)
			}
			if r < hi {
				left = append(left, r+1, hi)
			}
		}
		ranges = left
	}
	return ranges
}

// A scanner finds the lines of one text after another that a pattern matches. It is not safe for concurrent use.
type scanner struct {
	pattern    *pattern
	text       []byte
	candidates candidates
}

func (p *pattern) newScanner() *scanner {
	return &scanner{pattern: p, candidates: candidates{filter: &p.prefilter}}
}

// reset makes the scanner search text from its start. It reports whether text may contain a match.
func (s *scanner) reset(text []byte) bool {
	s.text = text
	s.candidates.reset(text)
	return s.candidates.next(0) >= 0
}

// next returns the bounds of the first line that matches, without its line feed. The search begins at the offset at, which must be
// the start of a line. start is -1 if no line matches or ctx ends.
func (s *scanner) next(ctx context.Context, at int) (start, end int) {
	for n := 0; at < len(s.text); n++ {
		if n%512 == 0 && ctx.Err() != nil {
			return -1, -1
		}
		i := s.candidates.next(at)
		if i < 0 {
			return -1, -1
		}
		start, end = at+bytes.LastIndexByte(s.text[at:i], '\n')+1, len(s.text)
		if j := bytes.IndexByte(s.text[i:], '\n'); j >= 0 {
			end = i + j
		}
		if s.pattern.prefilter.exact || end-start >= s.pattern.prefilter.length && s.pattern.match(ctx, s.text[start:end]) {
			return start, end
		}
		at = end + 1
	}
	return -1, -1
}

func (p *pattern) match(ctx context.Context, line []byte) bool {
	if len(line) <= maxWhole && utf8.Valid(line) {
		return p.re.Match(line)
	}
	return p.re.MatchReader(&lineReader{ctx: ctx, rest: line}) && ctx.Err() == nil
}

// A lineReader reads the runes of a line until ctx ends, and [invalidByte] for each byte that is not UTF-8.
type lineReader struct {
	ctx  context.Context //nolint:containedctx // regexp passes none to its reader
	rest []byte
	n    int
}

// ReadRune implements [io.RuneReader].
func (r *lineReader) ReadRune() (rune, int, error) {
	if r.n++; r.n%512 == 0 && r.ctx.Err() != nil || len(r.rest) == 0 {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRune(r.rest)
	r.rest = r.rest[size:]
	if c == utf8.RuneError && size == 1 {
		c = invalidByte
	}
	return c, size, nil
}

// Rust returns the pattern in the syntax of Rust's regular expressions. It has the same meaning for lines that end with LF and with
// CRLF.
func (p *pattern) Rust() string {
	var b strings.Builder
	writeRust(&b, p.rust)
	return b.String()
}

// canBeEmpty reports whether the pattern can match an empty text.
func (p *pattern) canBeEmpty() bool { return canBeEmpty(p.rust) }

func canBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpNoMatch, syntax.OpCharClass:
		return false
	case syntax.OpLiteral:
		return len(re.Rune) == 0
	case syntax.OpPlus:
		return canBeEmpty(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !canBeEmpty(sub) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, canBeEmpty)
	default:
		return true
	}
}
