package jsonx

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decoder reads JSON tokens and values; a custom unmarshaler gets one.
type Decoder = jsontext.Decoder

// Encoder writes JSON tokens and values; a custom marshaler gets one.
type Encoder = jsontext.Encoder

// Kind is the kind of a JSON value, named by its first byte: '{', '[', '"', '0' for every number, 't', 'f', 'n'.
type Kind = jsontext.Kind

// WithUnmarshalers decodes the types of the given functions with those functions, for example fields whose static type
// is an interface.
func WithUnmarshalers(u ...*json.Unmarshalers) Options {
	return json.WithUnmarshalers(json.JoinUnmarshalers(u...))
}

// UnmarshalFunc decodes values of type T from their encoded form. T may be an interface type.
func UnmarshalFunc[T any](fn func(data []byte) (T, error)) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *T) error {
		data, err := dec.ReadValue()
		if err != nil {
			return err
		}
		got, err := fn(data)
		if err != nil {
			return err
		}
		*v = got
		return nil
	})
}

// UnmarshalNext decodes the next value of dec into v, for a custom unmarshaler.
func UnmarshalNext(dec *Decoder, v any) error { return json.UnmarshalDecode(dec, v) }

// IsNull reports whether raw is absent or the JSON null.
func IsNull(raw Raw) bool {
	return len(raw) == 0 || raw.Kind() == 'n'
}
