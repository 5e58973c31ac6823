// Package linematch finds the lines of a text that a regular expression matches. It runs a pattern as an automaton over the
// text's bytes, many lines in one go, and knows only lines: where in one a match lies it does not tell.
package linematch

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// A Pattern is a regular expression, in Go's syntax, for single lines: "^" and "\A" are the start of a line, "$" and "\z" its
// end, and nothing matches a carriage return but one that is written out. Bytes that are no UTF-8 match nothing. It is safe
// for concurrent use.
type Pattern struct {
	tree *syntax.Regexp
	prog *program
	// literal is a text that each match holds, empty for none; pure says that it is all of the pattern. any finds texts of which
	// each match holds one; nil where there is a literal, or nothing is known.
	literal []byte
	pure    bool
	any     *finder
	// lineFeed says that a line feed is written out in the pattern.
	lineFeed bool
}

// Compile reads a pattern. The error is a [*syntax.Error].
func Compile(expr string, ignoreCase bool) (*Pattern, error) {
	flags := syntax.Perl &^ syntax.OneLine
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(expr, flags)
	if err != nil {
		return nil, err
	}
	p := new(Pattern)
	p.tree = p.lines(tree.Simplify())
	switch texts := requiredTexts(p.tree); {
	case len(texts) == 1 && !texts[0].fold && (len(texts[0].text) > 1 || p.tree.Op == syntax.OpLiteral):
		p.literal, p.pure = texts[0].text, p.tree.Op == syntax.OpLiteral
	default:
		p.any = newFinder(texts)
	}
	p.prog = compile(p.tree)
	return p, nil
}

// HasLineFeed reports that the pattern holds a line feed as it is, so that it can match no line.
func (p *Pattern) HasLineFeed() bool { return p.lineFeed }

// lines makes re one for lines.
func (p *Pattern) lines(re *syntax.Regexp) *syntax.Regexp {
	switch re.Op {
	case syntax.OpBeginText:
		return &syntax.Regexp{Op: syntax.OpBeginLine}
	case syntax.OpEndText:
		return &syntax.Regexp{Op: syntax.OpEndLine}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return class(without([]rune{0, 0x10FFFF}, '\n', '\r'))
	case syntax.OpCharClass:
		return class(without(re.Rune, '\n', '\r'))
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\n') {
			p.lineFeed = true
			return class(nil)
		}
		return re
	case syntax.OpCapture:
		return p.lines(re.Sub[0])
	default:
		for i, sub := range re.Sub {
			re.Sub[i] = p.lines(sub)
		}
		return re
	}
}

func class(ranges []rune) *syntax.Regexp {
	if len(ranges) == 0 {
		return &syntax.Regexp{Op: syntax.OpNoMatch}
	}
	return &syntax.Regexp{Op: syntax.OpCharClass, Rune: ranges}
}

// without takes runes out of ranges, which are pairs of the first and the last.
func without(ranges []rune, gone ...rune) []rune {
	for _, g := range gone {
		var left []rune
		for i := 0; i < len(ranges); i += 2 {
			lo, hi := ranges[i], ranges[i+1]
			if g < lo || g > hi {
				left = append(left, lo, hi)
				continue
			}
			if lo < g {
				left = append(left, lo, g-1)
			}
			if g < hi {
				left = append(left, g+1, hi)
			}
		}
		ranges = left
	}
	return ranges
}

// noUTF8 reports whether a rune can not be in a text.
func noUTF8(r rune) bool { return 0xD800 <= r && r <= 0xDFFF || r > 0x10FFFF || r < 0 }

// Rust is the pattern as Rust's regular expressions have it, with the same meaning when lines end with LF or CRLF.
func (p *Pattern) Rust() string {
	var b strings.Builder
	writeRust(&b, p.tree)
	return b.String()
}

// CanBeEmpty reports whether the pattern matches where no text is: at each line, or at the ends of some.
func (p *Pattern) CanBeEmpty() bool { return canBeEmpty(p.tree) }

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
