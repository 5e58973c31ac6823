// Package jsonx is the one JSON seam of the wire paths: every message that enters or leaves the process is
// decoded and encoded here, so that the rules below hold everywhere and the engine can change in one place.
//
//   - Member names match exactly: "sessionid" is not "sessionId".
//   - A duplicate member name is an error, so no second spelling of a value can hide behind the first.
//   - A nil slice encodes as [] and a nil map as {}, never as null.
//   - Output is one line and leaves <, > and & alone.
//   - Bytes that are not UTF-8 become U+FFFD: refusing them would cost a whole message.
package jsonx

import (
	"bytes"
	"errors"
	"fmt"
	"io"

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
	// Reason is what is wrong there, in one clause.
	Reason string
	err    error
}

func (e *DecodeError) Error() string {
	if e.Pointer == "" {
		return e.Reason
	}
	return e.Pointer + ": " + e.Reason
}

func (e *DecodeError) Unwrap() error { return e.err }

// Marshal encodes v as one line of JSON.
func Marshal(v any, opts ...Options) ([]byte, error) {
	if len(opts) == 0 {
		return json.Marshal(v, encodeOptions)
	}
	return json.Marshal(v, json.JoinOptions(append([]Options{encodeOptions}, opts...)...))
}

// Append encodes v behind dst, so that a caller who keeps dst allocates nothing for the output.
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

// AppendString encodes s as a JSON string behind dst.
func AppendString(dst []byte, s string) []byte {
	// AppendQuote fails only on invalid UTF-8, and still appends the replaced text then.
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

func decodeError(err error) error {
	if sem, ok := errors.AsType[*json.SemanticError](err); ok {
		return &DecodeError{Pointer: string(sem.JSONPointer), Reason: semanticReason(sem), err: err}
	}
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		reason := "not valid JSON"
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return &DecodeError{Pointer: string(syn.JSONPointer), Reason: "the member stands twice", err: err}
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			reason = "the JSON ends too early"
		}
		return &DecodeError{
			Pointer: string(syn.JSONPointer), Syntax: true,
			Reason: fmt.Sprintf("%s (byte %d)", reason, syn.ByteOffset), err: err,
		}
	}
	return &DecodeError{Syntax: errors.Is(err, io.EOF), Reason: err.Error(), err: err}
}

func semanticReason(e *json.SemanticError) string {
	if e.Err != nil {
		return e.Err.Error()
	}
	want := "another type"
	if e.GoType != nil {
		want = e.GoType.String()
	}
	kind := "this value"
	switch e.JSONKind {
	case 'n':
		kind = "null"
	case 't', 'f':
		kind = "a boolean"
	case '"':
		kind = "a string"
	case '0':
		kind = "a number"
	case '{':
		kind = "an object"
	case '[':
		kind = "an array"
	}
	return fmt.Sprintf("%s does not fit %s", kind, want)
}
