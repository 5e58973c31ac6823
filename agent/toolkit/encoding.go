package toolkit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is the encoding of a file's text.
type Encoding int

const (
	// PlainUTF8 has no byte order mark. It is also the encoding of a text with invalid bytes.
	PlainUTF8 Encoding = iota
	// BomUTF8, LittleUTF16 and BigUTF16 begin with a byte order mark.
	BomUTF8
	LittleUTF16
	BigUTF16
)

// Utf8BOM is the byte order mark at the start of a text in BomUTF8.
const Utf8BOM = "\xEF\xBB\xBF"

func (e Encoding) String() string {
	switch e {
	case BomUTF8:
		return "UTF-8 with a byte order mark"
	case LittleUTF16:
		return "UTF-16 (little endian)"
	case BigUTF16:
		return "UTF-16 (big endian)"
	default:
		return "UTF-8"
	}
}

// Errors about a file's content.
var (
	ErrBinary  = errors.New("the file is binary, not text")
	ErrNotUTF8 = errors.New("the file is text in an encoding other than UTF-8 or UTF-16")
	ErrHalves  = errors.New("the file is UTF-16 with halves of characters (lone surrogates), which would be lost; use a command")
)

// DecodeText returns the text in data, with its line ends, and its encoding. With ErrNotUTF8 and ErrHalves it still returns the text, with
// a replacement character for what could not be decoded.
func DecodeText(data []byte) (string, Encoding, error) {
	switch {
	case bytes.HasPrefix(data, []byte(Utf8BOM)):
		text, err := decodeUTF8(data[len(Utf8BOM):])
		return text, BomUTF8, err
	case bytes.HasPrefix(data, []byte("\xFF\xFE")) && len(data)%2 == 0:
		text, err := decodeWholeUTF16(data[2:], binary.LittleEndian)
		return text, LittleUTF16, err
	case bytes.HasPrefix(data, []byte("\xFE\xFF")) && len(data)%2 == 0:
		text, err := decodeWholeUTF16(data[2:], binary.BigEndian)
		return text, BigUTF16, err
	default:
		text, err := decodeUTF8(data)
		return text, PlainUTF8, err
	}
}

// IsUTF16 reports whether data begins with a byte order mark of UTF-16.
func IsUTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xFF\xFE")) || bytes.HasPrefix(data, []byte("\xFE\xFF"))
}

func decodeUTF8(data []byte) (string, error) {
	if bytes.IndexByte(data, 0) >= 0 {
		return "", ErrBinary
	}
	if utf8.Valid(data) {
		return string(data), nil
	}
	if LooksBinary(data) {
		return "", ErrBinary
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), ErrNotUTF8
}

// LooksBinary reports whether data that is not UTF-8 is binary, by its control characters: an 8-bit text has hardly any.
func LooksBinary(data []byte) bool {
	data = data[:min(len(data), 8<<10)]
	control := 0
	for _, b := range data {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1B {
			control++
		}
	}
	return control*50 > len(data)
}

// decodeWholeUTF16 returns an error for text that [EncodeText] would not encode to the same bytes.
func decodeWholeUTF16(data []byte, order binary.ByteOrder) (string, error) {
	text := DecodeUTF16(data, order)
	at := 0
	for _, r := range text {
		if r == utf8.RuneError && order.Uint16(data[at:]) != utf8.RuneError {
			return text, ErrHalves
		}
		at += 2 * utf16.RuneLen(r)
	}
	return text, nil
}

// DecodeUTF16 decodes data, which has no byte order mark. It ignores an odd last byte and replaces unpaired surrogates by U+FFFD.
func DecodeUTF16(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units))
}

// EncodeText is the inverse of [DecodeText] for text without errors.
func EncodeText(text string, e Encoding) []byte {
	switch e {
	case BomUTF8:
		return []byte(Utf8BOM + text)
	case LittleUTF16:
		return encodeUTF16(text, binary.LittleEndian)
	case BigUTF16:
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

// LineFeeds returns text with every CRLF replaced by LF.
func LineFeeds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// LineEnd returns the line end of most lines of text, or LF if it has none.
func LineEnd(text string) string {
	crlf := strings.Count(text, "\r\n")
	if crlf > strings.Count(text, "\n")-crlf {
		return "\r\n"
	}
	return "\n"
}
