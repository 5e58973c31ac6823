package lsp

import (
	"bytes"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
)

const (
	methodOpen   = "textDocument/didOpen"
	methodChange = "textDocument/didChange"
	methodClose  = "textDocument/didClose"
)

// syncKind is how a server wants to hear of changes.
type syncKind int

const (
	syncNone syncKind = iota
	syncFull
	syncIncremental
)

// syncOptions are what a server said of documents.
type syncOptions struct {
	openClose bool
	change    syncKind
}

// newSyncOptions reads textDocumentSync: options, or a number in the manner of old servers, which stands for all of it.
func newSyncOptions(raw jsonx.Raw) syncOptions {
	o, kind := syncOptions{}, raw
	if raw.Kind() == '{' {
		o.openClose, kind = isOn(jsonx.Lookup(raw, "openClose")), jsonx.Lookup(raw, "change")
	}
	switch string(bytes.TrimSpace(kind)) {
	case "1":
		o.change = syncFull
	case "2":
		o.change = syncIncremental
	}
	if raw.Kind() == '0' {
		o.openClose = o.change != syncNone
	}
	return o
}

// difference is the one change that makes old to now: what is between the longest common start and the longest common end.
// It never cuts a character, or a line end, in two.
func difference(old, now *Text, e Encoding) contentChange {
	a, b := old.content, now.content
	n := commonStart(a, b)
	for n > 0 && (splits(a, n) || splits(b, n)) {
		n--
	}
	m := commonEnd(a[n:], b[n:])
	for m > 0 && (splits(a, len(a)-m) || splits(b, len(b)-m)) {
		m--
	}
	end := len(a) - m
	start, stop := old.Position(n, e), old.Position(end, e)
	if !utf8.ValidString(old.Line(int(start.Line))) || !utf8.ValidString(old.Line(int(stop.Line))) {
		// The server has a replacement character there, of another length.
		return contentChange{Text: b}
	}
	return contentChange{Range: &protocol.Range{Start: start, End: stop}, Text: b[n : len(b)-m]}
}

// splits reports whether offset i of s is inside a character or a line end.
func splits(s string, i int) bool {
	return i < len(s) && i > 0 && (!utf8.RuneStart(s[i]) || s[i] == '\n' && s[i-1] == '\r')
}

// block is how much of two texts is compared at once.
const block = 64

func commonStart(a, b string) int {
	most, n := min(len(a), len(b)), 0
	for n+block <= most && a[n:n+block] == b[n:n+block] {
		n += block
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

func commonEnd(a, b string) int {
	most, n := min(len(a), len(b)), 0
	for n+block <= most && a[len(a)-n-block:len(a)-n] == b[len(b)-n-block:len(b)-n] {
		n += block
	}
	for n < most && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// expect says that a change of a document will be sent next.
func (l *life) expect(c sentChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sending = append(l.sending, c)
}

// unexpect takes back the last one.
func (l *life) unexpect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.sending); n > 0 {
		l.sending = l.sending[:n-1]
	}
}

// The start of the messages that trace looks for, as package jsonrpc writes them.
const (
	openOnWire   = `{"jsonrpc":"2.0","method":"` + methodOpen + `"`
	changeOnWire = `{"jsonrpc":"2.0","method":"` + methodChange + `"`
	answerOnWire = `{"jsonrpc":"2.0","id":`
)

// trace sees each message right before it is written. It takes note of when changes of documents are, so that what a
// server says from then on counts as said of them, and of answers.
func (l *life) trace(dir jsonrpc.Direction, data []byte) {
	if dir != jsonrpc.Sent {
		return
	}
	_, body, _ := bytes.Cut(data[:min(len(data), 256)], []byte("\r\n\r\n"))
	start := string(body)
	switch {
	case strings.HasPrefix(start, openOnWire), strings.HasPrefix(start, changeOnWire):
		l.mu.Lock()
		var c sentChange
		if len(l.sending) > 0 {
			c = l.sending[0]
			l.sending = l.sending[1:]
		}
		l.mu.Unlock()
		if c.doc != nil {
			l.server.docs.wrote(l, c)
		}
	case strings.HasPrefix(start, answerOnWire) && !isRequest(start[len(answerOnWire):]):
		if l.owed.Add(-1) == 0 && l.asked.Load() {
			l.settled.Do(func() { close(l.configured) })
		}
	}
}

// isRequest reports whether what follows an id makes a request of the message. Ids of our requests are numbers; those of
// the server can be anything.
func isRequest(rest string) bool {
	rest = strings.TrimLeft(rest, "0123456789")
	return strings.HasPrefix(rest, `,"method":`)
}

// wrote takes note that a change is on the wire.
func (ds *documents) wrote(l *life, c sentChange) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if c.doc.in == l {
		c.doc.written, c.doc.since = c.version, ds.told.count
	}
	if c.version > 1 {
		ds.noteChangeLocked(c.doc.key)
	}
}

// dependentsAfter is how long a server may take to look again at files that depend on a changed one: gopls waits a second.
const dependentsAfter = 1500 * time.Millisecond

// noteChange takes note of changes by others.
func (ds *documents) noteChange() {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.noteChangeLocked("")
}

// noteChangeLocked takes note of a change. ds.mu is held.
func (ds *documents) noteChangeLocked(key string) {
	now := time.Now()
	maps.DeleteFunc(ds.changed, func(_ string, at time.Time) bool { return now.Sub(at) >= dependentsAfter })
	if ds.changed == nil {
		ds.changed = make(map[string]time.Time)
	}
	ds.changed[key] = now
}

// settlesLocked returns how much longer what was published of a file at a time may be outdated by a change of another one. ds.mu
// is held.
func (ds *documents) settlesLocked(key string, published time.Time) time.Duration {
	var wait time.Duration
	for other, at := range ds.changed {
		if other != key && at.After(published) {
			wait = max(wait, time.Until(at.Add(dependentsAfter)))
		}
	}
	return wait
}
