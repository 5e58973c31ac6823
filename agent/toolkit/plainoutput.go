package toolkit

import (
	"strings"
	"unicode/utf8"
)

// PlainOutput removes everything that is not text from a terminal's output: escape sequences, control characters, and text that a
// carriage return overwrote.
func PlainOutput(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7F || r >= 0x80 && r < 0xA0 }) {
		return s
	}
	out := make([]byte, 0, len(s))
	line := 0 // offset in out of the current line
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == 0x1B:
			i += escapeLen(s[i:])
		case c == '\r':
			for i < len(s) && s[i] == '\r' {
				i++
			}
			if i < len(s) && s[i] != '\n' {
				out = out[:line]
			}
		case c == '\b':
			_, n := utf8.DecodeLastRune(out[line:])
			out = out[:len(out)-n]
			i++
		case c == '\n':
			out = append(out, c)
			line = len(out)
			i++
		case c < ' ' && c != '\t' || c == 0x7F:
			i++
		case c == 0xC2 && i+1 < len(s) && s[i+1] < 0xA0: // U+0080 to U+009F
			i += 2
		default:
			out = append(out, c)
			i++
		}
	}
	return string(out)
}

// escapeLen returns the length of the escape sequence at the start of s.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[': // CSI: parameters, intermediates, one final byte
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7E {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7E {
				return i // incomplete
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_': // control strings, terminated by BEL or ESC \
		for i := 2; i < len(s); i++ {
			switch s[i] {
			case 0x07:
				return i + 1
			case 0x1B:
				if i+1 < len(s) && s[i+1] == '\\' {
					return i + 2
				}
				return i
			case '\n':
				return i // incomplete
			}
		}
		return len(s)
	default:
		i := 1
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2F {
			i++
		}
		if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7E {
			return i + 1
		}
		return i
	}
}
