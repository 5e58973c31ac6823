package acp

import "unicode/utf8"

// Bounds of the text in one session update, in bytes before and after encoding. Many clients reject a line of more than
// 64 KiB.
const (
	maxText        = 32 << 10
	maxEncodedText = 56 << 10
)

// SplitText splits a text into pieces that each fit in one session update. It returns at least one piece, and never splits a
// character.
func SplitText(text string) []string {
	var pieces []string
	start, size := 0, 0
	for i := 0; i < len(text); {
		width, encoded := charSize(text[i:])
		if i+width-start > maxText || size+encoded > maxEncodedText {
			pieces = append(pieces, text[start:i])
			start, size = i, 0
		}
		i += width
		size += encoded
	}
	return append(pieces, text[start:])
}

// encodedSize returns the number of bytes that jsonx writes for the text, without the quotes.
func encodedSize(text string) int {
	size := 0
	for i := 0; i < len(text); {
		width, encoded := charSize(text[i:])
		i += width
		size += encoded
	}
	return size
}

// charSize returns the size of the first character of s and of its encoding in JSON, in bytes. A byte that is not UTF-8 is
// encoded as U+FFFD.
func charSize(s string) (width, encoded int) {
	switch b := s[0]; {
	case b == '"', b == '\\', b == '\b', b == '\f', b == '\n', b == '\r', b == '\t':
		return 1, len(`\n`)
	case b < ' ':
		return 1, len(`\u0000`)
	case b < utf8.RuneSelf:
		return 1, 1
	}
	r, width := utf8.DecodeRuneInString(s)
	return width, utf8.RuneLen(r)
}
