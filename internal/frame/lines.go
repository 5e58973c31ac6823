package frame

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Lines is one message per line. A message must not contain a newline. Blank lines are skipped, and a carriage return before the newline
// is removed.
var Lines Framing = lines{}

type lines struct{}

func (lines) String() string { return "lines" }

func (lines) Append(dst, msg []byte) []byte {
	return append(append(dst, msg...), '\n')
}

func (lines) NewReader(r io.Reader, max int) Reader {
	if max <= 0 {
		max = defaultMaxSize
	}
	return &lineReader{r: bufio.NewReaderSize(r, bufferSize), max: max}
}

// bufferSize is the cost of a reader whose peer is idle. Longer messages have a buffer of their own.
const bufferSize = 8 << 10

type lineReader struct {
	r   *bufio.Reader
	max int
	buf []byte // a line that is longer than r's buffer
}

// keepBuffer is the largest buffer that a reader keeps between two messages, so that one large message does not hold its memory.
const keepBuffer = 1 << 20

func (l *lineReader) Read() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (l *lineReader) line() ([]byte, error) {
	chunk, err := l.r.ReadSlice('\n')
	if err == nil {
		if len(chunk)-1 > l.max {
			line := chunk[:len(chunk)-1]
			return nil, &TooLongError{Size: int64(len(line)), Max: l.max, Head: head(line), Tail: appendTail(nil, line)}
		}
		return chunk, nil
	}
	if cap(l.buf) > keepBuffer {
		l.buf = nil
	}
	l.buf = append(l.buf[:0], chunk...)
	size := int64(len(chunk))
	var tail []byte // of a line over the limit
	for errors.Is(err, bufio.ErrBufferFull) {
		chunk, err = l.r.ReadSlice('\n')
		size += int64(len(chunk))
		if size <= int64(l.max)+1 {
			l.buf = append(l.buf, chunk...)
			continue
		}
		if tail == nil {
			tail = appendTail(nil, l.buf)
		}
		tail = appendTail(tail, chunk)
	}
	switch {
	case err == nil:
		if size-1 > int64(l.max) {
			long := &TooLongError{Size: size - 1, Max: l.max, Head: head(l.buf), Tail: bytes.TrimSuffix(tail, []byte("\n"))}
			l.buf = nil // as large as the limit
			return nil, long
		}
		return l.buf, nil
	case errors.Is(err, io.EOF):
		// A last line without a newline is blank, or its writer died while writing it.
		if size > int64(len(l.buf)) || len(bytes.TrimSpace(l.buf)) > 0 {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, io.EOF
	default:
		return nil, err
	}
}
