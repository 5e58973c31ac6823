// Package jsonx decodes and encodes every JSON message that enters or leaves the process, so that the rules below hold
// everywhere and the JSON library can be changed in one place.
//
//   - Member names match exactly: "sessionid" is not "sessionId".
//   - A duplicate member name is an error, so that two programs cannot read different values from one message.
//   - A nil slice encodes as [] and a nil map as {}, never as null.
//   - Output is one line and does not escape <, > and &.
//   - Bytes that are not UTF-8 become U+FFFD: an error would lose the whole message.
package jsonx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Raw is one JSON value in its encoded form. The nil Raw stands for a value that is absent.
type Raw = jsontext.Value

// Options adjusts one Marshal or Unmarshal, for example [WithUnmarshalers].
type Options = json.Options

var decodeOptions = json.JoinOptions(jsontext.AllowInvalidUTF8(true))

var encodeOptions = json.JoinOptions(jsontext.AllowInvalidUTF8(true), json.Deterministic(true))

// A DecodeError says where in a JSON value decoding failed. Its text is meant for the peer that sent the value.
type DecodeError struct {
	// Pointer is the JSON Pointer (RFC 6901) of the member at fault; empty for the whole value.
	Pointer string
	// Syntax reports that the bytes are not JSON, as opposed to JSON of the wrong shape.
	Syntax bool
	// Reason describes the fault, in one clause.
	Reason string
	err    error
	// placed reports whether Pointer is already relative to the root of the running decoder, so that nothing is prepended to it
	// when the error is returned to a caller.
	placed bool
}

func (e *DecodeError) Error() string {
	if e.Pointer == "" {
		return e.Reason
	}
	p := e.Pointer
	if len(p) > maxPointer {
		// A long pointer into a deeply nested value is of no use.
		p = strings.ToValidUTF8(p[:maxPointer], "") + "…"
	}
	return p + ": " + e.Reason
}

// maxPointer limits the pointer in the text of an error, in bytes.
const maxPointer = 200

func (e *DecodeError) Unwrap() error { return e.err }

// Marshal encodes v as one line of JSON.
func Marshal(v any, opts ...Options) ([]byte, error) {
	if len(opts) == 0 {
		return json.Marshal(v, encodeOptions)
	}
	return json.Marshal(v, json.JoinOptions(append([]Options{encodeOptions}, opts...)...))
}

// Append appends the encoded v to dst, so that a caller that reuses dst allocates nothing for the output.
func Append(dst []byte, v any, opts ...Options) ([]byte, error) {
	w := bytes.NewBuffer(dst)
	o := encodeOptions
	if len(opts) > 0 {
		o = json.JoinOptions(append([]Options{encodeOptions}, opts...)...)
	}
	if err := json.MarshalWrite(w, v, o); err != nil {
		return dst, err
	}
	return w.Bytes(), nil
}

// AppendString appends s to dst as a JSON string.
func AppendString(dst []byte, s string) []byte {
	// AppendQuote fails only on invalid UTF-8, and appends the text with replacements even then.
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// Unmarshal decodes the one JSON value in data into v. Its errors are of type [*DecodeError].
func Unmarshal(data []byte, v any, opts ...Options) error {
	o := decodeOptions
	if len(opts) > 0 {
		o = json.JoinOptions(append([]Options{decodeOptions}, opts...)...)
	}
	if err := json.Unmarshal(data, v, o); err != nil {
		return decodeError(err)
	}
	return nil
}

// Valid reports whether data is exactly one JSON value.
func Valid(data []byte) bool {
	return Raw(data).IsValid(jsontext.AllowInvalidUTF8(true))
}

// Truncated reports whether data is an incomplete JSON value.
func Truncated(data []byte) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return errors.Is(dec.SkipValue(), io.ErrUnexpectedEOF)
}

// Mismatch reports that the value dec read last, of the given kind, is not a want ("string", "object"). It is for
// custom unmarshalers, which must have read or skipped the whole value.
func Mismatch(dec *Decoder, kind Kind, want string) *DecodeError {
	return Invalid(dec, kindName(kind)+" does not fit "+want)
}

// NewMismatch is [Mismatch] for a value that was found at pointer without a decoder.
func NewMismatch(pointer string, kind Kind, want string) *DecodeError {
	return &DecodeError{Pointer: pointer, Reason: kindName(kind) + " does not fit " + want}
}

// Invalid reports that the value dec read last is not acceptable, for the given reason.
func Invalid(dec *Decoder, reason string) *DecodeError {
	return &DecodeError{Pointer: string(dec.StackPointer()), Reason: reason, placed: true}
}

// Within returns err as a [*DecodeError] with pointer prepended to its own. pointer is the position of the decoded value in the
// value that contains it. A custom unmarshaler that passes part of its value to [Unmarshal] calls Within with the decoder's
// StackPointer.
func Within(pointer string, err error) *DecodeError {
	inner, ok := errors.AsType[*DecodeError](err)
	if !ok {
		return &DecodeError{Pointer: pointer, Reason: err.Error(), err: err, placed: true}
	}
	outer := *inner
	outer.Pointer, outer.placed = pointer+inner.Pointer, true
	return &outer
}

func decodeError(err error) error {
	if own, ok := errors.AsType[*DecodeError](err); ok {
		// From a custom unmarshaler. Its pointer is complete, or relative to the value that the unmarshaler was given.
		found := *own
		if sem, ok := errors.AsType[*json.SemanticError](err); ok && !own.placed {
			found.Pointer = string(sem.JSONPointer) + own.Pointer
		}
		found.placed = false
		return &found
	}
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		reason := "not valid JSON"
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return &DecodeError{Pointer: string(syn.JSONPointer), Reason: "duplicate member", err: err}
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			reason = "the JSON ends unexpectedly"
		}
		return &DecodeError{
			Pointer: string(syn.JSONPointer), Syntax: true,
			Reason: fmt.Sprintf("%s (byte %d)", reason, syn.ByteOffset), err: err,
		}
	}
	if sem, ok := errors.AsType[*json.SemanticError](err); ok {
		return &DecodeError{Pointer: string(sem.JSONPointer), Reason: semanticReason(sem), err: err}
	}
	return &DecodeError{Syntax: errors.Is(err, io.EOF), Reason: err.Error(), err: err}
}

func semanticReason(e *json.SemanticError) string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return kindName(e.JSONKind) + " does not fit " + typeName(e.GoType)
}

// typeName returns the name that JSON Schema has for the values of a type.
func typeName(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return "another type"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Map, reflect.Struct:
		return "object"
	default:
		return "another type"
	}
}

func kindName(kind Kind) string {
	switch kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "this value"
}
