package sessions

import (
	"bytes"
	"fmt"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// content is a session file, read.
type content struct {
	header  Header
	entries []Entry
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
	no   int // 1-based
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
		for _, l := range lines {
			c.migrated = append(append(c.migrated, l.text...), '\n')
		}
	}
	d := &decoder{blob: blob}
	c.entries = make([]Entry, 0, len(lines)-1)
	for _, l := range lines[1:] {
		d.notice = func(format string, args ...any) { c.notice("line %d: "+format, append([]any{l.no}, args...)...) }
		if e, ok := d.plainMessage(l.text); ok {
			c.entries = append(c.entries, e)
			continue
		}
		var v envelope
		if err := jsonx.Unmarshal(l.text, &v); err != nil {
			return nil, corrupt(l.no, err.Error())
		}
		if v.Type == "" || v.ID == "" {
			return nil, corrupt(l.no, "this is not a session entry: it needs a type and an id")
		}
		c.entries = append(c.entries, d.entry(&v, l.text))
	}
	return c, nil
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
		c.unended = !ended
		c.keep = int64(len(data) - len(after))
		rest = after
		if text = bytes.TrimSpace(text); len(text) > 0 {
			lines = append(lines, line{text: text, no: no})
		}
	}
	if torn := int64(len(data)) - c.keep; torn > 0 {
		c.notice("the last line was cut off by a crash and is dropped (%d bytes)", torn)
	}
	return lines
}

func isObject(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] == '{' && jsonx.Valid(text)
}
