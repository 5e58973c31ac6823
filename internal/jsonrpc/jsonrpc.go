// Package jsonrpc implements a symmetric JSON-RPC 2.0 connection over any framing (https://www.jsonrpc.org/specification). ACP and
// LSP use it. It does not depend on the methods of a protocol.
package jsonrpc

import (
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Request is an inbound request, or a notification if ID is the zero value.
type Request struct {
	ID     ID
	Method string
	// Params is the parameter object as received; nil if it was absent or null.
	Params jsonx.Raw
}

// IsNotification reports whether the request is a notification.
func (r *Request) IsNotification() bool { return !r.ID.isValid() }

// Code is a JSON-RPC error code.
type Code int64

// The codes of JSON-RPC 2.0, and the cancellation code of LSP and ACP.
const (
	CodeParseError     Code = -32700
	CodeInvalidRequest Code = -32600
	CodeMethodNotFound Code = -32601
	CodeInvalidParams  Code = -32602
	CodeInternalError  Code = -32603
	CodeCancelled      Code = -32800
)

// Error is a JSON-RPC error object. Wrap it with %w to add text and keep its code.
type Error struct {
	Code    Code      `json:"code"`
	Message string    `json:"message"`
	Data    jsonx.Raw `json:"data,omitzero"`
}

func (e *Error) Error() string { return e.Message }

// Is reports whether target is an [*Error] with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t != nil && e != nil && t.Code == e.Code
}

// The standard errors, to be wrapped.
var (
	ErrParse          = &Error{Code: CodeParseError, Message: "parse error"}
	ErrInvalidRequest = &Error{Code: CodeInvalidRequest, Message: "invalid request"}
	ErrMethodNotFound = &Error{Code: CodeMethodNotFound, Message: "method not found"}
	ErrInvalidParams  = &Error{Code: CodeInvalidParams, Message: "invalid params"}
	errInternal       = &Error{Code: CodeInternalError, Message: "internal error"}
)

var (
	// ErrClosed is the cause if this side has closed the connection.
	ErrClosed = errors.New("connection closed")
	// ErrPeerGone is the cause if the peer has closed its side or broken the stream.
	ErrPeerGone = errors.New("peer is gone")
	// ErrPeerCancelled is the cause of a request's context if the peer has cancelled the request.
	ErrPeerCancelled = errors.New("cancelled by the peer")
)

// message is an inbound message. A nil member is absent.
type message struct {
	version, id, method, params, result, err jsonx.Raw
}

func (m *message) set(name []byte, value jsonx.Raw) error {
	switch string(name) {
	case "jsonrpc":
		m.version = value
	case "id":
		m.id = value
	case "method":
		m.method = value
	case "params":
		m.params = value
	case "result":
		m.result = value
	case "error":
		m.err = value
	}
	return nil
}

// inboundError is the error for an invalid inbound message.
type inboundError struct {
	// id is the ID of the message, if it can be decoded.
	id  ID
	err error
	// dropped marks a response without a usable ID. It is not answered and completes no call.
	dropped bool
	// answer, if set, completes the call with the ID. A response is never answered, so the rest of the error
	// counts only if the ID never belonged to this side and unsure is set.
	answer *response
	// unsure marks a message that may be a request or a response.
	unsure bool
}

// decodeMessage decodes a message as a request or a response. The results alias data.
func decodeMessage(data []byte) (*Request, *response, *inboundError) {
	invalid := func(id ID, format string, args ...any) (*Request, *response, *inboundError) {
		return nil, nil, &inboundError{id: id, err: fmt.Errorf("%w: "+format, append([]any{ErrInvalidRequest}, args...)...)}
	}
	var m message
	if err := jsonx.ReadObject(data, m.set); err != nil {
		if bad := brokenAnswer(outlineOf(data, nil), err); bad != nil {
			return nil, nil, bad
		}
		if derr, ok := errors.AsType[*jsonx.DecodeError](err); ok && derr.Syntax {
			return nil, nil, &inboundError{err: fmt.Errorf("%w: %w", ErrParse, err)}
		}
		if data[0] == '[' {
			return invalid(ID{}, "batches are not supported, send one message at a time")
		}
		return invalid(idOfBroken(data, err), "%w", err)
	}
	var id ID
	if m.id != nil {
		if err := id.UnmarshalJSON(m.id); err != nil {
			if m.method == nil && m.answers() {
				return nil, nil, &inboundError{err: fmt.Errorf("a response without a usable id: %w", err), dropped: true}
			}
			return invalid(ID{}, "%w", err)
		}
	}
	if m.method == nil {
		switch {
		case id.isValid():
			// Also without a result and an error: JavaScript omits an undefined result.
			return nil, m.response(id), nil
		case m.answers():
			return nil, nil, &inboundError{err: errors.New("a response without an id"), dropped: true}
		default:
			return invalid(id, "neither a method nor a result nor an error")
		}
	}
	if m.answers() {
		bad := &inboundError{id: id, err: fmt.Errorf("%w: a message has either a method or a result", ErrInvalidRequest), unsure: true}
		if id.isValid() {
			bad.answer = m.response(id)
		}
		return nil, nil, bad
	}
	if string(m.version) != `"2.0"` {
		// Accept a response with any version: a caller waits for it.
		return invalid(id, `"jsonrpc" must be "2.0"`)
	}
	var method string
	if err := jsonx.Unmarshal(m.method, &method); err != nil || method == "" {
		return invalid(id, "the method must be a string that is not empty")
	}
	if jsonx.IsNull(m.params) {
		m.params = nil
	} else if k := m.params.Kind(); k != '{' && k != '[' {
		return invalid(id, "params must be an object")
	}
	return &Request{ID: id, Method: method, Params: m.params}, nil, nil
}

// answers reports whether the message has a member that only a response has.
func (m *message) answers() bool { return m.result != nil || m.err != nil }

// response returns the message as the response to id. Without a result and an error the result is null.
func (m *message) response(id ID) *response {
	resp := &response{id: id, result: m.result}
	switch {
	case !jsonx.IsNull(m.err):
		resp.err = new(Error)
		if err := jsonx.Unmarshal(m.err, resp.err); err != nil {
			resp.err = &Error{Code: CodeInternalError, Message: "the peer sent a malformed error", Data: m.err}
		} else if !jsonx.IsNull(m.result) {
			resp.err = &Error{Code: CodeInternalError, Message: "the peer sent both a result and an error: " + resp.err.Message}
		}
	case m.result == nil:
		resp.result = jsonx.Raw("null")
	}
	return resp
}

// response is an inbound answer to a call.
type response struct {
	id     ID
	result jsonx.Raw
	err    *Error
	// broken is why the answer is invalid. It replaces a result and an error.
	broken error
}

// appendRequest appends the encoding of a request, or of a notification if id is the zero value.
func appendRequest(dst []byte, id ID, method string, params any) ([]byte, error) {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if id.isValid() {
		dst = append(dst, `,"id":`...)
		dst = id.append(dst)
	}
	dst = append(dst, `,"method":`...)
	dst = jsonx.AppendString(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		var err error
		if dst, err = jsonx.Append(dst, params); err != nil {
			return dst, fmt.Errorf("encoding the params of %s: %w", method, err)
		}
	}
	return append(dst, '}'), nil
}

// appendResponse appends the encoding of a response.
func appendResponse(dst []byte, id ID, result any, rerr *Error) ([]byte, error) {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	if id.isValid() {
		dst = id.append(dst)
	} else {
		dst = append(dst, "null"...)
	}
	var err error
	switch {
	case rerr != nil:
		dst = append(dst, `,"error":`...)
		dst, err = jsonx.Append(dst, rerr)
	case result == nil:
		dst = append(dst, `,"result":null`...)
	default:
		dst = append(dst, `,"result":`...)
		dst, err = jsonx.Append(dst, result)
	}
	return append(dst, '}'), err
}

// idOfBroken returns the ID of a request with a duplicate member, because its sender waits for an answer. It returns no ID if the ID
// itself is in doubt, or if the message is not a request.
func idOfBroken(data []byte, err error) (id ID) {
	derr, ok := errors.AsType[*jsonx.DecodeError](err)
	if !ok || derr.Pointer == "/id" || derr.Pointer == "/method" || jsonx.Lookup(data, "method") == nil {
		return ID{}
	}
	raw := jsonx.Lookup(data, "id")
	if raw == nil || id.UnmarshalJSON(raw) != nil {
		return ID{}
	}
	return id
}
