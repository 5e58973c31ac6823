// Package frame splits a byte stream into messages: newline-delimited ([Lines], for ACP and MCP) and with Content-Length ([Headers], for
// LSP and DAP). It does not parse the messages.
package frame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// defaultMaxSize is the default limit of an inbound message: 64 MiB.
const defaultMaxSize = 64 << 20

// Framing is a way to send messages over a stream.
type Framing interface {
	// NewReader returns a reader of the messages in r. It skips messages over max bytes; zero means [defaultMaxSize].
	NewReader(r io.Reader, max int) Reader
	// Append appends msg, framed, to dst.
	Append(dst, msg []byte) []byte
	// String returns the name of the framing.
	String() string
}

// Reader reads framed messages. It is not safe for concurrent use.
type Reader interface {
	// Read returns the next message. The bytes are valid until the next Read.
	//
	// After a [*TooLongError] or [*headerError], one message was skipped and the next Read continues after it. Any
	// other error ends the stream: [io.EOF] between two messages, [io.ErrUnexpectedEOF] inside one.
	Read() ([]byte, error)
}

// A TooLongError is the error for a message over the limit, which was skipped.
type TooLongError struct {
	// Size is the size of the message in bytes.
	Size int64
	Max  int
	// Head and Tail are the first and the last bytes of the message, at most 4 KiB each. They overlap if the message
	// is shorter than both.
	Head, Tail []byte
}

// keepEnds bounds the Head and the Tail of a [TooLongError].
const keepEnds = 4 << 10

// head returns a copy of the first bytes of a message.
func head(msg []byte) []byte { return bytes.Clone(msg[:min(len(msg), keepEnds)]) }

// appendTail appends more of a message to its tail, and drops bytes over the limit from the start.
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

// A headerError is the error for an invalid header block, for example one without Content-Length.
type headerError struct{ Reason string }

func (e *headerError) Error() string { return "message header: " + e.Reason }

// Recoverable reports whether the next Read after err can succeed.
func Recoverable(err error) bool {
	if _, ok := errors.AsType[*TooLongError](err); ok {
		return true
	}
	_, ok := errors.AsType[*headerError](err)
	return ok
}
