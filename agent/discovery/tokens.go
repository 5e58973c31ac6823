package discovery

import (
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// eachToken calls yield with each word of s in lower case, until yield returns false. Accents do not count: é is e. A word ends at a
// character that is neither a letter nor a number, before a capital after a small letter or a digit (getUser, v2API), and before the
// last capital of an acronym (HTTPServer). The bytes are valid until yield returns.
func eachToken(s string, yield func(word []byte) bool) {
	var word []byte
	var last rune // the last character of the word
	emit := func() bool {
		more := len(word) == 0 || yield(word)
		word, last = word[:0], 0
		return more
	}
	s = norm.NFKD.String(s)
	for i, c := range s {
		switch {
		case unicode.IsMark(c):
			continue
		case !unicode.IsLetter(c) && !unicode.IsNumber(c):
			if !emit() {
				return
			}
			continue
		case unicode.IsUpper(c) && last != 0 && (!unicode.IsUpper(last) || beginsWord(s[i:])):
			if !emit() {
				return
			}
		}
		last = c
		word = appendLower(word, c)
	}
	emit()
}

// beginsWord reports whether a capital at the start of s is followed by a small letter.
func beginsWord(s string) bool {
	first := true
	for _, c := range s {
		switch {
		case first:
			first = false
		case !unicode.IsMark(c):
			return unicode.IsLower(c)
		}
	}
	return false
}

func appendLower(b []byte, c rune) []byte { return append(b, string(unicode.ToLower(c))...) }
