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
	// maxUnheld is how many documents nobody holds stay open, and unheldFor for how long.
	maxUnheld = 200
	unheldFor = 5 * time.Minute
	// maxPast bounds the closed documents whose versions are remembered.
	maxPast = 20_000
)

// Document is a text that a server has, held by a caller.
type Document struct {
	Server  *Server
	Path    string
	URI     protocol.DocumentURI
	Version int32
	Text    *Text

	doc      *document
	released bool // guarded by the documents' mu
	// patient says that what the server said before another file changed does not count yet.
	patient bool
}

// documents are what a server has open, or had when it ended, and what it says of files.
type documents struct {
	server *Server

	mu    sync.Mutex // guards what follows, and all documents; held while changes are queued, so that they keep their order
	byKey map[string]*document
	// past has the last versions of documents that were closed: what is still said of those must not count for the next.
	past map[string]int32
	// handed counts the Documents that are not released.
	handed int
	// timer closes those that were not held for long. It is nil while there are none.
	timer  *time.Timer
	closed bool
	told   told
	// changed has when the server was told last of changes, by file, as long as that matters; the empty key stands for files
	// that others have changed.
	changed map[string]time.Time
}

// document is one file. There is one text at a time; who comes with another waits in the queue.
type document struct {
	key, path, uri string
	// text is what is held now, or was last.
	text    *Text
	version int32
	holders int
	queue   []*waiter
	// in is the process that has it open, with the text sent under the version sentAs; nil where none does.
	in     *life
	sent   *Text
	sentAs int32
	// written is the version that has reached the process, and since the number of publications that were there then.
	written int32
	since   uint64
	// unheld is since when nobody holds it.
	unheld time.Time
	gone   bool // from disk
}

// waiter waits for its turn with a document.
type waiter struct {
	text    *Text
	granted chan struct{}
}

// sentChange is a change on its way to the process.
type sentChange struct {
	doc     *document
	version int32
}

func newDocuments(s *Server) *documents {
	return &documents{server: s, byKey: make(map[string]*document), past: make(map[string]int32), told: newTold()}
}

// Hold opens a document with a text, or brings it to that text, and keeps it so until the returned document is released:
// who comes with another text waits. The same text may be held many times at once; who comes with it behind one who waits
// with another waits too. Released documents stay open, for the next, until they have not been held for a while.
func (s *Server) Hold(ctx context.Context, path, text string) (*Document, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%s: the path %q is not absolute", s.Name(), path)
	}
	d, err := s.docs.lease(ctx, filepath.Clean(path), text)
	if err != nil {
		return nil, fmt.Errorf("%s: waiting for %s, which another session works on: %w", s.Name(), path, err)
	}
	version, err := s.docs.bring(ctx, d)
	if err != nil {
		s.docs.mu.Lock()
		s.docs.letGoLocked(d)
		s.docs.mu.Unlock()
		return nil, err
	}
	return &Document{Server: s, Path: d.path, URI: protocol.DocumentURI(d.uri), Version: version, Text: d.text, doc: d}, nil
}

// lease waits for the right to have a document with a text.
func (ds *documents) lease(ctx context.Context, path, content string) (*document, error) {
	key := pathKey(path)
	var text *Text
	ds.mu.Lock()
	if d := ds.byKey[key]; d != nil && d.text != nil && d.text.content == content {
		text = d.text
	}
	ds.mu.Unlock()
	if text == nil {
		text = NewText(content) // takes a while for a long one
	}
	ds.mu.Lock()
	d := ds.byKey[key]
	if d == nil {
		d = &document{key: key, path: path, uri: uriOf(path), version: ds.past[key]}
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
		d.grantLocked() // those behind may be at home with the present text
	} else {
		ds.letGoLocked(d)
	}
	return nil, cause
}

// setLocked makes text the document's, if it is another one.
func (d *document) setLocked(text *Text) {
	if d.text == nil || d.text.content != text.content {
		d.text = text
		d.version++
	}
}

// grantLocked gives the document to who is first in the queue and all who want the same text, if it is free or has it.
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

// letGoLocked ends one hold. ds.mu is held.
func (ds *documents) letGoLocked(d *document) {
	d.holders--
	if d.holders > 0 {
		return
	}
	d.grantLocked()
	if d.holders > 0 {
		return
	}
	d.unheld = time.Now()
	if d.in == nil || d.gone || ds.closed {
		ds.closeLocked(d)
		return
	}
	ds.thinLocked()
}

// openText is a document as the server has it, or shall have it.
type openText struct{ path, text string }

// openTexts are the documents that the server has.
func (s *Server) openTexts() []openText {
	ds := s.docs
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

// offer brings an open document to a text, unless somebody works on it with another one. It waits for nobody.
func (s *Server) offer(path, content string) {
	l := s.running()
	if l == nil {
		return
	}
	text := NewText(content)
	ds := s.docs
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d := ds.byKey[pathKey(filepath.Clean(path))]
	if d == nil || d.in != l || d.holders > 0 || len(d.queue) > 0 {
		return
	}
	d.setLocked(text)
	_ = ds.syncLocked(l, d) // one that is behind gets it with the next use
}

// Release lets go of the document. It may be called twice.
func (d *Document) Release() {
	ds := d.Server.docs
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if d.released {
		return
	}
	d.released = true
	ds.handed--
	ds.letGoLocked(d.doc)
}

// bring brings the server to the document's text and returns its version. Restarts meanwhile are no failure.
func (ds *documents) bring(ctx context.Context, d *document) (int32, error) {
	for {
		l, err := ds.server.ready(ctx)
		if err != nil {
			return 0, err
		}
		ds.mu.Lock()
		err = ds.syncLocked(l, d)
		version := d.version
		if err == nil {
			ds.handed++
		}
		ds.mu.Unlock()
		switch {
		case err == nil:
			return version, nil
		case errors.Is(err, errBehind):
			if err := l.conn.Flush(ctx); err != nil {
				return 0, fmt.Errorf("%s: %w: %w", ds.server.Name(), errBehind, err)
			}
		case jsonrpc.IsGone(err): // ready knows more
		default:
			return 0, err
		}
	}
}

// syncLocked sends what the process does not have of a document yet. ds.mu is held.
func (ds *documents) syncLocked(l *life, d *document) error {
	method, params := "", any(nil)
	switch {
	case d.in == l && (d.sent == d.text || d.sent.content == d.text.content):
		d.version = d.sentAs // a change between the two may never have been sent
		return nil
	case !l.sync.openClose:
		d.in, d.sent, d.sentAs, d.written, d.since = l, d.text, d.version, d.version, ds.told.count
		return nil
	case d.in != l:
		method = methodOpen
		params = didOpen{documentItem{URI: d.uri, LanguageID: ds.server.languageID(d.path), Version: d.version, Text: d.text.content}}
	case l.sync.change == syncNone: // it reads the file on disk, or looks at what it was opened with
		d.sent, d.sentAs, d.written, d.since = d.text, d.version, d.version, ds.told.count
		return nil
	default:
		method = methodChange
		change := contentChange{Text: d.text.content}
		if l.sync.change == syncIncremental {
			change = difference(d.sent, d.text, l.encoding)
		}
		params = didChange{versionedDocument{d.uri, d.version}, []contentChange{change}}
	}
	if d.version > 1 {
		ds.noteChangeLocked(d.key) // from here on, not only when it is on the wire, what was said before may be outdated
	}
	l.expect(sentChange{d, d.version})
	if err := l.tryNotify(method, params); err != nil {
		l.unexpect()
		return err
	}
	d.in, d.sent, d.sentAs = l, d.text, d.version
	return nil
}

// reopen gives a new process the documents that the one before it had.
func (ds *documents) reopen(ctx context.Context, l *life) error {
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
				err = ds.syncLocked(l, d)
			}
			ds.mu.Unlock()
			if !errors.Is(err, errBehind) {
				if err != nil {
					return err
				}
				break
			}
			if err := l.conn.Flush(ctx); err != nil {
				return fmt.Errorf("%w: %w", errBehind, err)
			}
		}
	}
	return nil
}

// waiting reports whether there are documents to be opened again.
func (ds *documents) waiting() bool {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	for _, d := range ds.byKey {
		if d.in != nil {
			return true
		}
	}
	return false
}

// held reports whether somebody holds a document.
func (ds *documents) held() bool {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return ds.handed > 0
}

// open counts the documents that a process has open.
func (ds *documents) open(l *life) int {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	n := 0
	for _, d := range ds.byKey {
		if d.in == l {
			n++
		}
	}
	return n
}

// closeLocked forgets a document and closes it where a process has it open. ds.mu is held, and nobody holds d.
func (ds *documents) closeLocked(d *document) {
	delete(ds.byKey, d.key)
	if len(ds.past) >= maxPast {
		clear(ds.past)
	}
	ds.past[d.key] = d.version
	if l := d.in; l != nil && l.sync.openClose && !l.isOver() {
		if err := l.tryNotify(methodClose, didClose{documentID{d.uri}}); err != nil && !jsonrpc.IsGone(err) {
			ds.server.logf("[gjc] %s was not closed: %v", d.path, err)
		}
	}
	d.in = nil
	ds.told.resetLocked(d.key)
}

// thinLocked closes documents that nobody has held for long, and the oldest where there are too many of them. ds.mu is held.
func (ds *documents) thinLocked() {
	var unheld []*document
	for _, d := range ds.byKey {
		if d.holders == 0 && len(d.queue) == 0 {
			unheld = append(unheld, d)
		}
	}
	slices.SortFunc(unheld, func(a, b *document) int { return a.unheld.Compare(b.unheld) })
	now := time.Now()
	for len(unheld) > 0 && (len(unheld) > maxUnheld || now.Sub(unheld[0].unheld) >= unheldFor) {
		ds.closeLocked(unheld[0])
		unheld = unheld[1:]
	}
	if ds.timer != nil {
		ds.timer.Stop()
		ds.timer = nil
	}
	if len(unheld) > 0 && !ds.closed {
		ds.timer = time.AfterFunc(unheld[0].unheld.Add(unheldFor).Sub(now), func() {
			ds.mu.Lock()
			defer ds.mu.Unlock()
			if !ds.closed {
				ds.thinLocked()
			}
		})
	}
}

// removed closes the document of a file that is gone from disk, or those in a directory: at once where nobody holds it,
// and otherwise when it is released.
func (ds *documents) removed(_ context.Context, path string) {
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
			d.gone = true
		}
	}
}

// close ends what the documents do by themselves.
func (ds *documents) close() {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.closed = true
	if ds.timer != nil {
		ds.timer.Stop()
		ds.timer = nil
	}
	ds.told.moveLocked()
}

// wake lets those who wait for news look again.
func (ds *documents) wake() {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.told.moveLocked()
}

// Save tells the server that the document's text is on disk now (didSave, with the text where it wants that).
func (d *Document) Save(ctx context.Context) error {
	l := d.Server.running()
	if l == nil {
		return nil // who starts later reads it from disk
	}
	ds := d.Server.docs
	ds.mu.Lock()
	open := d.doc.in == l
	d.doc.gone = false
	ds.mu.Unlock()
	wants := l.providers("textDocument/didSave", d.Path)
	if !open || !l.sync.openClose || len(wants) == 0 {
		return nil
	}
	params := didSave{TextDocument: documentID{string(d.URI)}}
	for _, options := range wants {
		if isOn(jsonx.Lookup(options, "includeText")) {
			params.Text = new(d.Text.content)
		}
	}
	return l.callError("textDocument/didSave", l.conn.Notify(ctx, "textDocument/didSave", params))
}
