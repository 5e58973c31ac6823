package jsonx

import (
	"bytes"
	"iter"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Members yields the names and values of the JSON object raw, in order. The values are slices of raw.
// If raw is not an object, it has no members. raw must be valid JSON: it is not checked.
func Members(raw Raw) iter.Seq2[string, Raw] {
	return func(yield func(string, Raw) bool) {
		for name, value := range members(raw) {
			if !yield(string(unquoteName(name)), value) {
				return
			}
		}
	}
}

// Lookup returns the member of the JSON object raw that is called name, as a slice of raw, or nil.
// As for [Members], raw must be valid JSON.
func Lookup(raw Raw, name string) Raw {
	for quoted, value := range members(raw) {
		if string(unquoteName(quoted)) == name {
			return value
		}
	}
	return nil
}

// Sole returns the element of the JSON array raw, as a slice of raw, if there is exactly one, otherwise nil.
// As for [Members], raw must be valid JSON.
func Sole(raw Raw) Raw {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return nil
	}
	start := skipSpace(raw, i+1)
	if start >= len(raw) || raw[start] == ']' {
		return nil
	}
	end := skipValue(raw, start)
	if i = skipSpace(raw, end); i >= len(raw) || raw[i] != ']' {
		return nil
	}
	return raw[start:end:end]
}

// members yields each name in its quoted form.
func members(raw Raw) iter.Seq2[[]byte, Raw] {
	return func(yield func([]byte, Raw) bool) {
		i := skipSpace(raw, 0)
		if i >= len(raw) || raw[i] != '{' {
			return
		}
		for i++; ; i++ {
			if i = skipSpace(raw, i); i >= len(raw) || raw[i] != '"' {
				return
			}
			nameEnd := skipString(raw, i)
			name := raw[i:nameEnd]
			colon := skipSpace(raw, nameEnd)
			start := skipSpace(raw, min(colon+1, len(raw)))
			end := skipValue(raw, start)
			if end == start || !yield(name, raw[start:end:end]) {
				return
			}
			if i = skipSpace(raw, end); i >= len(raw) || raw[i] != ',' {
				return
			}
		}
	}
}

func unquoteName(quoted []byte) []byte {
	if len(quoted) < 2 {
		return nil
	}
	if bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return quoted[1 : len(quoted)-1]
	}
	name, _ := jsontext.AppendUnquote(nil, quoted)
	return name
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the offset after the string that begins at i.
func skipString(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// skipValue returns the offset after the value that begins at i.
func skipValue(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of the enclosing object: a scalar ended here
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}
