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

// syncKind says in which form a server receives changes (TextDocumentSyncKind).
type syncKind int

const (
	syncNone syncKind = iota
	syncFull
	syncIncremental
)

// syncOptions are the textDocumentSync capability of a server.
type syncOptions struct {
	openClose bool
	change    syncKind
}

// parseSyncOptions parses textDocumentSync: options, or a number from old servers.
func parseSyncOptions(raw jsonx.Raw) syncOptions {
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

// difference returns the change from old to now: the text between their longest common prefix and suffix. It never splits a
// character or a CRLF line break.
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
		// The server reads an invalid byte as a replacement character, which has a different length.
		return contentChange{Text: b}
	}
	return contentChange{Range: &protocol.Range{Start: start, End: stop}, Text: b[n : len(b)-m]}
}

// splits reports whether offset i of s is inside a character or a line end.
func splits(s string, i int) bool {
	return i < len(s) && i > 0 && (!utf8.RuneStart(s[i]) || s[i] == '\n' && s[i-1] == '\r')
}

// block is the number of bytes that are compared at once.
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

// pushSending records that a change of a document will be sent next.
func (ps *process) pushSending(c sentChange) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.sending = append(ps.sending, c)
}

// popSending removes the last record.
func (ps *process) popSending() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if n := len(ps.sending); n > 0 {
		ps.sending = ps.sending[:n-1]
	}
}

// The prefixes of the messages that trace detects, as package jsonrpc writes them.
const (
	openOnWire   = `{"jsonrpc":"2.0","method":"` + methodOpen + `"`
	changeOnWire = `{"jsonrpc":"2.0","method":"` + methodChange + `"`
	answerOnWire = `{"jsonrpc":"2.0","id":`
)

// trace is called right before a message is written. It records when changes of documents are written, so that later diagnostics
// count for them, and counts answers.
func (ps *process) trace(dir jsonrpc.Direction, data []byte) {
	if dir != jsonrpc.Sent {
		return
	}
	_, body, _ := bytes.Cut(data[:min(len(data), 256)], []byte("\r\n\r\n"))
	start := string(body)
	switch {
	case strings.HasPrefix(start, openOnWire), strings.HasPrefix(start, changeOnWire):
		ps.mu.Lock()
		var c sentChange
		if len(ps.sending) > 0 {
			c = ps.sending[0]
			ps.sending = ps.sending[1:]
		}
		ps.mu.Unlock()
		if c.doc != nil {
			ps.server.docs.setWritten(ps, c)
		}
	case strings.HasPrefix(start, answerOnWire) && !isRequest(start[len(answerOnWire):]):
		if ps.pendingAnswers.Add(-1) == 0 && ps.config.requested.Load() {
			ps.config.once.Do(func() { close(ps.config.answered) })
		}
	}
}

// isRequest reports whether the text after "id": belongs to a request of gjc. Its IDs are numbers; those of the server can be
// anything.
func isRequest(rest string) bool {
	rest = strings.TrimLeft(rest, "0123456789")
	return strings.HasPrefix(rest, `,"method":`)
}

// setWritten records that a change is being written.
func (ds *documents) setWritten(ps *process, c sentChange) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if c.doc.in == ps {
		c.doc.written, c.doc.since = c.version, ds.published.count
	}
	if c.version > 1 {
		ds.recordChangeLocked(c.doc.key)
	}
}

// dependencyDelay is the time that a server may take to check the files that depend on a changed one: gopls waits a second.
const dependencyDelay = 1500 * time.Millisecond

// recordChange records a change of files on the disk.
func (ds *documents) recordChange() {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.recordChangeLocked("")
}

// recordChangeLocked records a change of a file. ds.mu is held.
func (ds *documents) recordChangeLocked(key string) {
	now := time.Now()
	maps.DeleteFunc(ds.changes, func(_ string, at time.Time) bool { return now.Sub(at) >= dependencyDelay })
	if ds.changes == nil {
		ds.changes = make(map[string]time.Time)
	}
	ds.changes[key] = now
}

// dependencyWaitLocked returns how much longer a change of another file may invalidate diagnostics that were published at a given
// time. ds.mu is held.
func (ds *documents) dependencyWaitLocked(key string, published time.Time) time.Duration {
	var wait time.Duration
	for other, at := range ds.changes {
		if other != key && at.After(published) {
			wait = max(wait, time.Until(at.Add(dependencyDelay)))
		}
	}
	return wait
}
