// Package frame cuts a byte stream into messages and back: newline-delimited ([Lines], ACP and MCP) and
// Content-Length ([Headers], LSP and DAP). It knows nothing of what is inside a message.
package frame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// DefaultMaxSize is the inbound cap of a message where none is given: 64 MiB.
const DefaultMaxSize = 64 << 20

// Framing is a way to put messages on a stream.
type Framing interface {
	// NewReader returns a reader of r's messages. Messages over max bytes are skipped; if max is zero,
	// [DefaultMaxSize] holds.
	NewReader(r io.Reader, max int) Reader
	// Append appends msg, framed, to dst.
	Append(dst, msg []byte) []byte
	// String names the framing.
	String() string
}

// Reader reads framed messages. It is for one goroutine.
type Reader interface {
	// Read returns the next message. The bytes are valid until the next Read.
	//
	// A [*TooLongError] or [*HeaderError] concerns one message, which has been skipped; the next Read goes on
	// behind it. Any other error ends the stream: [io.EOF] between two messages, [io.ErrUnexpectedEOF] inside one.
	Read() ([]byte, error)
}

// A TooLongError is a message over the cap. It was read past and dropped.
type TooLongError struct {
	// Size is the size of the message in bytes.
	Size int64
	Max  int
	// Head and Tail are the first and the last bytes of the message, at most 4 KiB each. They overlap in a message that
	// is not longer than both.
	Head, Tail []byte
}

// keepEnds bounds the Head and the Tail of a [TooLongError].
const keepEnds = 4 << 10

// head returns a copy of the first bytes of a message.
func head(msg []byte) []byte { return bytes.Clone(msg[:min(len(msg), keepEnds)]) }

// appendTail appends more of a message to the last bytes of what came before, and drops what is no longer among them.
func appendTail(tail, more []byte) []byte {
	more = more[max(len(more)-keepEnds, 0):]
	if excess := len(tail) + len(more) - keepEnds; excess > 0 {
		tail = append(tail[:0], tail[excess:]...)
	}
	return append(tail, more...)
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("message of %d bytes is over the limit of %d", e.Size, e.Max)
}

// A HeaderError is a header block that cannot be used, for example one without Content-Length.
type HeaderError struct{ Reason string }

func (e *HeaderError) Error() string { return "message header: " + e.Reason }

// Recoverable reports whether the stream goes on behind err.
func Recoverable(err error) bool {
	if _, ok := errors.AsType[*TooLongError](err); ok {
		return true
	}
	_, ok := errors.AsType[*HeaderError](err)
	return ok
}
