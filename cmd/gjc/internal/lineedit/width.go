package lineedit

import (
	"unicode"

	"golang.org/x/text/width"
)

// Width returns the number of columns that a terminal gives to s, without line breaks and escape sequences.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// tabWidth is the number of columns of a tab in the line.
const tabWidth = 4

func runeWidth(r rune) int {
	switch {
	case r == '\t':
		return tabWidth
	case r < 0x300:
		return 1
	case joins(r):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// joins reports whether r is shown as a part of the character before it: a combining mark, a joiner, a variation, or a vowel or final
// consonant of a decomposed Korean syllable.
func joins(r rune) bool {
	return r >= 0x300 && (unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || r >= 0x1160 && r <= 0x11ff || r >= 0x1f3fb && r <= 0x1f3ff)
}
