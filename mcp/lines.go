package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
)

// lineReader splits a stream into lines of bounded length. Unlike internal/frame, it keeps both ends of a line that is too long, to
// find the request that it answers: that request fails and the connection stays open.
type lineReader struct {
	r   *bufio.Reader
	max int
	buf []byte
}

const (
	// lineEnds is the number of bytes that are kept at each end of a line over the limit.
	lineEnds = 512
	// keepBuffer is the largest buffer that is kept from one line to the next.
	keepBuffer = 1 << 20
)

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// longLine is a line over the limit.
type longLine struct {
	size       int64
	head, tail []byte
}

// next returns the next line without its end. Exactly one of line, long and err is set; line is valid until the next
// call. A last line without its newline is dropped: its writer died inside it.
func (l *lineReader) next() (line []byte, long *longLine, err error) {
	chunk, err := l.r.ReadSlice('\n')
	if err == nil && len(chunk)-1 <= l.max {
		return bytes.TrimSpace(chunk), nil, nil
	}
	if cap(l.buf) > keepBuffer {
		l.buf = nil
	}
	l.buf = l.buf[:0]
	size := int64(0)
	for {
		size += int64(len(chunk))
		switch {
		case long != nil:
			long.tail = append(long.tail, chunk...)
		case size <= int64(l.max)+1:
			l.buf = append(l.buf, chunk...)
		default:
			l.buf = append(l.buf, chunk...)
			long = &longLine{
				head: bytes.Clone(l.buf[:min(lineEnds, len(l.buf))]),
				tail: bytes.Clone(l.buf[max(0, len(l.buf)-lineEnds):]),
			}
			l.buf = nil
		}
		if long != nil && len(long.tail) > lineEnds {
			long.tail = append(long.tail[:0], long.tail[len(long.tail)-lineEnds:]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		chunk, err = l.r.ReadSlice('\n')
	}
	switch {
	case err != nil:
		return nil, nil, err
	case long != nil:
		long.size = size - 1
		return nil, long, nil
	default:
		return bytes.TrimSpace(l.buf), nil, nil
	}
}

// ends returns the ends of a line.
func ends(line []byte) *longLine {
	return &longLine{size: int64(len(line)), head: line[:min(lineEnds, len(line))], tail: line[max(0, len(line)-lineEnds):]}
}

// Servers write the ID of an answer right after "jsonrpc", or last.
const (
	idAtHead = `^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,\s*"(?:jsonrpc|result|error)"`
	idAtTail = `"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`
)

// answers returns the ID of the request that the line answers.
func (l *longLine) answers() (id int64, ok bool) {
	for _, try := range []struct {
		pattern string
		text    []byte
	}{{idAtHead, l.head}, {idAtTail, l.tail}} {
		// Compiled at use, which is rare.
		if m := regexp.MustCompile(try.pattern).FindSubmatch(try.text); m != nil {
			if id, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
				return id, true
			}
		}
	}
	return 0, false
}

// maybeAnswer reports whether the line may be a message that is not a notification.
func (l *longLine) maybeAnswer() bool {
	start := bytes.TrimSpace(l.head)
	return len(start) > 0 && (start[0] == '{' || start[0] == '[') && !bytes.Contains(l.head, []byte(`"method"`))
}
