package toolstest

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

// UTF16LE encodes text as little-endian UTF-16 with a byte order mark.
func UTF16LE(text string) string {
	b := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

// Contains reports an error for each part that text lacks.
func Contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("no %q in:\n%s", p, text)
		}
	}
}
