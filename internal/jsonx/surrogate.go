package jsonx

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A stream of JSON values can split a character outside the Basic Multilingual Plane: one string ends with the escape \ud83d and
// the next begins with \ude00. Decoded separately, both halves would become U+FFFD. So a single half is replaced with a mark before
// the value is decoded: the noncharacter markStart, followed by the last three hexadecimal digits of the half, each as a
// noncharacter starting at markDigit. Text does not contain them: Unicode reserves noncharacters for internal use.
const (
	markStart = '\uFDEF'
	markDigit = '\uFDD0'
	// surrogates is the common prefix of all surrogates.
	surrogates = 0xD000
)

// MarkSurrogates replaces every surrogate escape without its other half in the JSON text data by a mark, for
// [JoinSurrogates]. It returns data itself if there is none.
func MarkSurrogates(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) {
		return data
	}
	var out []byte
	done := 0 // the number of bytes of data that have been copied to out
	for i := 0; i < len(data); {
		next := bytes.IndexByte(data[i:], '\\')
		if next < 0 {
			break
		}
		i += next
		r, ok := surrogateEscape(data[i:])
		switch {
		case !ok:
			i += 2
		case isHigh(r) && followedByLow(data[i+6:]):
			i += 12
		default:
			out = utf8.AppendRune(append(out, data[done:i]...), markStart)
			for shift := 8; shift >= 0; shift -= 4 {
				out = utf8.AppendRune(out, markDigit+r>>shift&0xF)
			}
			i += 6
			done = i
		}
	}
	if done == 0 {
		return data
	}
	return append(out, data[done:]...)
}

// surrogateEscape returns the surrogate with whose escape b begins.
func surrogateEscape(b []byte) (rune, bool) {
	if len(b) < 6 || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil && utf16.IsSurrogate(rune(n))
}

func followedByLow(b []byte) bool {
	if len(b) == 0 || b[0] != '\\' {
		return false
	}
	r, ok := surrogateEscape(b)
	return ok && !isHigh(r)
}

func isHigh(surrogate rune) bool { return surrogate < 0xDC00 }

// JoinSurrogates replaces the marks in s by the characters that they stand for, or by U+FFFD if the other half is missing.
// held is the first half that the text before s ended with, or zero. A first half at the end of s is not in the returned
// text but returned separately, to be passed as held with the next text.
func JoinSurrogates(s string, held rune) (text string, half rune) {
	if held == 0 && !strings.ContainsRune(s, markStart) || s == "" {
		return s, held
	}
	var b strings.Builder
	alone := func() {
		if held != 0 {
			b.WriteRune(utf8.RuneError)
			held = 0
		}
	}
	for s != "" {
		mark := strings.IndexRune(s, markStart)
		if mark != 0 {
			if mark < 0 {
				mark = len(s)
			}
			alone()
			b.WriteString(s[:mark])
			s = s[mark:]
			continue
		}
		r, size := marked(s)
		switch {
		case !utf16.IsSurrogate(r): // the noncharacter itself
			alone()
			b.WriteRune(r)
		case isHigh(r):
			alone()
			held = r
		case held != 0:
			b.WriteRune(utf16.DecodeRune(held, r))
			held = 0
		default:
			b.WriteRune(utf8.RuneError)
		}
		s = s[size:]
	}
	return b.String(), held
}

// marked returns the surrogate with whose mark s begins and the length of the mark, or markStart if s does not begin with a mark.
func marked(s string) (r rune, size int) {
	r, size = surrogates, utf8.RuneLen(markStart)
	for shift := 8; shift >= 0; shift -= 4 {
		digit, n := utf8.DecodeRuneInString(s[size:])
		if digit < markDigit || digit > markDigit+0xF {
			return markStart, utf8.RuneLen(markStart)
		}
		r |= (digit - markDigit) << shift
		size += n
	}
	return r, size
}
