package jsonx

import (
	"bytes"
	"errors"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

var errNotObject = errors.New("not an object")

// objectReader is a decoder of bytes in memory. It is pooled because every incoming message needs one.
type objectReader struct {
	buf bytes.Buffer
	dec jsontext.Decoder
}

var objectReaders = sync.Pool{New: func() any { return new(objectReader) }}

// ReadObject checks that data is one JSON object and calls fn for each of its members, in order. The value
// aliases data; the name is valid during the call. Its own errors are of type [*DecodeError]; those of fn are returned
// unchanged. It is for bytes from a peer; [Members] is for JSON that has been checked.
func ReadObject(data []byte, fn func(name []byte, value Raw) error) error {
	r := objectReaders.Get().(*objectReader)
	defer func() {
		r.buf = bytes.Buffer{} // release data
		objectReaders.Put(r)
	}()
	r.buf = *bytes.NewBuffer(data)
	r.dec.Reset(&r.buf, jsontext.AllowInvalidUTF8(true))
	dec := &r.dec
	if dec.PeekKind() != '{' {
		value := Raw(data).Clone()
		if err := value.Compact(jsontext.AllowInvalidUTF8(true)); err != nil {
			return decodeError(err)
		}
		return &DecodeError{Reason: "not an object", err: errNotObject}
	}
	if _, err := dec.ReadToken(); err != nil {
		return decodeError(err)
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return decodeError(err)
		}
		key := []byte(name)
		if len(name) >= 2 && name[0] == '"' {
			key = name[1 : len(name)-1]
			if bytes.IndexByte(key, '\\') >= 0 {
				if key, err = jsontext.AppendUnquote(nil, name); err != nil {
					return decodeError(err)
				}
			}
		}
		value, err := dec.ReadValue()
		if err != nil {
			return decodeError(err)
		}
		if err := fn(key, value); err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return decodeError(err)
	}
	rest := data[min(int(dec.InputOffset()), len(data)):]
	if len(bytes.TrimSpace(rest)) > 0 {
		return &DecodeError{Syntax: true, Reason: "unexpected text after the JSON value"}
	}
	return nil
}
