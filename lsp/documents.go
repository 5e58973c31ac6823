package lsp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
)

const (
	// maxIdle is the number of documents that stay open while no caller holds them, and idleTimeout is the time for which they stay open.
	maxIdle     = 200
	idleTimeout = 5 * time.Minute
	// maxClosedVersions bounds the closed documents whose versions are remembered.
	maxClosedVersions = 20_000
)

// Document is an open document with a text that does not change while a caller holds it. The caller must call Release.
type Document struct {
	Server  *Server
	Path    string
	URI     protocol.DocumentURI
	Version int32
	Text    *Text

	doc      *document
	released bool // guarded by the documents' mu
	// waitDependencies reports that diagnostics published before another file changed do not count.
	waitDependencies bool
}

// documents are the documents that a server has open, or had when its process ended, and its diagnostics.
type documents struct {
	server *Server

	mu    sync.Mutex // guards the fields below and all documents; held while changes are queued, to keep them in order
	byKey map[string]*document
	// closedVersions has the last versions of closed documents: late diagnostics of these must not count for a new version.
	closedVersions map[string]int32
	// heldCount is the number of Documents that are not released.
	heldCount int
	// timer closes idle documents. It is nil if there are none.
	timer     *time.Timer
	closed    bool
	published publications
	// changes holds the times of the last changes that were sent to the server, by file, as long as they are relevant; the empty
	// key stands for files that changed on disk.
	changes map[string]time.Time
}

// document is one open file. It has one text at a time; callers with another text wait in the queue.
type document struct {
	key, path, uri string
	// text is the present text, held or last held.
	text    *Text
	version int32
	holders int
	queue   []*waiter
	// in is the process that has the document open; sent is the text sent to it, as version sentAs. nil for none.
	in     *process
	sent   *Text
	sentAs int32
	// written is the version that was written to the process; since is the number of publications at that time.
	written int32
	since   uint64
	// idleSince is the time of the last release.
	idleSince time.Time
	deleted   bool // from the disk
}

// waiter is a caller that waits for a document with another text.
type waiter struct {
	text    *Text
	granted chan struct{}
}

// sentChange is a change that was queued and is not written yet.
type sentChange struct {
	doc     *document
	version int32
}

func newDocuments(s *Server) *documents {
	return &documents{server: s, byKey: make(map[string]*document), closedVersions: make(map[string]int32), published: newPublications()}
}

// Hold opens a document with a text, or changes its text, and keeps the text until the returned document is released. Callers with
// another text wait. Callers with the same text share the document, unless another caller is already waiting. Released documents
// stay open for a while.
func (s *Server) Hold(ctx context.Context, path, text string) (*Document, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%s: the path %q is not absolute", s.Name(), path)
	}
	d, err := s.docs.acquire(ctx, filepath.Clean(path), text)
	if err != nil {
		return nil, fmt.Errorf("%s: waiting for %s, which another session uses: %w", s.Name(), path, err)
	}
	version, err := s.docs.send(ctx, d)
	if err != nil {
		s.docs.mu.Lock()
		s.docs.releaseLocked(d)
		s.docs.mu.Unlock()
		return nil, err
	}
	return &Document{Server: s, Path: d.path, URI: protocol.DocumentURI(d.uri), Version: version, Text: d.text, doc: d}, nil
}

// acquire waits until the document can have the text, and counts the caller as a holder.
func (ds *documents) acquire(ctx context.Context, path, content string) (*document, error) {
	key := pathKey(path)
	var text *Text
	ds.mu.Lock()
	if d := ds.byKey[key]; d != nil && d.text != nil && d.text.content == content {
		text = d.text
	}
	ds.mu.Unlock()
	if text == nil {
		text = NewText(content) // slow for a long text
	}
	ds.mu.Lock()
	d := ds.byKey[key]
	if d == nil {
		d = &document{key: key, path: path, uri: uriOf(path), version: ds.closedVersions[key]}
		ds.byKey[key] = d
	}
	if len(d.queue) == 0 && (d.holders == 0 || d.text.content == content) {
		d.setLocked(text)
		d.holders++
		ds.mu.Unlock()
		return d, nil
	}
	w := &waiter{text: text, granted: make(chan struct{})}
	d.queue = append(d.queue, w)
	ds.mu.Unlock()
	var cause error
	select {
	case <-w.granted:
		return d, nil
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-ds.server.ctx.Done():
		cause = ErrClosed
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if i := slices.Index(d.queue, w); i >= 0 {
		d.queue = slices.Delete(d.queue, i, i+1)
		d.grantLocked() // the next waiters may want the present text
	} else {
		ds.releaseLocked(d)
	}
	return nil, cause
}

// setLocked changes the text and the version, unless the text is the same.
func (d *document) setLocked(text *Text) {
	if d.text == nil || d.text.content != text.content {
		d.text = text
		d.version++
	}
}

// grantLocked gives the document to the first waiter and all waiters with the same text, if it is free or has that text.
func (d *document) grantLocked() {
	if len(d.queue) == 0 {
		return
	}
	first := d.queue[0].text
	if d.holders > 0 && d.text.content != first.content {
		return
	}
	d.setLocked(first)
	d.queue = slices.DeleteFunc(d.queue, func(w *waiter) bool {
		if w.text.content != first.content {
			return false
		}
		d.holders++
		close(w.granted)
		return true
	})
}

// releaseLocked removes one holder. ds.mu is held.
func (ds *documents) releaseLocked(d *document) {
	d.holders--
	if d.holders > 0 {
		return
	}
	d.grantLocked()
	if d.holders > 0 {
		return
	}
	d.idleSince = time.Now()
	if d.in == nil || d.deleted || ds.closed {
		ds.closeLocked(d)
		return
	}
	ds.closeIdleLocked()
}

// openText is an open document and its text.
type openText struct{ path, text string }

// openTexts returns the documents that are open.
func (ds *documents) openTexts() []openText {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	all := make([]openText, 0, len(ds.byKey))
	for _, d := range ds.byKey {
		if d.in != nil && d.text != nil {
			all = append(all, openText{d.path, d.text.content})
		}
	}
	return all
}

// updateIdle changes the text of an open document, unless a caller holds it or waits for it.
func (ds *documents) updateIdle(path, content string) {
	ps := ds.server.running()
	if ps == nil {
		return
	}
	text := NewText(content)
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d := ds.byKey[pathKey(filepath.Clean(path))]
	if d == nil || d.in != ps || d.holders > 0 || len(d.queue) > 0 {
		return
	}
	d.setLocked(text)
	_ = ds.syncLocked(ps, d) // if the server does not read, the text is sent at the next use
}

// Release releases the document. It may be called twice.
func (d *Document) Release() {
	ds := d.Server.docs
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if d.released {
		return
	}
	d.released = true
	ds.heldCount--
	ds.releaseLocked(d.doc)
}

// send sends the document's text to the server and returns its version. It retries if the process restarts.
func (ds *documents) send(ctx context.Context, d *document) (int32, error) {
	for {
		ps, err := ds.server.ready(ctx)
		if err != nil {
			return 0, err
		}
		ds.mu.Lock()
		err = ds.syncLocked(ps, d)
		version := d.version
		if err == nil {
			ds.heldCount++
		}
		ds.mu.Unlock()
		switch {
		case err == nil:
			return version, nil
		case errors.Is(err, errNotReading):
			if err := ps.conn.Flush(ctx); err != nil {
				return 0, fmt.Errorf("%s: %w: %w", ds.server.Name(), errNotReading, err)
			}
		case jsonrpc.IsGone(err): // ready returns the reason
		default:
			return 0, err
		}
	}
}

// syncLocked sends the document to the process, unless it has the text already. ds.mu is held.
func (ds *documents) syncLocked(ps *process, d *document) error {
	method, params := "", any(nil)
	switch {
	case d.in == ps && (d.sent == d.text || d.sent.content == d.text.content):
		d.version = d.sentAs // an intermediate text may never have been sent
		return nil
	case !ps.sync.openClose:
		d.in, d.sent, d.sentAs, d.written, d.since = ps, d.text, d.version, d.version, ds.published.count
		return nil
	case d.in != ps:
		method = methodOpen
		params = didOpen{documentItem{URI: d.uri, LanguageID: ds.server.opts.Spec.languageID(d.path), Version: d.version, Text: d.text.content}}
	case ps.sync.change == syncNone: // the server does not accept changes
		d.sent, d.sentAs, d.written, d.since = d.text, d.version, d.version, ds.published.count
		return nil
	default:
		method = methodChange
		change := contentChange{Text: d.text.content}
		if ps.sync.change == syncIncremental {
			change = difference(d.sent, d.text, ps.encoding)
		}
		params = didChange{versionedDocument{d.uri, d.version}, []contentChange{change}}
	}
	if d.version > 1 {
		ds.recordChangeLocked(d.key) // from here on, earlier diagnostics may be outdated, even before the change is written
	}
	ps.pushSending(sentChange{d, d.version})
	if err := ps.tryNotify(method, params); err != nil {
		ps.popSending()
		return err
	}
	d.in, d.sent, d.sentAs = ps, d.text, d.version
	return nil
}

// reopen opens the documents of the previous process in a new one.
func (ds *documents) reopen(ctx context.Context, ps *process) error {
	ds.mu.Lock()
	docs := make([]*document, 0, len(ds.byKey))
	for _, d := range ds.byKey {
		if d.in != nil {
			docs = append(docs, d)
		}
	}
	ds.mu.Unlock()
	slices.SortFunc(docs, func(a, b *document) int { return strings.Compare(a.key, b.key) })
	for _, d := range docs {
		for {
			ds.mu.Lock()
			err := error(nil)
			if ds.byKey[d.key] == d && d.in != nil {
				err = ds.syncLocked(ps, d)
			}
			ds.mu.Unlock()
			if !errors.Is(err, errNotReading) {
				if err != nil {
					return err
				}
				break
			}
			if err := ps.conn.Flush(ctx); err != nil {
				return fmt.Errorf("%w: %w", errNotReading, err)
			}
		}
	}
	return nil
}

// hasOpen reports whether there are documents to open again.
func (ds *documents) hasOpen() bool {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	for _, d := range ds.byKey {
		if d.in != nil {
			return true
		}
	}
	return false
}

// inUse reports whether a caller holds a document.
func (ds *documents) inUse() bool {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return ds.heldCount > 0
}

// countOpen returns the number of documents that a process has open.
func (ds *documents) countOpen(ps *process) int {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	n := 0
	for _, d := range ds.byKey {
		if d.in == ps {
			n++
		}
	}
	return n
}

// closeLocked removes a document that has no holders, and closes it in its process. ds.mu is held.
func (ds *documents) closeLocked(d *document) {
	delete(ds.byKey, d.key)
	if len(ds.closedVersions) >= maxClosedVersions {
		clear(ds.closedVersions)
	}
	ds.closedVersions[d.key] = d.version
	if ps := d.in; ps != nil && ps.sync.openClose && !ps.isEnding() {
		if err := ps.tryNotify(methodClose, didClose{documentID{d.uri}}); err != nil && !jsonrpc.IsGone(err) {
			ds.server.logf("[gjc] cannot close %s: %v", d.path, err)
		}
	}
	d.in = nil
	ds.published.resetLocked(d.key)
}

// closeIdleLocked closes the documents that have been idle for too long, and the oldest if there are too many. ds.mu is held.
func (ds *documents) closeIdleLocked() {
	var idle []*document
	for _, d := range ds.byKey {
		if d.holders == 0 && len(d.queue) == 0 {
			idle = append(idle, d)
		}
	}
	slices.SortFunc(idle, func(a, b *document) int { return a.idleSince.Compare(b.idleSince) })
	now := time.Now()
	for len(idle) > 0 && (len(idle) > maxIdle || now.Sub(idle[0].idleSince) >= idleTimeout) {
		ds.closeLocked(idle[0])
		idle = idle[1:]
	}
	if ds.timer != nil {
		ds.timer.Stop()
		ds.timer = nil
	}
	if len(idle) > 0 && !ds.closed {
		ds.timer = time.AfterFunc(idle[0].idleSince.Add(idleTimeout).Sub(now), func() {
			ds.mu.Lock()
			defer ds.mu.Unlock()
			if !ds.closed {
				ds.closeIdleLocked()
			}
		})
	}
}

// fileDeleted closes the document of a deleted file, or those in a deleted directory: at once if it is idle, otherwise when it
// is released.
func (ds *documents) fileDeleted(path string) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	key := pathKey(path)
	for _, d := range ds.byKey {
		if d.key != key && !strings.HasPrefix(d.key, key+string(filepath.Separator)) {
			continue
		}
		if d.holders == 0 && len(d.queue) == 0 {
			ds.closeLocked(d)
		} else {
			d.deleted = true
		}
	}
}

// close stops the timer and wakes all callers that wait for diagnostics.
func (ds *documents) close() {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.closed = true
	if ds.timer != nil {
		ds.timer.Stop()
		ds.timer = nil
	}
	ds.published.notifyLocked()
}

// notify wakes the callers that wait for diagnostics.
func (ds *documents) notify() {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.published.notifyLocked()
}

// Save notifies the server that the document's text was written to disk (didSave). It includes the text if the server requests it.
func (d *Document) Save(ctx context.Context) error {
	ps := d.Server.running()
	if ps == nil {
		return nil // a server that starts later reads the file
	}
	ds := d.Server.docs
	ds.mu.Lock()
	open := d.doc.in == ps
	d.doc.deleted = false
	ds.mu.Unlock()
	options := ps.providers("textDocument/didSave", d.Path)
	if !open || !ps.sync.openClose || len(options) == 0 {
		return nil
	}
	params := didSave{TextDocument: documentID{string(d.URI)}}
	for _, o := range options {
		if isOn(jsonx.Lookup(o, "includeText")) {
			params.Text = new(d.Text.content)
		}
	}
	return ps.callError("textDocument/didSave", ps.conn.Notify(ctx, "textDocument/didSave", params))
}
