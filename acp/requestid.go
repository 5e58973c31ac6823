package acp

import (
	"math"
	"strconv"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// RequestID identifies a JSON-RPC request: a string, an integer, or null, which is the zero value. It is comparable.
type RequestID struct {
	text string
	num  int64
	kind idKind
}

type idKind uint8

const (
	idNull idKind = iota
	idNumber
	idString
)

// NumberRequestID returns the ID with the integer n.
func NumberRequestID(n int64) RequestID { return RequestID{num: n, kind: idNumber} }

// StringRequestID returns the ID with the string s.
func StringRequestID(s string) RequestID { return RequestID{text: s, kind: idString} }

// Value returns the ID as nil, int64 or string.
func (id RequestID) Value() any {
	switch id.kind {
	case idNumber:
		return id.num
	case idString:
		return id.text
	default:
		return nil
	}
}

// IsNull reports whether the ID is null.
func (id RequestID) IsNull() bool { return id.kind == idNull }

// String returns the ID as JSON, so that 1 and "1" differ in a log.
func (id RequestID) String() string {
	switch id.kind {
	case idNumber:
		return strconv.FormatInt(id.num, 10)
	case idString:
		return string(jsonx.AppendString(nil, id.text))
	default:
		return "null"
	}
}

// MarshalJSON writes the ID.
func (id RequestID) MarshalJSON() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalJSON reads an ID with [encoding/json].
func (id *RequestID) UnmarshalJSON(data []byte) error { return jsonx.Unmarshal(data, id) }

// UnmarshalJSONFrom reads an ID.
func (id *RequestID) UnmarshalJSONFrom(dec *jsonx.Decoder) error { return readRequestID(dec, id) }

func readRequestID(dec *jsonx.Decoder, p *RequestID) error {
	switch kind := dec.PeekKind(); kind {
	case 'n':
		if err := dec.SkipValue(); err != nil {
			return err
		}
		*p = RequestID{}
		return nil
	case '"':
		var s string
		if err := readString(dec, &s); err != nil {
			return err
		}
		*p = StringRequestID(s)
		return nil
	case '0':
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		n, ok := wholeNumber(raw)
		if !ok || n == math.MaxInt64 && string(raw) != strconv.FormatInt(n, 10) {
			return jsonx.Invalid(dec, "a request ID must be a string or a 64-bit integer")
		}
		*p = NumberRequestID(n)
		return nil
	default:
		return mismatch(dec, kind, "request id")
	}
}

func putRequestID(w *writer, id RequestID) {
	switch id.kind {
	case idNumber:
		putInt(w, id.num)
	case idString:
		putString(w, id.text)
	default:
		w.token(jsonx.Null)
	}
}
