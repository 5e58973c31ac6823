package wire

import (
	"bytes"
	"errors"
	"io"
)

var errLineTooLong = errors.New("a line of the stream is too long")

// bom precedes the body of some servers' responses.
var bom = []byte("\uFEFF")

// readLine returns a line without its line ending: a line feed, a carriage return, or both. It may return the last line of a body
// together with [io.EOF]. The line is valid until the next read.
func (s *Stream) readLine() ([]byte, error) {
	s.line = s.line[:0]
	seen := 0 // bytes of the buffer without a line end
	for {
		buf, _ := s.read.Peek(s.read.Buffered())
		if s.cr && len(buf) > 0 {
			s.cr = false
			if buf[0] == '\n' { // the previous line ended with a carriage return and this line feed
				s.skip(1)
				continue
			}
		}
		if i := lineEnd(buf[seen:]); i >= 0 {
			end := seen + i
			next := end + 1
			if buf[end] == '\r' {
				s.cr = next == len(buf)
				if !s.cr && buf[next] == '\n' {
					next++
				}
			}
			s.skip(next)
			if len(s.line) == 0 {
				return buf[:end], nil
			}
			s.line = append(s.line, buf[:end]...)
			return s.line, nil
		}
		if seen = len(buf); seen == s.read.Size() {
			if len(s.line)+seen > maxEvent {
				return nil, errLineTooLong
			}
			s.line = append(s.line, buf...)
			s.skip(seen)
			seen = 0
		}
		if _, err := s.read.Peek(seen + 1); err != nil {
			buf, _ = s.read.Peek(s.read.Buffered())
			s.skip(len(buf))
			if len(s.line) == 0 {
				return buf, err
			}
			s.line = append(s.line, buf...)
			return s.line, err
		}
	}
}

// lineEnd returns the index of the end of the first line of b, or -1.
func lineEnd(b []byte) int {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if cr := bytes.IndexByte(b[:end], '\r'); cr >= 0 {
		return cr
	}
	return end
}

// skip discards n bytes of the buffer.
func (s *Stream) skip(n int) { _, _ = s.read.Discard(n) }

// start returns the beginning of the body without white space and byte order mark: at least one byte, or none if only white
// space has arrived. It waits for the first byte.
func (s *Stream) start() []byte {
	if _, err := s.read.Peek(1); err != nil {
		return nil // the next read returns the error
	}
	buf, _ := s.read.Peek(s.read.Buffered())
	if !s.opened {
		s.opened = true
		if buf[0] == bom[0] {
			if begin, _ := s.read.Peek(len(bom)); bytes.Equal(begin, bom) {
				s.skip(len(bom))
				return s.start()
			}
		}
	}
	return bytes.TrimLeft(buf, " \t\r\n")
}

// begin determines the kind of the body from its first bytes, whatever its content type. It returns an error if the body is not an
// answer of a model.
func (s *Stream) begin() error {
	start := s.start()
	if len(start) == 0 {
		return nil
	}
	s.begun = true
	switch start[0] {
	case '<':
		return s.refuse(webPage)
	case 0x1f:
		return s.refuse(compressed, "gzip")
	case '{', '[':
		s.whole = true
	}
	return nil
}

// All returns the whole body. Its errors are those of [Stream.Next], except [io.EOF].
func (s *Stream) All() ([]byte, error) {
	s.ended = true
	data, err := io.ReadAll(io.LimitReader(s.read, maxEvent))
	if err != nil {
		return nil, s.fail(err)
	}
	return data, nil
}
