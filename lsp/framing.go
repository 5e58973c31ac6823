package lsp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// framing is the base protocol ([frame.Headers]) with two additions. Of a message over the limit it parses both ends to find the
// request that it answers: that request fails and the connection stays open. And it passes the first lines of stray output
// to stray.
type framing struct {
	stray func(line string)

	mu    sync.Mutex // guards the fields below
	first string
	lines int
}

func (f *framing) String() string { return frame.Headers.String() }

func (f *framing) Append(dst, msg []byte) []byte { return frame.Headers.Append(dst, msg) }

func (f *framing) NewReader(r io.Reader, limit int) frame.Reader {
	return &messageReader{framing: f, r: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// maxStray bounds the stray lines of one process that are passed on.
const maxStray = 50

// addStray handles a line that is not part of a message.
func (f *framing) addStray(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	f.mu.Lock()
	f.lines++
	n := f.lines
	text := ""
	if n <= maxStray {
		text = strings.ToValidUTF8(string(line[:min(len(line), 300)]), "\uFFFD")
	}
	if f.first == "" {
		f.first = text
	}
	f.mu.Unlock()
	if text != "" {
		f.stray(text)
	}
}

func (f *framing) firstStray() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}

type messageReader struct {
	framing *framing
	r       *bufio.Reader
	max     int
	buf     bytes.Buffer
}

const (
	// maxHeaderLine bounds one header line. A longer line is not a header and is skipped.
	maxHeaderLine = 8 << 10
	// messageEnds is the number of bytes at each end of a message over the limit that are parsed.
	messageEnds = 1 << 10
	// keepBuffer is the largest buffer that is kept from one message to the next.
	keepBuffer = 1 << 20
)

// Read returns the next message. It replaces an answer over the limit by an error response.
func (m *messageReader) Read() ([]byte, error) {
	size, err := m.header()
	if err != nil {
		return nil, err
	}
	if size > int64(m.max) {
		return m.skip(size)
	}
	if m.buf.Cap() > keepBuffer {
		m.buf = bytes.Buffer{}
	}
	m.buf.Reset()
	// The buffer grows as bytes arrive: a header alone does not allocate memory.
	if _, err := io.CopyN(&m.buf, m.r, size); err != nil {
		return nil, unexpected(err)
	}
	return m.buf.Bytes(), nil
}

// header reads one header block and returns the value of its Content-Length.
func (m *messageReader) header() (int64, error) {
	size, inBlock := int64(-1), false
	for {
		line, err := m.line()
		if err != nil {
			if inBlock {
				err = unexpected(err)
			}
			return 0, err
		}
		if len(line) == 0 {
			switch {
			case !inBlock:
				continue // a blank line between messages
			case size < 0:
				return 0, &frame.HeaderError{Reason: "no Content-Length"}
			default:
				return size, nil
			}
		}
		if !inBlock {
			if i := straySuffix(line); i > 0 { // output without a newline before the header
				m.framing.addStray(line[:i])
				line = line[i:]
			}
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err != nil || n < 0 {
				return 0, &frame.HeaderError{Reason: fmt.Sprintf("Content-Length is %.40q", bytes.TrimSpace(value))}
			}
			inBlock, size = true, n
		case bytes.EqualFold(name, []byte("Content-Type")):
			inBlock = true
		case !inBlock:
			m.framing.addStray(line)
		}
	}
}

const contentLength = "Content-Length:"

// straySuffix returns the offset of a Content-Length header after other text in a line, or 0.
func straySuffix(line []byte) int {
	i := bytes.LastIndex(line, []byte(contentLength))
	if i <= 0 {
		return 0
	}
	if _, err := strconv.ParseUint(string(bytes.TrimSpace(line[i+len(contentLength):])), 10, 63); err != nil {
		return 0
	}
	return i
}

// line returns the next line without its end. A line over maxHeaderLine is truncated.
func (m *messageReader) line() ([]byte, error) {
	line, err := m.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line[:maxHeaderLine])
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = m.r.ReadSlice('\n')
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			m.framing.addStray(line)
		}
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// skip skips a message over the limit. For an answer it returns an error response.
func (m *messageReader) skip(size int64) ([]byte, error) {
	head := make([]byte, min(messageEnds, size))
	if _, err := io.ReadFull(m.r, head); err != nil {
		return nil, unexpected(err)
	}
	tail := make([]byte, min(messageEnds, size-int64(len(head))))
	if _, err := io.CopyN(io.Discard, m.r, size-int64(len(head)+len(tail))); err != nil {
		return nil, unexpected(err)
	}
	if _, err := io.ReadFull(m.r, tail); err != nil {
		return nil, unexpected(err)
	}
	id, ok := answeredID(head, tail)
	if !ok {
		return nil, &frame.TooLongError{Size: size, Max: m.max}
	}
	text := fmt.Sprintf("the answer has %d bytes, over the limit of %d; ask for less at once", size, m.max)
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"error":{"code":%d,"message":%s}}`, id, jsonrpc.CodeInternalError, jsonx.AppendString(nil, text)), nil
}

// Servers write the ID of an answer before the result, or last.
const (
	idAtHead = `^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,\s*"(?:jsonrpc|result|error)"`
	idAtTail = `[,}\]\s]"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`
)

// answeredID returns the ID of the request that a message with these ends answers.
func answeredID(head, tail []byte) (id int64, ok bool) {
	for _, try := range []struct {
		pattern string
		text    []byte
	}{{idAtHead, head}, {idAtTail, tail}} {
		// Compiled at use, which is rare.
		if m := regexp.MustCompile(try.pattern).FindSubmatch(try.text); m != nil {
			if id, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
				return id, true
			}
		}
	}
	return 0, false
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
