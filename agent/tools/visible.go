package tools

import (
	"fmt"
	"strings"
)

// visible returns text with its control characters, and what turns the direction of writing, as escapes: a program or a model
// must not forge what a person is asked, or what a terminal does. Ends of lines and tabs stay.
func visible(text string) string {
	if !strings.ContainsFunc(text, forges) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if forges(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// visibleLine is visible on one line.
func visibleLine(text string) string {
	return visible(strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", " ").Replace(text))
}

func forges(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', 0x7F <= r && r < 0xA0:
		return true
	default: // marks, embeddings and isolates of direction, and separators of lines
		return r == 0x061C || 0x200E <= r && r <= 0x200F || 0x2028 <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069
	}
}
