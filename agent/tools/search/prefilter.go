package search

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A prefilter describes text that every match of a pattern contains. Searching for that is faster than matching the pattern.
type prefilter struct {
	// texts are literals of which every match contains at least one, in lower case if fold is set; nil if there are none.
	texts [][]byte
	// fold makes ASCII letters match in either case.
	fold bool
	// exact reports that every line that contains one of the texts matches the pattern.
	exact bool
	// first are the bytes with which a match can begin; nil if a match can be empty.
	first *[256]bool
	// length is the minimum length of a match, in bytes.
	length int
}

// maxTexts bounds the number of texts of a prefilter, each of which is searched for separately.
const maxTexts = 8

func newPrefilter(re *syntax.Regexp) prefilter {
	texts := requiredTexts(re)
	if len(texts) == 0 || len(texts) > maxTexts {
		var first [256]bool
		if firstBytes(re, &first) {
			return prefilter{}
		}
		return prefilter{first: &first, length: minLength(re)}
	}
	f := prefilter{length: minLength(re)}
	f.exact = re.Op == syntax.OpLiteral && len(texts[0].text) == len(string(re.Rune))
	for _, t := range texts {
		f.fold = f.fold || t.fold
	}
	for _, t := range texts {
		if f.fold {
			t.text = strings.Map(lowerASCII, t.text)
		}
		f.texts = append(f.texts, []byte(t.text))
	}
	return f
}

func lowerASCII(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// A requiredText is a part of every match, or one of several parts of which every match contains at least one.
type requiredText struct {
	text string
	fold bool
}

// requiredTexts returns texts of which every match of re contains at least one, or nil.
func requiredTexts(re *syntax.Regexp) []requiredText {
	switch re.Op {
	case syntax.OpLiteral:
		if t := literalText(re); t.text != "" {
			return []requiredText{t}
		}
		return nil
	case syntax.OpPlus:
		return requiredTexts(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min == 0 {
			return nil
		}
		return requiredTexts(re.Sub[0])
	case syntax.OpConcat:
		var best []requiredText
		for _, sub := range re.Sub {
			if texts := requiredTexts(sub); shortest(texts) > shortest(best) {
				best = texts
			}
		}
		return best
	case syntax.OpAlternate:
		var all []requiredText
		for _, sub := range re.Sub {
			texts := requiredTexts(sub)
			if texts == nil {
				return nil
			}
			all = append(all, texts...)
		}
		return all
	default:
		return nil
	}
}

func shortest(texts []requiredText) int {
	if len(texts) == 0 || len(texts) > maxTexts {
		return 0
	}
	n := len(texts[0].text)
	for _, t := range texts[1:] {
		n = min(n, len(t.text))
	}
	return n
}

// literalText returns the text of a literal. If the literal ignores case, it is the longest part whose characters have no case
// variants outside of ASCII.
func literalText(re *syntax.Regexp) requiredText {
	if re.Flags&syntax.FoldCase == 0 {
		return requiredText{text: string(re.Rune)}
	}
	longest := ""
	for part := range strings.FieldsFuncSeq(string(re.Rune), func(r rune) bool {
		return r >= utf8.RuneSelf || strings.ContainsRune("kKsS", r) // K also folds to the Kelvin sign, S to the long s
	}) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return requiredText{longest, true}
}

// minLength returns the minimum length of a match of re, in bytes.
func minLength(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass:
		return 1
	case syntax.OpPlus:
		return minLength(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min * minLength(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			n += minLength(sub)
		}
	case syntax.OpAlternate:
		n = minLength(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			n = min(n, minLength(sub))
		}
	default:
	}
	return n
}

// firstBytes adds the bytes with which a match of re can begin to set. It reports whether a match can be empty.
func firstBytes(re *syntax.Regexp, set *[256]bool) (empty bool) {
	switch re.Op {
	case syntax.OpNoMatch:
		return false
	case syntax.OpLiteral:
		if len(re.Rune) == 0 {
			return true
		}
		r := re.Rune[0]
		addFirst(set, r, r)
		for f := unicode.SimpleFold(r); re.Flags&syntax.FoldCase != 0 && f != r; f = unicode.SimpleFold(f) {
			addFirst(set, f, f)
		}
		return false
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			addFirst(set, re.Rune[i], re.Rune[i+1])
		}
		return false
	case syntax.OpStar, syntax.OpQuest:
		firstBytes(re.Sub[0], set)
		return true
	case syntax.OpPlus:
		return firstBytes(re.Sub[0], set)
	case syntax.OpRepeat:
		return firstBytes(re.Sub[0], set) || re.Min == 0
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !firstBytes(sub, set) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			empty = firstBytes(sub, set) || empty
		}
		return empty
	default: // assertions
		return true
	}
}

// addFirst adds the first bytes of the runes from lo to hi.
func addFirst(set *[256]bool, lo, hi rune) {
	for b := int(utf8.AppendRune(nil, lo)[0]); b <= int(utf8.AppendRune(nil, hi)[0]); b++ {
		set[b] = true
	}
}

// candidates finds the positions in a text at which a match may begin.
type candidates struct {
	filter *prefilter
	text   []byte
	lower  []byte // the buffer for texts in lower case
	found  []int  // the position of each of the filter's texts; len(text) if there are no more, -1 if unknown
}

func (c *candidates) reset(text []byte) {
	c.text = text
	if c.filter.fold {
		c.lower = append(c.lower[:0], text...)
		for i, b := range c.lower {
			if 'A' <= b && b <= 'Z' {
				c.lower[i] = b + 'a' - 'A'
			}
		}
		c.text = c.lower
	}
	c.found = c.found[:0]
	for range c.filter.texts {
		c.found = append(c.found, -1)
	}
}

// next returns the first candidate position at or after at: a match begins in its line or later. It returns -1 if there is none.
func (c *candidates) next(at int) int {
	switch {
	case len(c.filter.texts) > 0:
		first := len(c.text)
		for i, text := range c.filter.texts {
			if c.found[i] < at {
				if c.found[i] = bytes.Index(c.text[at:], text); c.found[i] < 0 {
					c.found[i] = len(c.text)
				} else {
					c.found[i] += at
				}
			}
			first = min(first, c.found[i])
		}
		if first == len(c.text) {
			return -1
		}
		return first
	case c.filter.first != nil:
		for i, b := range c.text[at:] {
			if c.filter.first[b] {
				return at + i
			}
		}
		return -1
	default:
		return at
	}
}
