package linematch

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// required is a text that a match holds; fold says that it does in upper or lower case, and text is in lower case then.
type required struct {
	text []byte
	fold bool
}

const (
	// maxRequired is how many texts are looked for at a time, maxCompared how much of each: what follows is the automaton's.
	maxRequired = 32
	maxCompared = 32
	// maxMisses is how many beginnings of a text that was not there lie between two looks at stop.
	maxMisses = 1 << 12
)

// requiredTexts returns texts of which each match of re has at least one; nil where nothing is known of that. Of several such
// sets it is the one whose shortest text is the longest.
func requiredTexts(re *syntax.Regexp) []required {
	switch re.Op {
	case syntax.OpLiteral:
		return requiredLiteral(re)
	case syntax.OpPlus:
		return requiredTexts(re.Sub[0])
	case syntax.OpConcat:
		var best []required
		for _, sub := range re.Sub {
			if r := requiredTexts(sub); shortest(r) > shortest(best) || shortest(r) == shortest(best) && len(r) < len(best) {
				best = r
			}
		}
		return best
	case syntax.OpAlternate:
		var all []required
		for _, sub := range re.Sub {
			r := requiredTexts(sub)
			if all = append(all, r...); r == nil || len(all) > maxRequired {
				return nil
			}
		}
		return all
	default:
		return nil
	}
}

// shortest is the size of the shortest of the texts; 0 for none.
func shortest(texts []required) int {
	if len(texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(texts, func(a, b required) int { return len(a.text) - len(b.text) }).text)
}

// requiredLiteral is the text of a literal, or the longest part of it that is in ASCII in either case: the "ſ" that is an "s" too
// is of another size.
func requiredLiteral(re *syntax.Regexp) []required {
	if re.Flags&syntax.FoldCase == 0 {
		if len(re.Rune) == 0 || slices.ContainsFunc(re.Rune, noUTF8) {
			return nil
		}
		return []required{{text: []byte(string(re.Rune))}}
	}
	var longest, run []byte
	for _, r := range re.Rune {
		if !foldsInASCII(r) {
			run = nil
			continue
		}
		if run = append(run, lower(byte(r))); len(run) > len(longest) {
			longest = run
		}
	}
	if longest == nil {
		return nil
	}
	return []required{{longest, true}}
}

func foldsInASCII(r rune) bool {
	for f := unicode.SimpleFold(r); ; f = unicode.SimpleFold(f) {
		if f >= utf8.RuneSelf {
			return false
		}
		if f == r {
			return true
		}
	}
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}

func upper(b byte) byte {
	if 'a' <= b && b <= 'z' {
		b -= 'a' - 'A'
	}
	return b
}

// A finder looks for several texts at once, by their first bytes. It goes over a text bit by bit (shift-or), in two operations a
// byte: the texts are put into eight groups, and bit g of byte k of its state is 0 as long as the last k+1 bytes may begin a text of
// group g. It never changes.
type finder struct {
	texts []required
	// size is how many bytes of each text count.
	size int
	// masks says, by byte, what that leaves of the state.
	masks [256]uint64
}

// groups is how many bits a byte has.
const groups = 8

// newFinder returns a finder of texts, or nil where one of them is in too many lines to look at those one by one.
func newFinder(texts []required) *finder {
	f := &finder{texts: slices.Clone(texts), size: min(shortest(texts), 8)}
	if f.size < 2 {
		return nil
	}
	for i := range f.texts {
		t := &f.texts[i]
		t.text = t.text[:min(len(t.text), maxCompared)]
	}
	for b := range f.masks {
		f.masks[b] = ^uint64(0)
	}
	for i, t := range texts {
		for k, b := range t.text[:f.size] {
			bit := uint64(1) << (8*k + i%groups)
			f.masks[b] &^= bit
			if t.fold {
				f.masks[upper(b)] &^= bit
			}
		}
	}
	return f
}

// index returns where the first of the texts in text begins; -1 if there is none, or stop says to give up.
func (f *finder) index(text []byte, stop func() bool) int {
	misses := 0
	whole := uint64(0xFF) << (8 * (f.size - 1))
	state := ^uint64(0)
	for i, b := range text {
		state = state<<8 | f.masks[b]
		if state&whole == whole {
			continue
		}
		start := i + 1 - f.size
		for k := range f.texts {
			if f.texts[k].begins(text[start:]) {
				return start
			}
		}
		if misses++; misses%maxMisses == 0 && stop() {
			return -1
		}
	}
	return -1
}

// begins reports whether text begins with r.
func (r *required) begins(text []byte) bool {
	if len(text) < len(r.text) {
		return false
	}
	if !r.fold {
		return bytes.Equal(text[:len(r.text)], r.text)
	}
	for i, b := range r.text {
		if lower(text[i]) != b {
			return false
		}
	}
	return true
}
