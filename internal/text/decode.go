package text

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Decode returns the text of a file without byte order marks: UTF-8, or UTF-16 if the file begins with its byte order mark. It reports
// false for anything else, also for text with a NUL character; line is then the line of the first fault.
func Decode(data []byte) (text string, line int, ok bool) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	}
	if order == nil {
		start := validStart(data)
		if len(start) < len(data) {
			return "", 1 + bytes.Count(start, []byte("\n")), false
		}
		return strings.TrimLeft(string(data), "\ufeff"), 0, true
	}
	units := make([]uint16, 0, len(data)/2)
	for at := 2; at+1 < len(data); at += 2 {
		units = append(units, order.Uint16(data[at:]))
	}
	for i := 0; i < len(units); i++ {
		switch u := units[i]; {
		case utf16.IsSurrogate(rune(u)) && i+1 < len(units) && utf16.DecodeRune(rune(u), rune(units[i+1])) != utf8.RuneError:
			i++
		case u == 0 || utf16.IsSurrogate(rune(u)):
			return "", 1 + strings.Count(string(utf16.Decode(units[:i])), "\n"), false
		}
	}
	if len(data)%2 != 0 {
		return "", 1 + strings.Count(string(utf16.Decode(units)), "\n"), false
	}
	return strings.TrimLeft(string(utf16.Decode(units)), "\ufeff"), 0, true
}

// validStart returns data up to the first NUL or invalid UTF-8 byte.
func validStart(data []byte) []byte {
	for at := 0; at < len(data); {
		c, n := utf8.DecodeRune(data[at:])
		if c == 0 || c == utf8.RuneError && n == 1 {
			return data[:at]
		}
		at += n
	}
	return data
}
