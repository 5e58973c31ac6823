package frame

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Headers is the base protocol of LSP and DAP: header lines with Content-Length, a blank line, and the message. Other headers are ignored.
// Lines that are not headers are skipped, because some servers print a banner or a warning first.
var Headers = HeadersAndStray(func([]byte) {})

// HeadersAndStray is [Headers] that passes what it skips to stray, line by line. Blank lines are not passed.
func HeadersAndStray(stray func(line []byte)) Framing {
	return &headers{func(line []byte) {
		if len(bytes.TrimSpace(line)) > 0 {
			stray(line)
		}
	}}
}

type headers struct{ stray func(line []byte) }

func (*headers) String() string { return "headers" }

func (*headers) Append(dst, msg []byte) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(msg)), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, msg...)
}

func (f *headers) NewReader(r io.Reader, max int) Reader {
	if max <= 0 {
		max = defaultMaxSize
	}
	return &headerReader{headers: f, r: bufio.NewReaderSize(r, 64<<10), max: max}
}

type headerReader struct {
	*headers
	r   *bufio.Reader
	max int
	buf []byte
}

// maxHeaderLine bounds one header line. A longer line is not a header and is skipped.
const maxHeaderLine = 8 << 10

func (h *headerReader) Read() ([]byte, error) {
	size, err := h.header()
	if err != nil {
		return nil, err
	}
	if size > int64(h.max) {
		return nil, h.skip(size)
	}
	if cap(h.buf) < int(size) || cap(h.buf) > keepBuffer {
		h.buf = make([]byte, 0, size)
	}
	h.buf = h.buf[:size]
	if _, err := io.ReadFull(h.r, h.buf); err != nil {
		return nil, unexpected(err)
	}
	return h.buf, nil
}

// skip skips a message over the limit. The error is a [*TooLongError] unless reading fails.
func (h *headerReader) skip(size int64) error {
	ends := make([]byte, min(size, 2*keepEnds))
	first := ends[:min(size, keepEnds)]
	if _, err := io.ReadFull(h.r, first); err != nil {
		return unexpected(err)
	}
	if _, err := io.CopyN(io.Discard, h.r, size-int64(len(ends))); err != nil {
		return unexpected(err)
	}
	if _, err := io.ReadFull(h.r, ends[len(first):]); err != nil {
		return unexpected(err)
	}
	return &TooLongError{Size: size, Max: h.max, Head: first, Tail: appendTail(nil, ends)}
}

const contentLength = "Content-Length"

// header reads one header block and returns the value of its Content-Length.
func (h *headerReader) header() (int64, error) {
	size, inBlock := int64(-1), false
	var bad error
	for {
		line, err := h.line()
		if err != nil {
			if inBlock {
				return 0, unexpected(err)
			}
			return 0, err
		}
		if len(line) == 0 {
			switch {
			case !inBlock:
				continue // a blank line between messages
			case bad != nil:
				return 0, bad
			case size < 0:
				return 0, &headerError{Reason: "no Content-Length"}
			default:
				return size, nil
			}
		}
		if i := bytes.LastIndex(line, []byte(contentLength+":")); i > 0 && !inBlock { // output without a newline before the header
			if _, err := strconv.ParseUint(string(bytes.TrimSpace(line[i+len(contentLength)+1:])), 10, 63); err == nil {
				h.stray(line[:i])
				line = line[i:]
			}
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if !bytes.EqualFold(name, []byte(contentLength)) {
			// "WARNING: …" looks like a header. Only a block with a known header counts.
			if inBlock = inBlock || bytes.EqualFold(name, []byte("Content-Type")); !inBlock {
				h.stray(line)
			}
			continue
		}
		inBlock = true
		n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		switch {
		case err != nil || n < 0:
			bad = &headerError{Reason: fmt.Sprintf("Content-Length is %.40q", bytes.TrimSpace(value))}
		case size >= 0 && size != n:
			bad = &headerError{Reason: "two different Content-Length headers"}
		default:
			size = n
		}
	}
}

// line returns the next line without its end. A line over maxHeaderLine is truncated.
func (h *headerReader) line() ([]byte, error) {
	line, err := h.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = append([]byte(nil), line[:maxHeaderLine]...)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = h.r.ReadSlice('\n')
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0 {
			h.stray(line)
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
