package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
)

// Limits of reading a file that is too long to be read whole.
const (
	// readBlock is the number of bytes that are read at once.
	readBlock = 128 << 10
	// maxScan bounds the time spent on counting lines up to the requested one.
	maxScan = 10 * time.Second
)

// errScan reports a line so far down that finding it would take too long.
var errScan = errors.New("the lines are too far down to reach; show them with sed -n or tail in a command")

// readLong shows lines of a file that is not read whole. It reads no further than the last requested line.
func readLong(ctx context.Context, call *agent.Call, name string, t *target) (*agent.Result, error) {
	opener, ok := call.FS.(agent.Opener)
	if !ok || t.sel.Conflicts {
		return nil, fmt.Errorf("%s has more than %s, too much to read at once; search it, or use a command", name, toolkit.Size(toolkit.MaxReadFile))
	}
	f, err := opener.Open(ctx, t.path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, toolkit.Reason(err))
	}
	defer func() { _ = f.Close() }() // read only
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, toolkit.Reason(err))
	}
	lines, enc, err := newLongLines(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be shown: %w (%s); a command such as file or xxd can show more", name, toolkit.Reason(err), toolkit.Size(info.Size()))
	}
	w := toolkit.Window{Name: name, Lines: lines, Raw: t.sel.Raw, Long: toolkit.Size(info.Size())}
	if err := w.Show(t.sel.Ranges); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s cannot be shown: %w", name, toolkit.Reason(err))
	}
	notes := toolkit.EncodingNotes(enc, lines.invalid)
	return &agent.Result{Text: toolkit.JoinNotes(w.Out.String(), append(notes, w.Notes...))}, nil
}

// longLines is the line source of a long file.
type longLines struct {
	ctx      context.Context //nolint:containedctx // bounds the reading of one file: a lineSource, like an io.Reader, has no context
	deadline time.Time
	r        *bufio.Reader
	taken    int
	ended    bool
	// invalid reports that a line was not UTF-8.
	invalid bool
}

func newLongLines(ctx context.Context, r io.Reader) (*longLines, toolkit.Encoding, error) {
	b := bufio.NewReaderSize(r, readBlock)
	head, err := b.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, toolkit.PlainUTF8, err
	}
	l := &longLines{ctx: ctx, deadline: time.Now().Add(maxScan), r: b}
	enc := toolkit.PlainUTF8
	switch {
	case bytes.HasPrefix(head, []byte(toolkit.Utf8BOM)):
		enc = toolkit.BomUTF8
		_, err = b.Discard(len(toolkit.Utf8BOM))
	case toolkit.UTF16Of(head) != toolkit.PlainUTF8:
		enc = toolkit.UTF16Of(head)
		l.r = bufio.NewReaderSize(enc.UTF16().NewDecoder().Reader(b), readBlock)
		err = nil
	case bytes.IndexByte(head, 0) >= 0, !utf8.Valid(head[:len(head)-toolkit.BrokenRune(head)]) && toolkit.LooksBinary(head):
		err = toolkit.ErrBinary
	default:
		err = nil
	}
	return l, enc, err
}

// sniffed is the number of bytes that are read to distinguish text from binary data.
const sniffed = 8 << 10

func (l *longLines) Total() int {
	if l.ended {
		return l.taken
	}
	return 0
}

// check returns an error if the time is over. It is called for each block.
func (l *longLines) check() error {
	if l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	if time.Now().After(l.deadline) {
		return errScan
	}
	return nil
}

// block returns the buffered part of the current line, and whether the line ends with it.
func (l *longLines) block() (part []byte, last bool, err error) {
	part, err = l.r.ReadSlice('\n')
	switch {
	case err == nil:
		return part[:len(part)-1], true, nil
	case errors.Is(err, bufio.ErrBufferFull):
		return part, false, l.check()
	case errors.Is(err, io.EOF) && len(part) > 0:
		return part, true, nil
	case errors.Is(err, io.EOF):
		l.ended = true
		return nil, true, io.EOF
	default:
		return nil, false, err
	}
}

func (l *longLines) Next() (string, int64, error) {
	var line []byte
	cut := int64(0)
	for first := true; ; first = false {
		part, last, err := l.block()
		if err != nil && (!errors.Is(err, io.EOF) || first) {
			return "", 0, err
		}
		room := max(0, toolkit.MaxText+1-len(line))
		line = append(line, part[:min(room, len(part))]...)
		cut += int64(len(part) - min(room, len(part)))
		if last {
			break
		}
	}
	l.taken++
	if bytes.IndexByte(line, 0) >= 0 {
		return "", 0, toolkit.ErrBinary
	}
	if cut > 0 {
		line = line[:len(line)-toolkit.BrokenRune(line)]
	} else {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	if !utf8.Valid(line) {
		l.invalid = true
		return strings.ToValidUTF8(string(line), "\uFFFD"), cut, nil
	}
	return string(line), cut, nil
}

// Skip counts line endings block by block.
func (l *longLines) Skip(n int) error {
	for n > 0 {
		if l.r.Buffered() == 0 {
			if err := l.check(); err != nil {
				return err
			}
			if _, err := l.r.Peek(1); errors.Is(err, io.EOF) {
				l.ended = true
				return nil
			} else if err != nil {
				return err
			}
		}
		block, err := l.r.Peek(l.r.Buffered())
		if err != nil {
			return err
		}
		have := bytes.Count(block, []byte("\n"))
		used := len(block)
		if have >= n {
			used = 0
			for have = 0; have < n; have++ {
				used += bytes.IndexByte(block[used:], '\n') + 1
			}
		}
		l.taken += have
		n -= have
		if _, err := l.r.Discard(used); err != nil {
			return err
		}
		// The last line needs no line ending.
		if n > 0 && block[len(block)-1] != '\n' {
			if _, err := l.r.Peek(1); errors.Is(err, io.EOF) {
				l.taken++
				l.ended = true
				return nil
			}
		}
	}
	return nil
}
