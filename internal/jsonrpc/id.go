package jsonrpc

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// ID identifies a request: a string, a number or null. The zero value is no id, that of a notification.
// IDs are comparable; 1 and 1.0 are the same id, 1 and "1" are not.
type ID struct {
	kind idKind
	num  int64
	// str is a string id, or the text of a number that is not an int64.
	str string
	// raw is a number as the peer wrote it, where that is not its canonical text. It is what goes back.
	raw string
}

type idKind uint8

const (
	idNone idKind = iota
	idNull
	idNumber
	idString
	idOddNumber
)

// NumberID returns a numeric id.
func NumberID(n int64) ID { return ID{kind: idNumber, num: n} }

// StringID returns a string id.
func StringID(s string) ID { return ID{kind: idString, str: s} }

// NullID returns the id null. JSON-RPC allows a request to have it and discourages it.
func NullID() ID { return ID{kind: idNull} }

// IsValid reports whether there is an id at all.
func (id ID) IsValid() bool { return id.kind != idNone }

// key is id without its spelling: equal for ids that are the same.
func (id ID) key() ID {
	id.raw = ""
	return id
}

// ours returns the key of an id in a response. Our own ids are numbers; some peers send them back as strings.
func (id ID) ours() ID {
	if id.kind == idString {
		if n, err := strconv.ParseInt(id.str, 10, 64); err == nil && strconv.FormatInt(n, 10) == id.str {
			return NumberID(n)
		}
	}
	return id.key()
}

func (id ID) append(dst []byte) []byte {
	switch {
	case id.raw != "":
		return append(dst, id.raw...)
	case id.kind == idNumber:
		return strconv.AppendInt(dst, id.num, 10)
	case id.kind == idString:
		return jsonx.AppendString(dst, id.str)
	case id.kind == idOddNumber:
		return append(dst, id.str...)
	default:
		return append(dst, "null"...)
	}
}

// String returns the id as JSON.
func (id ID) String() string {
	if !id.IsValid() {
		return "none"
	}
	return string(id.append(nil))
}

// MarshalJSON implements json.Marshaler.
func (id ID) MarshalJSON() ([]byte, error) { return id.append(nil), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (id *ID) UnmarshalJSON(data []byte) error {
	switch jsonx.Raw(data).Kind() {
	case 'n':
		*id = NullID()
	case '"':
		var s string
		if err := jsonx.Unmarshal(data, &s); err != nil {
			return err
		}
		*id = StringID(s)
	case '0':
		*id = parseNumberID(strings.TrimSpace(string(data)))
	default:
		return errors.New("an id is a string, a number or null")
	}
	return nil
}

func parseNumberID(text string) ID {
	id := ID{kind: idOddNumber, str: text}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		id = NumberID(n)
	} else if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		id = NumberID(int64(f))
	}
	if canonical := string(id.append(nil)); canonical != text {
		id.raw = text
	}
	return id
}
