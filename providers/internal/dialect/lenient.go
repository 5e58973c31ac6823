package dialect

import (
	"strconv"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// mostOfNumber bounds the magnitude of a [Number], so that two of them can be added without overflow.
const mostOfNumber = 1 << 53

// A Number is a whole number from a server: a count or an index. Some servers write 10.0 or "10" for 10. Any other value is treated
// as unknown and is not an error.
type Number struct {
	Value int
	Known bool
}

// Count returns n as a count: zero if unknown, and never negative.
func (n Number) Count() int { return max(0, n.Value) }

// UnmarshalJSONFrom reads any value.
func (n *Number) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*n = numberOf(raw)
	return nil
}

func numberOf(raw jsonx.Raw) Number {
	s := string(raw)
	if raw.Kind() == '"' {
		s, _ = jsonx.Text(raw)
	}
	if i, err := strconv.Atoi(s); err == nil {
		if i >= -mostOfNumber && i <= mostOfNumber {
			return Number{Value: i, Known: true}
		}
		return Number{}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= -mostOfNumber && f <= mostOfNumber) || f != float64(int(f)) {
		return Number{}
	}
	return Number{Value: int(f), Known: true}
}

// An ID is an id that most servers send as a string and some as a number. Any other value is treated as no id.
type ID string

// UnmarshalJSONFrom reads any value.
func (id *ID) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch raw.Kind() {
	case '"':
		var s string
		if err := jsonx.Unmarshal(raw, &s); err != nil {
			return err
		}
		*id = ID(s)
	case '0':
		*id = ID(raw)
	default:
		*id = ""
	}
	return nil
}

// An Object is an optional object of an answer. Any other or unreadable value is treated as unknown and not as an error.
type Object[T any] struct {
	Value T
	Known bool
}

// UnmarshalJSONFrom reads any value.
func (o *Object[T]) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*o = Object[T]{}
	if raw.Kind() != '{' {
		return nil
	}
	if jsonx.Unmarshal(raw, &o.Value) != nil {
		*o = Object[T]{}
		return nil
	}
	o.Known = true
	return nil
}

// IsError reports whether the "error" member of an event is an error. Some servers send an empty one with every event.
func IsError(raw jsonx.Raw, withOthers bool) bool {
	if jsonx.IsNull(raw) {
		return false
	}
	if !withOthers {
		return true
	}
	switch raw.Kind() {
	case '"':
		return string(raw) != `""`
	case '{':
		for range jsonx.Members(raw) {
			return true
		}
		return false
	case '[':
		var all []jsonx.Raw
		return jsonx.Unmarshal(raw, &all) != nil || len(all) > 0
	case 'f':
		return false
	}
	return true
}

// EventType returns the type of an event that could not be decoded; "" if it has none. Events of unknown types may have any
// form.
func EventType(data []byte) string {
	var event struct {
		Type string `json:"type"`
	}
	if jsonx.Unmarshal(data, &event) != nil {
		return ""
	}
	return event.Type
}
