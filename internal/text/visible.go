package text

import (
	"fmt"
	"strings"
)

// Visible returns text with its control characters, and what is not seen or turns the direction of writing, as escapes: a program or a model
// must not forge what a person is asked, or what a terminal does. Ends of lines and tabs stay.
func Visible(text string) string {
	if !strings.ContainsFunc(text, Forges) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if Forges(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// VisibleLine is [Visible] on one line.
func VisibleLine(text string) string {
	return Visible(strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", " ").Replace(text))
}

func Forges(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', 0x7F <= r && r < 0xA0:
		return true
	default: // what is not seen; marks, embeddings and isolates of direction; separators of lines; tags
		return r == 0xAD || r == 0x061C || 0x200B <= r && r <= 0x200F || 0x2028 <= r && r <= 0x202E || 0x2060 <= r && r <= 0x2069 ||
			0x206A <= r && r <= 0x206F || r == 0x034F || r == 0x115F || r == 0x1160 || r == 0x17B4 || r == 0x17B5 || 0x180B <= r && r <= 0x180F || r == 0x2800 ||
			r == 0x3164 || 0xFE00 <= r && r <= 0xFE0F || r == 0xFFA0 || 0xFFF0 <= r && r <= 0xFFFB || 0x1D173 <= r && r <= 0x1D17A || 0xE0100 <= r && r <= 0xE01EF ||
			r == 0xFEFF || 0xE0000 <= r && r <= 0xE007F
	}
}
