package sessions

import (
	"bytes"
	"cmp"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// scanBuffer is the initial buffer size for reading a file. The buffer grows for a longer line, up to maxScanLine;
	// of longer lines only the first scanHead bytes are read.
	scanBuffer  = 64 << 10
	maxScanLine = 1 << 20
	scanHead    = 512
	// scanTail is the number of bytes before a scan's end that must be unchanged for the next scan to continue there.
	scanTail   = 64
	titleRunes = 80
)

// record is the list's information about one session file, from its lines up to offset. The index file holds it; see [indexCodec].
type record struct {
	// size and mtime (nanoseconds) are those of the file when it was read. A negative size stands for an unread file.
	size, mtime int64
	// offset is where the next scan of a grown file continues; zero if it cannot. headLen, headSum and tailSum identify
	// the file's content: the sums are of the lines up to the header, and of the bytes before offset.
	offset, headLen  int64
	headSum, tailSum uint32
	// bad marks a file that is not a session file. The other fields are empty then.
	bad bool

	id, cwd, parent string
	created         time.Time
	title           titleData
	directories     []string
	prompt          string // the first line of the first prompt
	summary         string // the first line of the last compaction's short summary
	messages        int
	said            bool      // the program added a message to the conversation
	last            time.Time // time of the last entry that has one
}

// updated is the time of the last write.
func (r *record) updated() time.Time {
	if r.last.IsZero() {
		return time.Unix(0, r.mtime).UTC()
	}
	return r.last
}

// begun reports whether the session has a message.
func (r *record) begun() bool { return r.messages > 0 || r.said }

// shownTitle returns the title for the list.
func (r *record) shownTitle() string { return cmp.Or(r.title.Title, r.prompt, r.summary) }

// castagnoli is made on first use, which takes 0.1 ms.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// scanner reads session files, one at a time.
type scanner struct{ buf []byte }

// file reads the session file at path. If known is a prefix of the file, it starts where known ends. err is an error of the file
// system; reason is why the file is not a session file.
func (sc *scanner) file(fsys FileSystem, path string, known *record) (r record, no int, reason, err error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return record{}, 0, nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return record{}, 0, nil, err
	}
	return sc.scan(f, info, known)
}

func (sc *scanner) scan(f io.ReaderAt, info fs.FileInfo, known *record) (_ record, no int, reason, err error) {
	if !known.bad && known.size == info.Size() && known.mtime == info.ModTime().UnixNano() {
		return *known, 0, nil, nil
	}
	fold := scanFold{}
	if sc.continues(f, info.Size(), known) {
		fold.record = *known
	}
	if err := sc.lines(f, info.Size(), &fold); err != nil {
		return record{}, 0, nil, err
	}
	if fold.reason == nil && fold.headLen == 0 {
		fold.reason = errors.New("the session header is cut off")
		if info.Size() == 0 {
			fold.reason = errors.New("the file is empty")
		}
	}
	if fold.reason != nil {
		fold.record = record{bad: true}
	}
	fold.size, fold.mtime = info.Size(), info.ModTime().UnixNano()
	return fold.record, fold.no, fold.reason, nil
}

// continues reports whether the file of known has only grown since. A file with the same size and a new mtime was rewritten.
func (sc *scanner) continues(f io.ReaderAt, size int64, known *record) bool {
	if known.bad || size <= known.size || known.offset <= 0 || known.offset > known.size || known.headLen <= 0 || known.headLen > maxScanLine {
		return false
	}
	head, err := sc.sum(f, 0, known.headLen)
	if err != nil || head != known.headSum {
		return false
	}
	tail, err := sc.tailSum(f, known.offset)
	return err == nil && tail == known.tailSum
}

// tailSum returns the checksum of the bytes before offset. It returns an error if offset is not the end of a line.
func (sc *scanner) tailSum(f io.ReaderAt, offset int64) (uint32, error) {
	n := min(offset, scanTail)
	sum, err := sc.sum(f, offset-n, n)
	if err == nil && sc.buf[n-1] != '\n' {
		err = errors.New("no line ends at that offset")
	}
	return sum, err
}

func (sc *scanner) sum(f io.ReaderAt, from, n int64) (uint32, error) {
	sc.grow(int(n))
	if m, err := f.ReadAt(sc.buf[:n], from); int64(m) < n {
		return 0, cmp.Or(err, io.ErrUnexpectedEOF)
	}
	return crc32.Checksum(sc.buf[:n], castagnoli()), nil
}

func (sc *scanner) grow(size int) {
	if size = max(size, scanBuffer); size > len(sc.buf) {
		sc.buf = append(sc.buf, make([]byte, size-len(sc.buf))...)
	}
}

// lines passes the lines of f between fold.offset and size to fold. It returns no error if the file ends before size.
func (sc *scanner) lines(f io.ReaderAt, size int64, fold *scanFold) error {
	sc.grow(scanBuffer)
	var (
		n    int // the number of bytes in buf; buf[0] is at fold.offset or, in a long line, later
		read = fold.offset
		long []byte // the start of a line that is too long
		// summed reports whether fold.tailSum is that of fold.offset, computed without another read.
		summed bool
	)
	for read < size && fold.reason == nil {
		want := int(min(int64(len(sc.buf)-n), size-read))
		m, err := f.ReadAt(sc.buf[n:n+want], read)
		if m == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return err
		}
		searched := n
		n, read = n+m, read+int64(m)
		rest := sc.buf[:n]
		for fold.reason == nil {
			end := bytes.IndexByte(rest[searched:], '\n')
			if end < 0 {
				break
			}
			end += searched
			switch {
			case long != nil:
				fold.longLine(long)
				long = nil
				fold.offset = read - int64(len(rest)-end-1)
			default:
				fold.offset += int64(end + 1)
				fold.line(rest[:end])
			}
			rest, searched = rest[end+1:], 0
		}
		if end, tail := n-len(rest), int(min(fold.offset, scanTail)); read >= size && tail > 0 && end >= tail {
			fold.tailSum, summed = crc32.Checksum(sc.buf[end-tail:end], castagnoli()), true
		}
		switch {
		case long != nil:
			n = 0
		case len(rest) < len(sc.buf):
			n = copy(sc.buf, rest)
		case len(sc.buf) < maxScanLine:
			sc.grow(min(4*len(sc.buf), maxScanLine))
		default:
			long, n = bytes.Clone(rest[:scanHead]), 0
		}
	}
	if fold.reason != nil {
		return nil
	}
	var err error
	if fold.offset > 0 && !summed {
		tail := bytes.Clone(sc.buf[:n])
		fold.tailSum, err = sc.tailSum(f, fold.offset)
		n = copy(sc.buf, tail)
	}
	if long == nil && n > 0 {
		fold.unended(sc.buf[:n])
	}
	return err
}

// scanFold accumulates a record from a file's lines.
type scanFold struct {
	record
	no     int   // number of lines before the header was found
	reason error // why the file is not a session file
}

// line processes a line without its newline.
func (d *scanFold) line(text []byte) {
	if d.headLen == 0 {
		d.headSum = crc32.Update(crc32.Update(d.headSum, castagnoli(), text), castagnoli(), []byte{'\n'})
		d.no++
	}
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
	case d.headLen == 0:
		d.header(text)
	default:
		d.entry(text)
	}
}

// longLine processes the start of a long line.
func (d *scanFold) longLine(head []byte) {
	if d.headLen == 0 {
		d.no++
		d.reason = errors.New("this is not a session header: the line is too long")
		return
	}
	if kind, at, _, ok := entryHead(head); ok {
		d.count(Kind(kind), at)
	}
}

// unended processes what follows the last newline. A line that a crash has cut off is not a JSON object. Any other line may still
// grow or get its newline, so the next scan cannot continue from here.
func (d *scanFold) unended(text []byte) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '{' || !jsonx.Valid(text) {
		return
	}
	d.line(text)
	d.offset = 0
}

func (d *scanFold) header(text []byte) {
	h, err := decodeHeader(text)
	if err != nil {
		d.reason = err
		return
	}
	d.headLen = max(d.offset, 1) // the last line does not count yet
	a := aboutHeader(&h)
	d.id, d.cwd, d.parent, d.created = h.ID, h.Cwd, h.ParentSession, h.Time
	d.title, d.directories = a.title, a.directories
}

func (d *scanFold) entry(text []byte) {
	kind, at, rest, ok := entryHead(text)
	if !ok {
		var v struct {
			Type      string `json:"type"`
			Timestamp string `json:"timestamp"`
		}
		if jsonx.Unmarshal(text, &v) != nil {
			return
		}
		kind, at, rest = v.Type, parseTime(v.Timestamp), nil
	}
	d.count(Kind(kind), at)
	switch Kind(kind) {
	case KindMessage:
		if d.prompt == "" && mayBeOf(roleUser, rest) {
			d.prompt = firstLine(promptText(text))
		}
	case KindCustom:
		d.custom(text)
	case KindCompaction:
		var c struct {
			ShortSummary string `json:"shortSummary"`
		}
		if jsonx.Unmarshal(text, &c) == nil && c.ShortSummary != "" {
			d.summary = firstLine(c.ShortSummary)
		}
	default:
	}
}

func (d *scanFold) count(kind Kind, at time.Time) {
	switch kind {
	case KindMessage:
		d.messages++
	case KindCustomMessage:
		d.said = true
	default:
	}
	if !at.IsZero() {
		d.last = at
	}
}

// custom applies a Custom entry by the rules of [about].
func (d *scanFold) custom(text []byte) {
	if !bytes.Contains(text, []byte(CustomTitle)) && !bytes.Contains(text, []byte(customDirectories)) {
		return
	}
	var v struct {
		CustomType string    `json:"customType"`
		Data       jsonx.Raw `json:"data"`
	}
	if jsonx.Unmarshal(text, &v) != nil || v.CustomType != CustomTitle && v.CustomType != customDirectories {
		return
	}
	a := about{title: d.title, directories: d.directories}
	a.add(Custom{CustomType: v.CustomType, Data: v.Data})
	d.title, d.directories = a.title, a.directories
}

// entryHead parses the start of an entry in the form that this program and older installations write: type, id, parentId,
// timestamp. rest is the remaining text. It makes decoding unnecessary for nearly all lines.
func entryHead(text []byte) (kind string, at time.Time, rest []byte, ok bool) {
	head := text[:min(len(text), scanHead)]
	kindText, head, ok1 := quoted(head, `{"type":`)
	_, head, ok2 := quoted(head, `,"id":`)
	if !ok1 || !ok2 {
		return "", time.Time{}, nil, false
	}
	if after, isNull := bytes.CutPrefix(head, []byte(`,"parentId":null`)); isNull {
		head = after
	} else if _, head, ok = quoted(head, `,"parentId":`); !ok {
		return "", time.Time{}, nil, false
	}
	stamp, head, ok := quoted(head, `,"timestamp":`)
	if !ok || len(head) == 0 || head[0] != ',' && head[0] != '}' {
		return "", time.Time{}, nil, false
	}
	kind = string(KindMessage) // the usual case, which needs no allocation
	if string(kindText) != kind {
		kind = string(kindText)
	}
	return kind, parseTime(string(stamp)), head, true
}

// quoted parses a member with a string value that has no escapes.
func quoted(text []byte, name string) (value, rest []byte, ok bool) {
	if len(text) <= len(name) || string(text[:len(name)]) != name || text[len(name)] != '"' {
		return nil, nil, false
	}
	text = text[len(name)+1:]
	end := bytes.IndexByte(text, '"')
	if end < 0 || bytes.IndexByte(text[:end], '\\') >= 0 {
		return nil, nil, false
	}
	return text[:end], text[end+1:], true
}

// mayBeOf reports whether the message in the rest of an entry may have the role. A false result is certain.
func mayBeOf(role string, rest []byte) bool {
	found, _, ok := quoted(rest, `,"message":{"role":`)
	return !ok || string(found) == role
}

// promptText returns the text of a user message, or "".
func promptText(text []byte) string {
	var v struct {
		Message struct {
			Role    string    `json:"role"`
			Content jsonx.Raw `json:"content"`
		} `json:"message"`
	}
	if jsonx.Unmarshal(text, &v) != nil || v.Message.Role != roleUser {
		return ""
	}
	content := v.Message.Content
	if content.Kind() == '"' {
		var s string
		_ = jsonx.Unmarshal(content, &s) // cannot fail: it was decoded before
		return s
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if jsonx.Unmarshal(content, &blocks) != nil {
		return ""
	}
	var b strings.Builder
	for i := range blocks {
		if blocks[i].Type == "text" {
			b.WriteString(blocks[i].Text)
		}
	}
	return b.String()
}

// firstLine returns the first line of a text as a title. The result is a copy, so it does not keep the text in memory.
func firstLine(s string) string { return strings.Clone(text.Truncate(text.FirstLine(s), titleRunes)) }
