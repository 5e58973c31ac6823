package search

import (
	"fmt"
	"regexp/syntax"
	"strings"
)

// writeRust writes re in a form that does not depend on which characters Rust treats as letters, digits or parts of words.
func writeRust(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpNoMatch:
		b.WriteString(`[^\x{0}-\x{10FFFF}]`)
	case syntax.OpEmptyMatch:
		b.WriteString(`(?:)`)
	case syntax.OpLiteral:
		fold := re.Flags&syntax.FoldCase != 0
		if fold {
			b.WriteString(`(?i:`)
		}
		for _, r := range re.Rune {
			writeRustRune(b, r)
		}
		if fold {
			b.WriteByte(')')
		}
	case syntax.OpCharClass:
		b.WriteByte('[')
		for i := 0; i < len(re.Rune); i += 2 {
			// Rust rejects surrogates.
			for _, r := range withoutSurrogates(re.Rune[i], re.Rune[i+1]) {
				writeRustRune(b, r[0])
				if r[0] != r[1] {
					b.WriteByte('-')
					writeRustRune(b, r[1])
				}
			}
		}
		b.WriteByte(']')
	case syntax.OpBeginLine:
		b.WriteString(`(?m:^)`)
	case syntax.OpEndLine:
		b.WriteString(`(?m:$)`)
	case syntax.OpWordBoundary:
		b.WriteString(`(?-u:\b)`)
	case syntax.OpNoWordBoundary:
		b.WriteString(`(?-u:\B)`)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		b.WriteString(`(?:`)
		writeRust(b, re.Sub[0])
		b.WriteByte(')')
		b.WriteByte(map[syntax.Op]byte{syntax.OpStar: '*', syntax.OpPlus: '+', syntax.OpQuest: '?'}[re.Op])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			writeRust(b, sub)
		}
	case syntax.OpAlternate:
		b.WriteString(`(?:`)
		for i, sub := range re.Sub {
			if i > 0 {
				b.WriteByte('|')
			}
			writeRust(b, sub)
		}
		b.WriteByte(')')
	default: // forLines and Simplify leave no other operators
	}
}

func writeRustRune(b *strings.Builder, r rune) {
	switch {
	case '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' || r == '_' || r == ' ':
		b.WriteRune(r)
	default:
		fmt.Fprintf(b, `\x{%X}`, r)
	}
}

// withoutSurrogates returns the parts of a range that contain no surrogates.
func withoutSurrogates(lo, hi rune) [][2]rune {
	var parts [][2]rune
	if lo < 0xD800 {
		parts = append(parts, [2]rune{lo, min(hi, 0xD7FF)})
	}
	if hi > 0xDFFF {
		parts = append(parts, [2]rune{max(lo, 0xE000), hi})
	}
	return parts
}
