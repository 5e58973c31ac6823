package acp

import (
	"encoding/json"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Nullable is a member with three states: omitted (the zero value), null, and a value. The protocol uses it in updates,
// where an omitted member leaves the value unchanged and null clears it.
type Nullable[T any] struct {
	value T
	state nullState
}

type nullState uint8

const (
	omitted nullState = iota
	null
	present
)

// Value returns a Nullable that holds v.
func Value[T any](v T) Nullable[T] { return Nullable[T]{value: v, state: present} }

// Null returns a Nullable that is null.
func Null[T any]() Nullable[T] { return Nullable[T]{state: null} }

// Get returns the value, and reports whether there is one.
func (n Nullable[T]) Get() (T, bool) { return n.value, n.state == present }

// Or returns the value, or other if there is none.
func (n Nullable[T]) Or(other T) T {
	if n.state == present {
		return n.value
	}
	return other
}

// IsNull reports whether n is null, as opposed to omitted.
func (n Nullable[T]) IsNull() bool { return n.state == null }

// IsZero reports whether n is omitted.
func (n Nullable[T]) IsZero() bool { return n.state == omitted }

// Equal reports whether both are in the same state and their values have the same JSON. go-cmp uses it.
func (n Nullable[T]) Equal(other Nullable[T]) bool {
	if n.state != other.state {
		return false
	}
	if n.state != present {
		return true
	}
	a, errA := n.MarshalJSON()
	b, errB := other.MarshalJSON()
	return errA == nil && errB == nil && string(a) == string(b)
}

// MarshalJSON writes the value, or null if there is none. Only the enclosing object can omit it.
func (n Nullable[T]) MarshalJSON() ([]byte, error) {
	if n.state != present {
		return []byte("null"), nil
	}
	return jsonx.Marshal(n.value)
}

// UnmarshalJSON reads a value or null. It cannot read a union; the types of this package with a Nullable union read it
// themselves.
func (n *Nullable[T]) UnmarshalJSON(data []byte) error {
	if jsonx.IsNull(data) {
		*n = Null[T]()
		return nil
	}
	var v T
	if err := jsonx.Unmarshal(data, &v); err != nil {
		return err
	}
	*n = Value(v)
	return nil
}

var (
	_ json.Marshaler   = Nullable[string]{}
	_ json.Unmarshaler = (*Nullable[string])(nil)
)
