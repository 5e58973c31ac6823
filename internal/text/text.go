// Package text shortens, joins and compares text for people and models, and separates the front matter of Markdown files.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const ellipsis = "…"

// Truncate shortens s to at most most characters. If it removes any, the result ends in an ellipsis, which counts.
func Truncate(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n, cut := 0, 0
	for i := range s {
		if n == most-1 {
			cut = i
		}
		if n++; n > most {
			return strings.TrimRightFunc(s[:cut], unicode.IsSpace) + ellipsis
		}
	}
	return s
}

// TruncateBytes shortens s to at most most bytes, at a character boundary, and appends an ellipsis if it removes any.
func TruncateBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + ellipsis
}

// Tail returns the end of s, at most most bytes. If there is a line break in the first half of these, the result begins after it.
func Tail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[len(s)-most:]
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < len(s)/2 {
		return s[i+1:]
	}
	return strings.ToValidUTF8(s, "")
}

// OneLine returns s with every run of white space replaced by one space, and with invalid UTF-8 replaced by U+FFFD.
func OneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ")
}

// FirstLine returns the first line of s that is not blank, without white space at its ends.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}

// Count returns n and the noun in singular or plural: "1 file", "2 files", "3 matches", "4 entries".
func Count(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "ch") || strings.HasSuffix(noun, "s"):
		noun += "es"
	case strings.HasSuffix(noun, "y"):
		noun = noun[:len(noun)-1] + "ies"
	default:
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// Middle shortens s to about most bytes. It keeps both ends and states how many bytes were removed between them.
func Middle(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head, tail := s[:most/2], s[len(s)-most/2:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n… %d bytes left out …\n", len(s)-most) + strings.ToValidUTF8(tail, "")
}
