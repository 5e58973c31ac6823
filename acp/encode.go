package acp

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A writer writes one JSON value in parts, and keeps the first error.
type writer struct {
	enc *jsonx.Encoder
	err error
}

func (w *writer) token(t jsonx.Token) {
	if w.err == nil {
		w.err = w.enc.WriteToken(t)
	}
}

func (w *writer) begin()           { w.token(jsonx.BeginObject) }
func (w *writer) end()             { w.token(jsonx.EndObject) }
func (w *writer) name(name string) { w.token(jsonx.String(name)) }

func (w *writer) tag(name, value string) {
	w.name(name)
	w.token(jsonx.String(value))
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// A putter writes v as one JSON value.
type putter[T any] func(w *writer, v T)

func putString[T ~string](w *writer, v T)    { w.token(jsonx.String(string(v))) }
func putInt[T ~int | ~int64](w *writer, v T) { w.token(jsonx.Int(int64(v))) }
func putFloat(w *writer, v float64)          { w.token(jsonx.Float(v)) }
func putBool(w *writer, v bool)              { w.token(jsonx.Bool(v)) }
func putMeta(w *writer, v Meta)              { putDict(w, v, putAny) }
func putPointer[T any](w *writer, v *T, put putter[T]) {
	if v == nil {
		w.token(jsonx.Null)
		return
	}
	put(w, *v)
}

// putAny writes a raw value. It writes the nil Raw as null.
func putAny(w *writer, v jsonx.Raw) {
	if v == nil {
		w.token(jsonx.Null)
		return
	}
	if w.err == nil {
		w.err = w.enc.WriteValue(v)
	}
}

func putNullable[T any](w *writer, v Nullable[T], put putter[T]) {
	if v.state != present {
		w.token(jsonx.Null)
		return
	}
	put(w, v.value)
}

// items returns the putter of an array.
func items[T any](put putter[T]) putter[[]T] {
	return func(w *writer, v []T) { putItems(w, v, put) }
}

func putItems[T any](w *writer, v []T, put putter[T]) {
	w.token(jsonx.BeginArray)
	for i := range v {
		put(w, v[i])
	}
	w.token(jsonx.EndArray)
}

// putDict writes members in the order of their names.
func putDict[T any, M ~map[string]T](w *writer, v M, put putter[T]) {
	w.begin()
	for _, name := range slices.Sorted(maps.Keys(v)) {
		w.name(name)
		put(w, v[name])
	}
	w.end()
}

// A fielder is a pointer to one of this package's objects.
type fielder[T any] interface {
	*T
	fields(w *writer)
}

// putObject writes an object without a discriminator, even if T is a variant of a union elsewhere.
func putObject[T any, P fielder[T]](w *writer, v T) {
	w.begin()
	P(&v).fields(w)
	w.end()
}

// A variant is a variant of a union that is written as a separate value.
type variant interface{ put(w *writer) }

func putVariant[T variant](w *writer, v T) {
	if any(v) == nil {
		w.fail(fmt.Errorf("%v must not be nil", reflect.TypeFor[T]()))
		return
	}
	v.put(w)
}

// An inlineVariant is a variant of a union whose members are written among those of the enclosing object.
type inlineVariant interface{ members(w *writer) }

func putMembers[T inlineVariant](w *writer, v T) {
	if any(v) == nil {
		w.fail(fmt.Errorf("%v must not be nil", reflect.TypeFor[T]()))
		return
	}
	v.members(w)
}

// putRawMembers writes the members of a raw object.
func putRawMembers(w *writer, raw jsonx.Raw) {
	for name, value := range jsonx.Members(raw) {
		w.name(name)
		putAny(w, value)
	}
}

// encodeTo writes a value with its put method.
func encodeTo(enc *jsonx.Encoder, v variant) error {
	w := writer{enc: enc}
	v.put(&w)
	return w.err
}
