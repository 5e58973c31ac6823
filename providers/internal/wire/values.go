package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// NextValue returns the next JSON object of a body that is a sequence of them: one a line, across lines, without separators, or
// as server-sent events. It returns anything else as the line that contains it. The errors are those of [Stream.Next].
func (s *Stream) NextValue() (Event, error) {
	if s.parent.Err() != nil {
		return Event{}, context.Cause(s.parent)
	}
	s.lively = time.Now()
	for {
		if !s.begun {
			if err := s.begin(); err != nil {
				return Event{}, err
			}
			s.whole = false // one value is a sequence too
		}
		framed, err := s.framing()
		if err != nil {
			return Event{}, s.fail(err)
		}
		if framed {
			if s.total > maxStream {
				return Event{}, s.endless()
			}
			if err := s.alive(); err != nil {
				return Event{}, err
			}
			continue
		}
		data, err := s.readValue()
		if err != nil && (len(data) == 0 || !errors.Is(err, io.EOF)) {
			return Event{}, s.fail(err)
		}
		if s.total += len(data) + 1; s.total > maxStream {
			return Event{}, s.endless()
		}
		if err != nil && s.broken(data) {
			return Event{}, s.fail(err)
		}
		if data = bytes.TrimSpace(data); len(data) == 0 || string(data) == endMark {
			continue
		}
		s.spoken = true
		return Event{Data: jsonx.MarkSurrogates(data)}, nil
	}
}

// framing skips what separates values: white space, and the fields of events. It reports whether it has skipped anything.
func (s *Stream) framing() (was bool, err error) {
	first, err := s.read.Peek(1)
	if err != nil {
		return false, err
	}
	switch first[0] {
	case ' ', '\t', '\r', '\n':
		buf, _ := s.read.Peek(s.read.Buffered())
		n := len(buf) - len(bytes.TrimLeft(buf, " \t\r\n"))
		s.skip(n)
		s.total += n
		return true, nil
	case ':', 'e', 'i', 'r', 'd':
	default:
		return false, nil
	}
	for _, field := range []string{":", "event:", "id:", "retry:", "data:"} {
		if field[0] != first[0] {
			continue
		}
		if begin, _ := s.read.Peek(len(field)); string(begin) != field {
			return false, nil
		}
		if field == "data:" { // the value follows
			s.skip(len(field))
			s.total += len(field)
			return true, nil
		}
		line, err := s.readLine()
		s.total += len(line) + 1
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		return true, nil
	}
	return false, nil
}

// readValue returns the object that begins here, or the rest of the line. It returns a truncated value together with [io.EOF].
func (s *Stream) readValue() ([]byte, error) {
	if first, err := s.read.Peek(1); err != nil || first[0] != '{' {
		return s.readLine()
	}
	var o object
	s.line = s.line[:0]
	for {
		buf, _ := s.read.Peek(s.read.Buffered())
		n, ended := o.scan(buf)
		s.skip(n)
		if ended && len(s.line) == 0 {
			return buf[:n], nil
		}
		if len(s.line)+n > maxEvent {
			return nil, errLineTooLong
		}
		s.line = append(s.line, buf[:n]...)
		if ended {
			return s.line, nil
		}
		if _, err := s.read.Peek(1); err != nil {
			return s.line, err
		}
	}
}

// object finds the end of a JSON object that arrives in pieces.
type object struct {
	depth  int
	text   bool // inside a string
	escape bool // after a backslash in it
}

// scan returns how many bytes of b belong to the object, and whether it ends there.
func (o *object) scan(b []byte) (n int, ended bool) {
	for i := 0; i < len(b); i++ {
		if o.text {
			n, closed := o.inText(b[i:])
			if i += n; !closed {
				return len(b), false
			}
			o.text = false
			continue
		}
		switch b[i] {
		case '"':
			o.text = true
		case '{', '[':
			o.depth++
		case '}', ']':
			if o.depth--; o.depth <= 0 {
				return i + 1, true
			}
		}
	}
	return len(b), false
}

// inText returns the index after the string that b continues, and whether the string ends in b.
func (o *object) inText(b []byte) (end int, closed bool) {
	for end < len(b) {
		if o.escape {
			o.escape = false
			end++
			continue
		}
		quote := bytes.IndexByte(b[end:], '"')
		if quote < 0 {
			quote = len(b) - end
		}
		if slash := bytes.IndexByte(b[end:end+quote], '\\'); slash >= 0 {
			o.escape = true
			end += slash + 1
			continue
		}
		end += quote
		return end, end < len(b)
	}
	return end, false
}
