package tools

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is how a file's text is laid down in bytes.
type encoding int

const (
	plainUTF8 encoding = iota
	bomUTF8
	littleUTF16
	bigUTF16
)

const utf8BOM = "\xEF\xBB\xBF"

func (e encoding) String() string {
	switch e {
	case bomUTF8:
		return "UTF-8 with a byte order mark"
	case littleUTF16:
		return "UTF-16 (little endian)"
	case bigUTF16:
		return "UTF-16 (big endian)"
	default:
		return "UTF-8"
	}
}

// Complaints about what a file holds.
var (
	errBinary  = errors.New("the file is binary, not text")
	errNotUTF8 = errors.New("the file is text in an encoding other than UTF-8 or UTF-16")
	errHalves  = errors.New("the file is UTF-16 with halves of characters (lone surrogates), which would be lost; use a command")
)

// decodeText returns the text in data, with the line ends as they are, and how it was encoded. On errNotUTF8 and errHalves the
// text is still returned, with a replacement character for what could not be read.
func decodeText(data []byte) (string, encoding, error) {
	switch {
	case bytes.HasPrefix(data, []byte(utf8BOM)):
		text, err := decodeUTF8(data[len(utf8BOM):])
		return text, bomUTF8, err
	case bytes.HasPrefix(data, []byte("\xFF\xFE")) && len(data)%2 == 0:
		text, err := decodeWholeUTF16(data[2:], binary.LittleEndian)
		return text, littleUTF16, err
	case bytes.HasPrefix(data, []byte("\xFE\xFF")) && len(data)%2 == 0:
		text, err := decodeWholeUTF16(data[2:], binary.BigEndian)
		return text, bigUTF16, err
	default:
		text, err := decodeUTF8(data)
		return text, plainUTF8, err
	}
}

// isUTF16 reports whether data starts as UTF-16 with a byte order mark does.
func isUTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xFF\xFE")) || bytes.HasPrefix(data, []byte("\xFE\xFF"))
}

func decodeUTF8(data []byte) (string, error) {
	if bytes.IndexByte(data, 0) >= 0 {
		return "", errBinary
	}
	if utf8.Valid(data) {
		return string(data), nil
	}
	if looksBinary(data) {
		return "", errBinary
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), errNotUTF8
}

// looksBinary judges data that is no UTF-8 by its control characters: an old 8-bit text has next to none.
func looksBinary(data []byte) bool {
	data = data[:min(len(data), 8<<10)]
	control := 0
	for _, b := range data {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1B {
			control++
		}
	}
	return control*50 > len(data)
}

// decodeWholeUTF16 fails for text that [encodeText] would not give back as it is.
func decodeWholeUTF16(data []byte, order binary.ByteOrder) (string, error) {
	text := decodeUTF16(data, order)
	at := 0
	for _, r := range text {
		if r == utf8.RuneError && order.Uint16(data[at:]) != utf8.RuneError {
			return text, errHalves
		}
		at += 2 * utf16.RuneLen(r)
	}
	return text, nil
}

func decodeUTF16(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units))
}

// encodeText is the inverse of [decodeText] for text without errors.
func encodeText(text string, e encoding) []byte {
	switch e {
	case bomUTF8:
		return []byte(utf8BOM + text)
	case littleUTF16:
		return encodeUTF16(text, binary.LittleEndian)
	case bigUTF16:
		return encodeUTF16(text, binary.BigEndian)
	default:
		return []byte(text)
	}
}

func encodeUTF16(text string, order binary.AppendByteOrder) []byte {
	out := order.AppendUint16(make([]byte, 0, 2+2*len(text)), 0xFEFF)
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return out
}

// lineFeeds returns text with every CRLF as LF.
func lineFeeds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// lineEnd returns the line end that most lines of text have, LF where there is none.
func lineEnd(text string) string {
	crlf := strings.Count(text, "\r\n")
	if crlf > strings.Count(text, "\n")-crlf {
		return "\r\n"
	}
	return "\n"
}
