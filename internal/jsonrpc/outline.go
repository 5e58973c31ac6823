package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// outline describes a message that cannot be decoded: its kind and its ID.
type outline struct {
	id ID
	// request reports whether the message has a member that occurs only in requests and notifications; answer is the same for
	// responses.
	request, answer bool
	// torn reports whether the ID is in doubt.
	torn bool
}

// outlineOf parses the outer members of a message from its first and last bytes, or from the whole message if tail is nil. It stops at
// the first invalid byte.
func outlineOf(head, tail []byte) outline {
	var o outline
	for name, value := range jsonx.Members(jsonx.Raw(head)) {
		if &value[len(value)-1] == &head[len(head)-1] {
			value = nil // it continues after the kept bytes
		}
		o.member(name, value)
	}
	o.readTail(tail)
	return o
}

// readTail parses members backwards from the end of a message, as long as their values are strings, numbers or literals. Members directly
// before the last brace belong to the outermost object.
func (o *outline) readTail(b []byte) {
	b, ok := bytes.CutSuffix(bytes.TrimSpace(b), []byte("}"))
	for ok {
		b = bytes.TrimSpace(b)
		start := scalarStart(b)
		value := b[start:]
		colon, isMember := bytes.CutSuffix(bytes.TrimSpace(b[:start]), []byte(":"))
		colon = bytes.TrimSpace(colon)
		nameStart := scalarStart(colon)
		if !isMember || len(value) == 0 || nameStart == len(colon) || colon[nameStart] != '"' {
			return
		}
		var name string
		if jsonx.Unmarshal(colon[nameStart:], &name) != nil {
			return
		}
		o.member(name, value)
		b, ok = bytes.CutSuffix(bytes.TrimSpace(colon[:nameStart]), []byte(","))
	}
}

// scalarStart returns the offset of the string, number or literal at the end of b; len(b) if there is none.
func scalarStart(b []byte) int {
	if !bytes.HasSuffix(b, []byte(`"`)) {
		return bytes.LastIndexAny(b, " \t\r\n:,{}[]\"") + 1
	}
	for i := len(b) - 2; i >= 0; i-- {
		if b[i] != '"' {
			continue
		}
		if before := bytes.TrimRight(b[:i], `\`); (i-len(before))%2 == 0 {
			return i
		}
	}
	return len(b)
}

// member records an outer member. The value is nil if it cannot be parsed.
func (o *outline) member(name string, value jsonx.Raw) {
	switch name {
	case "method", "params":
		o.request = true
	case "result", "error":
		o.answer = true
	case "id":
		var id ID
		if value == nil || !jsonx.Valid(value) || id.UnmarshalJSON(value) != nil || o.id.isValid() && o.id.key() != id.key() {
			o.torn = true
			return
		}
		o.id = id
	}
}

// brokenAnswer returns the error for an invalid message if it is a response, otherwise nil.
func brokenAnswer(o outline, err error) *inboundError {
	switch {
	case o.request || !o.answer:
		return nil
	case o.torn || !o.id.isValid():
		return &inboundError{err: fmt.Errorf("a response without a usable id: %w", err), dropped: true}
	}
	return &inboundError{id: o.id, err: err, answer: &response{id: o.id, broken: err}}
}

// skipped returns the error for a message that the framing has skipped.
func skipped(err error) *inboundError {
	refused := &inboundError{err: fmt.Errorf("%w: %w", ErrInvalidRequest, err)}
	long, ok := errors.AsType[*frame.TooLongError](err)
	if !ok {
		return refused
	}
	o := outlineOf(long.Head, long.Tail)
	if bad := brokenAnswer(o, long); bad != nil {
		return bad
	}
	if o.torn || !o.id.isValid() {
		return refused
	}
	refused.id = o.id
	if !o.request {
		// The kept bytes contain neither.
		refused.answer, refused.unsure = &response{id: o.id, broken: long}, true
	}
	return refused
}
