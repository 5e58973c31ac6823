package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// content is the content of a session file.
type content struct {
	header  Header
	entries []Entry
	// spans are the positions of the entries, in the file or in migrated.
	spans []span
	// keep is the length of the complete lines, in bytes; what follows is torn.
	keep int64
	// unended reports whether the last complete line lacks its newline.
	unended bool
	notices []string
	// migrated is the content converted to the current version if the file has an older version; nil otherwise.
	migrated []byte
}

func (c *content) notice(format string, args ...any) {
	c.notices = append(c.notices, fmt.Sprintf(format, args...))
}

// line is one line of a file, without its newline.
type line struct {
	text []byte
	no   int   // 1-based
	at   int64 // its offset
}

// load parses a whole session file. path is used in errors, which are of type [*CorruptError].
func load(path string, data []byte, blob func(ref string) ([]byte, error)) (*content, error) {
	c := new(content)
	lines, rest, next := c.split(data, 0, 1)
	lines = append(lines, c.end(rest, int64(len(data)-len(rest)), next)...)
	if err := c.begin(path, lines, len(data) == 0); err != nil {
		return nil, err
	}
	corrupt := func(no int, reason string) error { return &CorruptError{Path: path, Line: no, Reason: reason} }
	var err error
	if c.header.Version < Version {
		var bad int
		if lines, bad, err = migrate(lines, c.header.Version); err != nil {
			return nil, corrupt(bad, err.Error())
		}
		for i := range lines {
			lines[i].at = int64(len(c.migrated))
			c.migrated = append(append(c.migrated, lines[i].text...), '\n')
		}
	}
	lines = lines[1:]
	if c.entries, c.spans, err = c.decode(path, lines, blob); err != nil {
		return nil, err
	}
	return c, nil
}

// begin parses the header, the first of lines. Errors are of type [*CorruptError].
func (c *content) begin(path string, lines []line, empty bool) (err error) {
	switch {
	case empty:
		return &CorruptError{Path: path, Line: 1, Reason: "the file is empty"}
	case len(lines) == 0:
		return &CorruptError{Path: path, Line: 1, Reason: "the session header is cut off"}
	}
	if c.header, err = decodeHeader(lines[0].text); err != nil {
		return &CorruptError{Path: path, Line: lines[0].no, Reason: err.Error()}
	}
	return nil
}

// decode decodes lines that are not the header.
func (c *content) decode(path string, lines []line, blob func(ref string) ([]byte, error)) ([]Entry, []span, error) {
	entries, notices, err := decodeLines(lines, blob)
	if bad, ok := errors.AsType[*lineError](err); ok {
		return nil, nil, &CorruptError{Path: path, Line: bad.no, Reason: bad.reason}
	} else if err != nil {
		return nil, nil, err
	}
	c.notices = append(c.notices, notices...)
	spans := make([]span, len(lines))
	for i, l := range lines {
		spans[i] = span{l.at, int32(len(l.text))}
	}
	return entries, spans, nil
}

// maxPart is the size of the parts in which a file is read. A longer line makes a part longer.
const maxPart = 1 << 20

// stream reads a session file of the current version in parts and passes its entries to take, in order. r is the file, and size its
// size. For a file of an older version, stream returns false after reading the header.
func (c *content) stream(path string, r io.ReaderAt, size int64, blob func(ref string) ([]byte, error), take func([]Entry, []span) error) (bool, error) {
	var rest []byte
	next := 1
	begun := false
	for at := int64(0); at < size; {
		part := make([]byte, int64(len(rest))+min(max(maxPart, int64(len(rest))), size-at))
		copy(part, rest)
		if _, err := r.ReadAt(part[len(rest):], at); err != nil {
			return false, fmt.Errorf("reading %s: %w", path, err)
		}
		from := at - int64(len(rest))
		at = from + int64(len(part))
		var lines []line
		lines, rest, next = c.split(part, from, next)
		if at == size {
			lines = append(lines, c.end(rest, size-int64(len(rest)), next)...)
		}
		if !begun {
			if len(lines) == 0 && at < size {
				continue
			}
			if err := c.begin(path, lines, false); err != nil || c.header.Version < Version {
				return false, err
			}
			begun, lines = true, lines[1:]
		}
		entries, spans, err := c.decode(path, lines, blob)
		if err == nil {
			err = take(entries, spans)
		}
		if err != nil {
			return false, err
		}
	}
	if !begun {
		return false, c.begin(path, nil, true)
	}
	return true, nil
}

// A lineError describes a line that is not a valid entry.
type lineError struct {
	no     int
	reason string
}

func (e *lineError) Error() string { return e.reason }

// decodeLines decodes entries on all cores. Notices are in the order of the lines.
func decodeLines(lines []line, blob func(ref string) ([]byte, error)) (entries []Entry, notices []string, err error) {
	const atLeast = 64 << 10 // minimum number of bytes per goroutine
	size := 0
	for i := range lines {
		size += len(lines[i].text)
	}
	workers := max(1, min(runtime.GOMAXPROCS(0), len(lines), size/atLeast))
	entries = make([]Entry, len(lines))
	noted, errs := make([][]string, workers), make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		from, to := w*len(lines)/workers, (w+1)*len(lines)/workers
		wg.Go(func() {
			d := &decoder{blob: blob}
			for i := from; i < to && errs[w] == nil; i++ {
				d.notice = func(format string, args ...any) {
					noted[w] = append(noted[w], fmt.Sprintf("line %d: "+format, append([]any{lines[i].no}, args...)...))
				}
				entries[i], errs[w] = d.line(lines[i])
			}
		})
	}
	wg.Wait()
	for w := range workers {
		if errs[w] != nil {
			return nil, nil, errs[w]
		}
		notices = append(notices, noted[w]...)
	}
	return entries, notices, nil
}

func (d *decoder) line(l line) (Entry, error) {
	if bytes.HasPrefix(l.text, messageStart) { // nearly all lines: decode them in one pass
		if e, err := d.messageEntry(l.text); err == nil && e.Ref().ID != "" {
			return e, nil
		}
	}
	var v envelope
	if err := jsonx.Unmarshal(l.text, &v); err != nil {
		return nil, &lineError{l.no, err.Error()}
	}
	if v.Type == "" || v.ID == "" {
		return nil, &lineError{l.no, "this is not a session entry: it needs a type and an id"}
	}
	return d.entry(&v, l.text), nil
}

// split splits a part of a file into lines. at is the part's offset, and no the number of its first line. rest is what follows the
// last newline, with its line number. split skips empty lines.
func (c *content) split(part []byte, at int64, no int) (lines []line, rest []byte, next int) {
	lines = make([]line, 0, bytes.Count(part, []byte{'\n'})+1)
	for rest = part; ; no++ {
		text, after, ended := bytes.Cut(rest, []byte{'\n'})
		if !ended {
			return lines, rest, no
		}
		from := at + int64(len(part)-len(rest))
		rest = after
		c.keep = at + int64(len(part)-len(after))
		lines = appendLine(lines, text, from, no)
	}
}

// end processes what follows the last newline of a file. After a crash this is an incomplete line, or the NUL bytes that some file
// systems leave after a power cut; end drops both. An incomplete line is never a JSON object, so end keeps a line that lacks only
// its newline.
func (c *content) end(rest []byte, at int64, no int) []line {
	switch {
	case len(rest) == 0:
		return nil
	case !isObject(rest):
		c.notice("the last line was cut off by a crash and is dropped (%d bytes)", len(rest))
		return nil
	}
	c.unended, c.keep = true, at+int64(len(rest))
	return appendLine(nil, rest, at, no)
}

func appendLine(lines []line, text []byte, at int64, no int) []line {
	text = bytes.TrimRight(text, blank)
	trimmed := bytes.TrimLeft(text, blank)
	if len(trimmed) == 0 {
		return lines
	}
	return append(lines, line{text: trimmed, no: no, at: at + int64(len(text)-len(trimmed))})
}

// blank are the bytes that may surround the JSON of a line.
const blank = " \t\r"

func isObject(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] == '{' && jsonx.Valid(text)
}

// Locate returns the file system of a store and the path of a session's file. It returns [ErrNotFound] for an unknown session.
func Locate(ctx context.Context, s *Store, id string) (FileSystem, string, error) {
	at, err := s.find(ctx, id)
	return s.fs, at.path, err
}

// Pipes returns the file system of a store, the directory in which its processes connect with each other (see package pipe), and the time
// between two looks into it.
func Pipes(s *Store) (fsys FileSystem, dir string, every time.Duration) {
	every = time.Second
	if f, ok := s.fs.(leaseHolder); ok {
		every = f.Renew() // which causes as much load
	}
	return s.fs, filepath.Join(filepath.Dir(s.dir), "pipes"), every
}

// DecodeHeader decodes the first line of the session file at path. It returns a [*CorruptError] for a file of an older version too.
func DecodeHeader(path string, text []byte) (Header, error) {
	h, err := decodeHeader(text)
	if err == nil && h.Version < Version {
		err = fmt.Errorf("it has version %d; open the session to upgrade it", h.Version)
	}
	if err != nil {
		return Header{}, &CorruptError{Path: path, Line: 1, Reason: err.Error()}
	}
	return h, nil
}

// DecodeLines decodes the entries in complete lines of the session file at path, without their newlines. no is the number of the first
// line. It skips empty lines. It returns a [*CorruptError] for a line that is no entry.
func DecodeLines(s *Store, path string, no int, texts [][]byte) ([]Entry, error) {
	var lines []line
	for i, text := range texts {
		lines = appendLine(lines, text, 0, no+i)
	}
	entries, _, err := decodeLines(lines, s.readBlob)
	if bad, ok := errors.AsType[*lineError](err); ok {
		return nil, &CorruptError{Path: path, Line: bad.no, Reason: bad.reason}
	}
	return entries, err
}
