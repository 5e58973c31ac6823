package jsonrpc

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// ID is the ID of a request: a string, a number or null. The zero value means no ID, as in a notification. IDs are comparable; 1 and 1.0
// are the same ID, 1 and "1" are not.
type ID struct {
	kind idKind
	num  int64
	// str is a string ID, or the text of a number that is not an int64.
	str string
	// raw is a number as the peer has written it, if that differs from its canonical text. It is sent back.
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

// numberID returns a numeric ID.
func numberID(n int64) ID { return ID{kind: idNumber, num: n} }

// stringID returns a string ID.
func stringID(s string) ID { return ID{kind: idString, str: s} }

// nullID returns the ID null, which JSON-RPC allows in requests but discourages.
func nullID() ID { return ID{kind: idNull} }

// isValid reports whether the ID is not the zero value.
func (id ID) isValid() bool { return id.kind != idNone }

// key returns the ID without its spelling: equal IDs have equal keys.
func (id ID) key() ID {
	id.raw = ""
	return id
}

// ours returns the key of the ID in a response. The IDs of this side are numbers; some peers send them back as strings.
func (id ID) ours() ID {
	if id.kind == idString {
		if n, err := strconv.ParseInt(id.str, 10, 64); err == nil && strconv.FormatInt(n, 10) == id.str {
			return numberID(n)
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

// String returns the ID as JSON.
func (id ID) String() string {
	if !id.isValid() {
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
		*id = nullID()
	case '"':
		var s string
		if err := jsonx.Unmarshal(data, &s); err != nil {
			return err
		}
		*id = stringID(s)
	case '0':
		*id = parseNumberID(strings.TrimSpace(string(data)))
	default:
		return errors.New("an ID must be a string, a number or null")
	}
	return nil
}

func parseNumberID(text string) ID {
	id := ID{kind: idOddNumber, str: text}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		id = numberID(n)
	} else if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		id = numberID(int64(f))
	}
	if canonical := string(id.append(nil)); canonical != text {
		id.raw = text
	}
	return id
}
