package jsonx

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// StringMember extracts the value of a string member of an object while the JSON text of the object arrives in fragments. It is for
// display: malformed text yields any text, never an error.
type StringMember struct {
	name  string
	depth int
	// inString is set inside a string, and escape holds the beginning of an escape sequence in it; empty for none.
	inString bool
	escape   []byte
	// text is the current string if it is a name, that is, a string of the object at the place of a name.
	text []byte
	// value is set where a value follows; wanted is set in the string that is extracted, and done after it.
	value, wanted, done bool
	named               bool // whether the current member is the one to extract
	// high is the first half of a surrogate pair; zero for none. rest is an incomplete UTF-8 sequence.
	high rune
	rest []byte
}

// NewStringMember returns an extractor of the member name of the outermost object.
func NewStringMember(name string) *StringMember { return &StringMember{name: name} }

// Add reads the next fragment, and returns the text of the member in it; empty for none. A character that is split between fragments
// is in the text of the last of them.
func (m *StringMember) Add(fragment string) string {
	var out strings.Builder
	for i := range len(fragment) {
		if m.done {
			break
		}
		if c := fragment[i]; m.inString {
			m.string(c, &out)
		} else {
			m.token(c)
		}
	}
	return out.String()
}

// token reads a byte outside of a string.
func (m *StringMember) token(c byte) {
	switch c {
	case '{', '[':
		m.depth++
		m.value = false
	case '}', ']':
		m.depth--
	case ':':
		m.value = true
	case ',':
		m.value = false
	case '"':
		m.inString = true
		m.wanted = m.depth == 1 && m.value && m.named
		if m.text = m.text[:0]; m.depth == 1 && !m.value {
			m.named = false
		}
	}
}

// string reads a byte of a string.
func (m *StringMember) string(c byte, out *strings.Builder) {
	switch {
	case len(m.escape) > 0:
		m.escape = append(m.escape, c)
		m.unescape(out)
	case c == '\\':
		m.escape = append(m.escape, c)
	case c == '"':
		m.flush(out)
		m.inString = false
		if m.wanted {
			m.done = true
		} else if m.depth == 1 && !m.value {
			m.named = string(m.text) == m.name
		}
	default:
		m.write(c, out)
	}
}

// write adds a byte of the current string.
func (m *StringMember) write(c byte, out *strings.Builder) {
	m.flushHigh(out)
	if !m.wanted {
		if len(m.text) <= len(m.name) {
			m.text = append(m.text, c)
		}
		return
	}
	m.rest = append(m.rest, c)
	if utf8.FullRune(m.rest) {
		r, size := utf8.DecodeRune(m.rest)
		out.WriteRune(r)
		m.rest = append(m.rest[:0], m.rest[size:]...)
	}
}

// unescape adds the character of the escape sequence, if that is complete.
func (m *StringMember) unescape(out *strings.Builder) {
	if m.escape[1] != 'u' {
		c := m.escape[1]
		if at := strings.IndexByte("bfnrt", c); at >= 0 {
			c = "\b\f\n\r\t"[at]
		}
		m.escape = m.escape[:0]
		m.write(c, out)
		return
	}
	if len(m.escape) < 6 {
		return
	}
	n, err := strconv.ParseUint(string(m.escape[2:]), 16, 16)
	m.escape = m.escape[:0]
	r := rune(n)
	if err != nil {
		r = utf8.RuneError
	}
	if m.high != 0 {
		if both := utf16.DecodeRune(m.high, r); both != utf8.RuneError {
			m.high = 0
			m.writeRune(both, out)
			return
		}
		m.flushHigh(out)
	}
	if utf16.IsSurrogate(r) && r < 0xDC00 {
		m.high = r
		return
	}
	m.writeRune(r, out)
}

func (m *StringMember) writeRune(r rune, out *strings.Builder) {
	for _, c := range utf8.AppendRune(nil, r) {
		m.write(c, out)
	}
}

// flushHigh replaces half of a surrogate pair.
func (m *StringMember) flushHigh(out *strings.Builder) {
	if m.high != 0 {
		m.high = 0
		m.writeRune(utf8.RuneError, out)
	}
}

// flush ends the current string.
func (m *StringMember) flush(out *strings.Builder) {
	m.flushHigh(out)
	if len(m.rest) > 0 {
		out.WriteRune(utf8.RuneError)
		m.rest = m.rest[:0]
	}
}
