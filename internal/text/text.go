// Package text shortens, joins and compares text for people and models, and splits Markdown files from their front matter.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const ellipsis = "…"

// Truncate returns s if it has at most most characters, and otherwise its start and an ellipsis, at most most characters in all.
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

// TruncateBytes returns s if it has at most most bytes, and otherwise the characters that fit into most bytes, and an ellipsis.
func TruncateBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + ellipsis
}

// Tail returns the end of s, at most most bytes. If the end of a line is in the first half of it, it begins after that.
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

// Middle shortens s to about most bytes. It keeps both ends, and says how many bytes are missing between them.
func Middle(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head, tail := s[:most/2], s[len(s)-most/2:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n… %d bytes left out …\n", len(s)-most) + strings.ToValidUTF8(tail, "")
}
