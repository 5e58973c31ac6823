package sessions

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// content is a session file, read.
type content struct {
	header  Header
	entries []Entry
	// spans are where the entries stand, in the file or in migrated.
	spans []span
	// keep is how many bytes of the file are whole lines; the rest is torn.
	keep int64
	// unended reports that the last whole line lacks its newline.
	unended bool
	notices []string
	// migrated is the file in the present version, for one of an older version; nil otherwise.
	migrated []byte
}

func (c *content) notice(format string, args ...any) {
	c.notices = append(c.notices, fmt.Sprintf(format, args...))
}

// line is one line of a file, without its newline.
type line struct {
	text []byte
	no   int   // 1-based
	at   int64 // where it begins
}

// load reads a whole session file. path is for errors alone. Errors are of type [*CorruptError].
func load(path string, data []byte, blob func(ref string) ([]byte, error)) (*content, error) {
	c := new(content)
	lines := c.split(data)
	corrupt := func(no int, reason string) error { return &CorruptError{Path: path, Line: no, Reason: reason} }
	if len(lines) == 0 {
		if len(data) == 0 {
			return nil, corrupt(1, "the file is empty")
		}
		return nil, corrupt(1, "the session header is cut off")
	}
	var err error
	if c.header, err = decodeHeader(lines[0].text); err != nil {
		return nil, corrupt(lines[0].no, err.Error())
	}
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
	var notices []string
	if c.entries, notices, err = decodeLines(lines, blob); err != nil {
		if bad, ok := errors.AsType[*lineError](err); ok {
			return nil, corrupt(bad.no, bad.reason)
		}
		return nil, err
	}
	c.notices = append(c.notices, notices...)
	c.spans = make([]span, len(lines))
	for i, l := range lines {
		c.spans[i] = span{l.at, int32(len(l.text))}
	}
	return c, nil
}

// A lineError is a line that is no entry.
type lineError struct {
	no     int
	reason string
}

func (e *lineError) Error() string { return e.reason }

// decodeLines decodes entries on all cores. Notices come in the order of the lines.
func decodeLines(lines []line, blob func(ref string) ([]byte, error)) (entries []Entry, notices []string, err error) {
	const atLeast = 256 // lines, or they are not worth a goroutine
	workers := max(1, min(runtime.GOMAXPROCS(0), len(lines)/atLeast))
	entries = make([]Entry, len(lines))
	told, errs := make([][]string, workers), make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		from, to := w*len(lines)/workers, (w+1)*len(lines)/workers
		wg.Go(func() {
			d := &decoder{blob: blob}
			for i := from; i < to && errs[w] == nil; i++ {
				d.notice = func(format string, args ...any) {
					told[w] = append(told[w], fmt.Sprintf("line %d: "+format, append([]any{lines[i].no}, args...)...))
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
		notices = append(notices, told[w]...)
	}
	return entries, notices, nil
}

func (d *decoder) line(l line) (Entry, error) {
	if e, ok := d.plainMessage(l.text); ok {
		return e, nil
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

// split cuts data into lines and sets aside what a crash left at the end: a line without its newline that is not
// whole, or the zero bytes that some file systems leave after a power cut. Empty lines are skipped.
func (c *content) split(data []byte) []line {
	lines := make([]line, 0, bytes.Count(data, []byte{'\n'})+1)
	for rest, no := data, 1; len(rest) > 0; no++ {
		text, after, ended := bytes.Cut(rest, []byte{'\n'})
		// A line that was cut is never a JSON object, so one without its newline may still be whole.
		if !ended && !isObject(text) {
			break
		}
		at := int64(len(data) - len(rest))
		c.unended = !ended
		c.keep = int64(len(data) - len(after))
		rest = after
		text = bytes.TrimRight(text, blank)
		if trimmed := bytes.TrimLeft(text, blank); len(trimmed) > 0 {
			lines = append(lines, line{text: trimmed, no: no, at: at + int64(len(text)-len(trimmed))})
		}
	}
	if torn := int64(len(data)) - c.keep; torn > 0 {
		c.notice("the last line was cut off by a crash and is dropped (%d bytes)", torn)
	}
	return lines
}

// blank is what may stand around the JSON of a line.
const blank = " \t\r"

func isObject(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] == '{' && jsonx.Valid(text)
}
