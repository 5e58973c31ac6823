package acp

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A reader decodes the next value of dec into p. It consumes exactly that value. If the value does not fit, it leaves p unchanged
// and returns a *jsonx.DecodeError, so that an object can drop a forgiving member and continue. Any other error is about the JSON
// itself and ends the message.
type reader[T any] func(dec *jsonx.Decoder, p *T) error

// misfit returns err if it only reports that one value has the wrong type, and nil otherwise.
func misfit(err error) *jsonx.DecodeError {
	if e, ok := err.(*jsonx.DecodeError); ok && !e.Syntax { //nolint:errorlint // readers return it unwrapped
		return e
	}
	return nil
}

// mismatch skips a value of the given kind and returns an error that says that the value is not a want.
func mismatch(dec *jsonx.Decoder, kind jsonx.Kind, want string) error {
	if err := dec.SkipValue(); err != nil {
		return err
	}
	return jsonx.Mismatch(dec, kind, want)
}

func readString[T ~string](dec *jsonx.Decoder, p *T) error {
	if kind := dec.PeekKind(); kind != '"' {
		return mismatch(dec, kind, "string")
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	*p = T(tok.String())
	return nil
}

func readBool(dec *jsonx.Decoder, p *bool) error {
	kind := dec.PeekKind()
	if kind != 't' && kind != 'f' {
		return mismatch(dec, kind, "boolean")
	}
	if err := dec.SkipValue(); err != nil {
		return err
	}
	*p = kind == 't'
	return nil
}

func readFloat(dec *jsonx.Decoder, p *float64) error {
	if kind := dec.PeekKind(); kind != '0' {
		return mismatch(dec, kind, "number")
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return jsonx.Invalid(dec, "the number is out of range")
	}
	*p = f
	return nil
}

func readInt[T ~int | ~int64](dec *jsonx.Decoder, p *T) error {
	if kind := dec.PeekKind(); kind != '0' {
		return mismatch(dec, kind, "integer")
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	n, ok := wholeNumber(raw)
	if !ok || int64(T(n)) != n {
		return jsonx.Invalid(dec, "a number does not fit integer")
	}
	*p = T(n)
	return nil
}

// readCount reads an integer that is zero or more.
func readCount[T ~int | ~int64](dec *jsonx.Decoder, p *T) error {
	var n T
	if err := readInt(dec, &n); err != nil {
		return err
	}
	if n < 0 {
		return jsonx.Invalid(dec, "the number must not be negative")
	}
	*p = n
	return nil
}

// wholeNumber parses an integer in any notation, such as 2.0 or 1e3. A number above the range of int64 becomes its maximum: peers
// send the maximum of uint64 for "no limit".
func wholeNumber(raw []byte) (int64, bool) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil || f != math.Trunc(f) || f < math.MinInt64:
		return 0, false
	case f >= math.MaxInt64:
		return math.MaxInt64, true
	}
	return int64(f), true
}

// readVersion reads a protocol version. It accepts any value: an unknown version gets an answer, and the oldest clients sent a
// string.
func readVersion(dec *jsonx.Decoder, p *ProtocolVersion) error {
	switch kind := dec.PeekKind(); kind {
	case '"':
		*p = 0
		return dec.SkipValue()
	case '0':
		var n int64
		if err := readInt(dec, &n); err != nil {
			return err
		}
		*p = ProtocolVersion(min(max(n, 0), math.MaxUint16))
		return nil
	default:
		return mismatch(dec, kind, "integer")
	}
}

// readAny reads any value unchanged.
func readAny(dec *jsonx.Decoder, p *jsonx.Raw) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*p = bytes.Clone(raw)
	return nil
}

// readRawObject reads an object unchanged.
func readRawObject(dec *jsonx.Decoder, p *jsonx.Raw) error {
	if kind := dec.PeekKind(); kind != '{' {
		return mismatch(dec, kind, "object")
	}
	return readAny(dec, p)
}

// readNullAsZero reads null as the zero value of T, by leaving p unchanged.
func readNullAsZero[T any](dec *jsonx.Decoder, p *T, read reader[T]) error {
	if dec.PeekKind() == 'n' {
		return dec.SkipValue()
	}
	return read(dec, p)
}

func readPointer[T any](dec *jsonx.Decoder, p **T, read reader[T]) error {
	if dec.PeekKind() == 'n' {
		return dec.SkipValue()
	}
	v := new(T)
	if err := read(dec, v); err != nil {
		return err
	}
	*p = v
	return nil
}

func readNullable[T any](dec *jsonx.Decoder, p *Nullable[T], read reader[T]) error {
	if dec.PeekKind() == 'n' {
		*p = Null[T]()
		return dec.SkipValue()
	}
	var v T
	if err := read(dec, &v); err != nil {
		return err
	}
	*p = Value(v)
	return nil
}

// list returns the reader of an array whose items must all fit.
func list[T any](read reader[T]) reader[[]T] {
	return func(dec *jsonx.Decoder, p *[]T) error { return readItems(dec, p, read, false) }
}

// forgivingList returns the reader of an array that drops items that do not fit.
func forgivingList[T any](read reader[T]) reader[[]T] {
	return func(dec *jsonx.Decoder, p *[]T) error { return readItems(dec, p, read, true) }
}

func readItems[T any](dec *jsonx.Decoder, p *[]T, read reader[T], forgiving bool) error {
	if kind := dec.PeekKind(); kind != '[' {
		return mismatch(dec, kind, "array")
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	items := []T{}
	var first error
	for dec.PeekKind() != ']' {
		var item T
		switch err := read(dec, &item); {
		case err == nil:
			items = append(items, item)
		case misfit(err) == nil:
			return err
		case !forgiving && first == nil:
			first = err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	if first != nil {
		return first
	}
	*p = items
	return nil
}

// dict returns the reader of an object whose member names are data.
func dict[T any](read reader[T]) reader[map[string]T] {
	return func(dec *jsonx.Decoder, p *map[string]T) error {
		if kind := dec.PeekKind(); kind != '{' {
			return mismatch(dec, kind, "object")
		}
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		items := map[string]T{}
		var first error
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return err
			}
			key := name.String()
			var item T
			switch err := read(dec, &item); {
			case err == nil:
				items[key] = item
			case misfit(err) == nil:
				return err
			case first == nil:
				first = err
			}
		}
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		if first != nil {
			return first
		}
		*p = items
		return nil
	}
}

func readMeta(dec *jsonx.Decoder, p *Meta) error {
	return dict(readAny)(dec, (*map[string]jsonx.Raw)(p))
}

// A decoder is a pointer to one of this package's objects.
type decoder[T any] interface {
	*T
	UnmarshalJSONFrom(dec *jsonx.Decoder) error
}

func readObject[T any, P decoder[T]](dec *jsonx.Decoder, p *T) error {
	var v T
	if err := P(&v).UnmarshalJSONFrom(dec); err != nil {
		return err
	}
	*p = v
	return nil
}

// readVariant reads a whole value and calls decode, which chooses the type by its content.
func readVariant[T any](dec *jsonx.Decoder, p *T, decode func(raw jsonx.Raw) (T, error)) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	v, err := decode(raw)
	if err != nil {
		return jsonx.Within(string(dec.StackPointer()), err)
	}
	*p = v
	return nil
}

// decodeVariant decodes raw into a new T, which is a variant of the union U.
func decodeVariant[T any, P decoder[T]](raw jsonx.Raw) (P, error) {
	v := P(new(T))
	if err := jsonx.Unmarshal(raw, v); err != nil {
		return nil, err
	}
	return v, nil
}

// discriminator returns the string member of raw that names its variant, and "" if there is none.
func discriminator(raw jsonx.Raw, name string) (string, error) {
	if kind := raw.Kind(); kind != '{' {
		return "", jsonx.NewMismatch("", kind, "object")
	}
	value := jsonx.Lookup(raw, name)
	if value == nil || value.Kind() == 'n' {
		return "", nil
	}
	var s string
	if value.Kind() != '"' {
		return "", jsonx.NewMismatch("/"+name, value.Kind(), "string")
	}
	if err := jsonx.Unmarshal(value, &s); err != nil {
		return "", err
	}
	return s, nil
}

func missing(name string) error {
	return &jsonx.DecodeError{Pointer: "/" + name, Reason: "missing member"}
}

// without returns the object raw without the named members.
func without(raw jsonx.Raw, names ...string) jsonx.Raw {
	out := []byte{'{'}
	for name, value := range jsonx.Members(raw) {
		if slices.Contains(names, name) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = jsonx.AppendString(out, name)
		out = append(out, ':')
		out = append(out, value...)
	}
	return append(out, '}')
}
