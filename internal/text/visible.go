package text

import (
	"fmt"
	"slices"
	"strings"
)

// Visible returns text with escapes in place of control characters, invisible characters and those that change the writing
// direction. A program or a model must not forge a question to the user or control the terminal. Line breaks and tabs stay.
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

// VisibleLine is like [Visible], but returns a single line.
func VisibleLine(text string) string {
	return Visible(strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", " ").Replace(text))
}

// Forges reports whether r is a control character other than a line feed or a tab, or is in one of the ranges of forging.
func Forges(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', 0x7F <= r && r < 0xA0:
		return true
	case r < forging[0][0]:
		return false
	default:
		return slices.ContainsFunc(forging[:], func(f [2]rune) bool { return f[0] <= r && r <= f[1] })
	}
}

// forging lists ranges of invisible and misleading characters: directional marks, embeddings and isolates, line separators, and
// tags. Both ends of a range are inclusive.
var forging = [...][2]rune{
	{0xAD, 0xAD},
	{0x034F, 0x034F},
	{0x061C, 0x061C},
	{0x115F, 0x1160},
	{0x17B4, 0x17B5},
	{0x180B, 0x180F},
	{0x200B, 0x200F},
	{0x2028, 0x202E},
	{0x2060, 0x206F},
	{0x2800, 0x2800},
	{0x3164, 0x3164},
	{0xFE00, 0xFE0F},
	{0xFEFF, 0xFEFF},
	{0xFFA0, 0xFFA0},
	{0xFFF0, 0xFFFB},
	{0x1D173, 0x1D17A},
	{0xE0000, 0xE007F},
	{0xE0100, 0xE01EF},
}
