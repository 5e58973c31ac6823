package jsonx

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Text returns the value of the JSON string raw. It reports false for everything else, and for a string with bytes that
// are not UTF-8, which the decoder replaces.
func Text(raw Raw) (s string, ok bool) {
	n := len(raw)
	if n < 2 || raw[0] != '"' || raw[n-1] != '"' {
		return "", false
	}
	inner := raw[1 : n-1]
	ascii := true
	for _, c := range inner {
		switch {
		case c == '\\' || c == '"' || c < ' ':
			text, err := jsontext.AppendUnquote(nil, raw)
			return string(text), err == nil
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if !ascii && !utf8.Valid(inner) {
		return "", false
	}
	return string(inner), true
}

// EachMember calls fn for the members of the JSON object raw, in order, until fn returns false. The name is valid during
// the call. As for [Members], raw must be valid JSON; it is for values that are read thousands of times.
func EachMember(raw Raw, fn func(name []byte, value Raw) bool) {
	for quoted, value := range members(raw) {
		if !fn(unquoteName(quoted), value) {
			return
		}
	}
}
