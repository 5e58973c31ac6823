package toolkit

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// Encoding is the encoding of a file's text.
type Encoding int

// The encodings. All except PlainUTF8 begin with a byte order mark. PlainUTF8 is also the encoding of text with invalid bytes.
const (
	PlainUTF8 Encoding = iota
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

// DecodeText returns the text in data, with its line endings, and its encoding. With ErrNotUTF8 and ErrHalves it still returns the
// text, with replacement characters for what could not be decoded.
func DecodeText(data []byte) (string, Encoding, error) {
	switch {
	case bytes.HasPrefix(data, []byte(Utf8BOM)):
		text, err := decodeUTF8(data[len(Utf8BOM):])
		return text, BomUTF8, err
	case UTF16Of(data) != PlainUTF8 && len(data)%2 == 0:
		e := UTF16Of(data)
		text := string(e.DecodeUTF16(data))
		if !bytes.Equal(EncodeText(text, e), data) {
			return text, e, ErrHalves
		}
		return text, e, nil
	default:
		text, err := decodeUTF8(data)
		return text, PlainUTF8, err
	}
}

// UTF16Of returns the encoding of data that begins with a UTF-16 byte order mark, otherwise PlainUTF8.
func UTF16Of(data []byte) Encoding {
	switch {
	case bytes.HasPrefix(data, []byte("\xFF\xFE")):
		return LittleUTF16
	case bytes.HasPrefix(data, []byte("\xFE\xFF")):
		return BigUTF16
	default:
		return PlainUTF8
	}
}

// UTF16 converts UTF-16 with a byte order mark. It never fails: it replaces unpaired surrogates and an odd last byte with U+FFFD.
func (e Encoding) UTF16() encoding.Encoding {
	if e == BigUTF16 {
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	}
	return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
}

// DecodeUTF16 decodes UTF-16 data.
func (e Encoding) DecodeUTF16(data []byte) []byte {
	text, _ := e.UTF16().NewDecoder().Bytes(data)
	return text
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

// LooksBinary reports whether data that is not UTF-8 is binary. It counts control characters, because text in an 8-bit encoding
// contains hardly any.
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

// EncodeText is the inverse of [DecodeText] for text without errors.
func EncodeText(text string, e Encoding) []byte {
	switch e {
	case BomUTF8:
		return []byte(Utf8BOM + text)
	case LittleUTF16, BigUTF16:
		data, _ := e.UTF16().NewEncoder().Bytes([]byte(text))
		return data
	default:
		return []byte(text)
	}
}

// LineFeeds returns text with every CRLF replaced with LF.
func LineFeeds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// LineEnd returns the most frequent line ending of text, or LF if it has none.
func LineEnd(text string) string {
	crlf := strings.Count(text, "\r\n")
	if crlf > strings.Count(text, "\n")-crlf {
		return "\r\n"
	}
	return "\n"
}
