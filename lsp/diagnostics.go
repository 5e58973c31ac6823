package lsp

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
)

const (
	// maxPublished bounds the diagnostics of a server that are kept, in bytes as received, and maxPublishedFiles the files that
	// they are for. The oldest are dropped first.
	maxPublished      = 64 << 20
	maxPublishedFiles = 20_000
	// quietPeriod is the time for which a server that sends no versions must publish nothing for a file before its last diagnostics count:
	// many servers publish an empty list shortly before the diagnostics.
	quietPeriod = 100 * time.Millisecond
)

// publications are the diagnostics that a server has published or returned. The documents' mu guards them.
type publications struct {
	files map[string]*list.Element // of *publication
	order *list.List               // the last published first
	size  int
	// count is the number of publications so far.
	count   uint64
	changed chan struct{} // closed and replaced at each publication, and when a process ends
	// refreshes counts the workspace/diagnostic/refresh requests, which invalidate pulled diagnostics.
	refreshes uint64
}

// publication is the last diagnostics of one file.
type publication struct {
	key, path string
	size      int

	pushed    []protocol.Diagnostic // published by the server; nil for never
	versioned bool
	version   int32
	nth       uint64 // the number of the publication; zero for never
	at        time.Time
	in        *process

	// pulled are the answers to requests, by identifier: the server's name for one of its sources of diagnostics.
	pulled map[string]pulled
}

// pulled is the last answer to a request for the diagnostics of a file.
type pulled struct {
	resultID string
	list     []protocol.Diagnostic
	in       *process
}

func newPublications() publications {
	return publications{files: make(map[string]*list.Element), order: list.New(), changed: make(chan struct{})}
}

// notifyLocked wakes the callers that wait for diagnostics.
func (pub *publications) notifyLocked() {
	close(pub.changed)
	pub.changed = make(chan struct{})
}

// getLocked returns the publication of a file, or nil.
func (pub *publications) getLocked(key string) *publication {
	if e := pub.files[key]; e != nil {
		return e.Value.(*publication)
	}
	return nil
}

// touchLocked returns the publication of a file that is about to be updated, and drops the oldest ones over the limits.
func (pub *publications) touchLocked(path string, size int) *publication {
	key := pathKey(path)
	e := pub.files[key]
	if e == nil {
		e = pub.order.PushFront(&publication{key: key, path: path})
		pub.files[key] = e
	} else {
		pub.order.MoveToFront(e)
	}
	p := e.Value.(*publication)
	pub.size += size - p.size
	p.size = size
	for pub.order.Len() > 1 && (pub.size > maxPublished || pub.order.Len() > maxPublishedFiles) {
		oldest := pub.order.Back()
		old := oldest.Value.(*publication)
		pub.order.Remove(oldest)
		delete(pub.files, old.key)
		pub.size -= old.size
	}
	return p
}

// resetLocked invalidates the published diagnostics of a closed document.
func (pub *publications) resetLocked(key string) {
	if p := pub.getLocked(key); p != nil {
		p.nth, p.versioned = 0, false
	}
}

// publish handles textDocument/publishDiagnostics.
func (ds *documents) publish(ps *process, params jsonx.Raw) {
	uri, version, versioned, list := decodePublication(params)
	path := pathOf(uri)
	if path == "" {
		return
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	pub := &ds.published
	pub.count++
	p := pub.touchLocked(path, len(params))
	p.pushed, p.versioned, p.version, p.nth, p.at, p.in = list, versioned, version, pub.count, time.Now(), ps
	pub.notifyLocked()
}

// refresh handles workspace/diagnostic/refresh.
func (ds *documents) refresh() {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.published.refreshes++
	ds.published.notifyLocked()
}

// freshLocked reports whether published diagnostics are about the document's current text: the process that has the text published
// them for this version or a later one, or published them without a version after the text was sent. ds.mu is held.
func (d *document) freshLocked(p *publication, version int32) bool {
	if p == nil || p.nth == 0 || p.in != d.in || d.in == nil || d.written < version {
		return false
	}
	if p.versioned {
		return p.version >= version
	}
	return p.nth > d.since
}

// Diagnostics returns the diagnostics of the document's text. It requests them if the server supports that, and otherwise waits
// until they are published for this version or a later one. If ctx ends first, it returns the earlier diagnostics, and fresh is
// false. The ranges are in the server's position encoding.
func (d *Document) Diagnostics(ctx context.Context) (list []protocol.Diagnostic, fresh bool, err error) {
	for {
		if d.outdated() {
			return nil, false, nil // the server has another text
		}
		ps, err := d.Server.ready(ctx)
		if err != nil {
			return d.earlier(ctx, err)
		}
		if identifiers := ps.identifiers("textDocument/diagnostic", d.Path); len(identifiers) > 0 {
			pulled, err := d.pull(ctx, ps, identifiers)
			if err == nil {
				return d.merge(pulled), !d.outdated(), nil
			}
			if !errors.Is(err, ErrServerDied) && !errors.Is(err, errStopped) {
				return d.earlier(ctx, err)
			}
			continue
		}
		if ps.hasTSServer() {
			if list, ok := d.pullTSServer(ctx, ps); ok {
				return list, !d.outdated(), nil
			}
		}
		if list, ok := d.await(ctx, ps); ok {
			return list, true, nil
		}
		if ctx.Err() != nil {
			return d.earlier(ctx, nil)
		}
	}
}

// outdated reports whether the document was released and another text was sent to the server.
func (d *Document) outdated() bool {
	ds := d.Server.docs
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return d.released && d.doc.version != d.Version
}

// earlier returns the last diagnostics, whichever text they are for. It drops an error caused by the end of ctx.
func (d *Document) earlier(ctx context.Context, err error) ([]protocol.Diagnostic, bool, error) {
	if ctx.Err() != nil && !errors.Is(err, ErrServerFailed) && !errors.Is(err, ErrClosed) {
		err = nil
	}
	return d.Server.Published(d.Path), false, err
}

// await waits for the published diagnostics of the document's text. It returns false if ctx or the process ends first, or if the
// server registers support for diagnostic requests meanwhile.
func (d *Document) await(ctx context.Context, ps *process) (list []protocol.Diagnostic, ok bool) {
	ds := d.Server.docs
	key := pathKey(d.Path)
	for {
		ds.mu.Lock()
		p, changed := ds.published.getLocked(key), ds.published.changed
		fresh := d.doc.freshLocked(p, d.Version)
		if d.released && d.doc.version != d.Version {
			ds.mu.Unlock()
			return nil, false
		}
		var wait time.Duration
		if fresh {
			list = p.pushed
			if !p.versioned {
				wait = time.Until(p.at.Add(quietPeriod))
			}
			if d.waitDependencies {
				wait = max(wait, ds.dependencyWaitLocked(key, p.at))
			}
		}
		ds.mu.Unlock()
		if fresh && wait <= 0 {
			return slices.Clone(list), true
		}
		var quiet <-chan time.Time
		var timer *time.Timer
		if fresh {
			timer = time.NewTimer(wait)
			quiet = timer.C
		}
		select {
		case <-changed:
		case <-quiet:
		case <-ps.conn.Closing():
		case <-ctx.Done():
		}
		if timer != nil {
			timer.Stop()
		}
		switch {
		case fresh && ctx.Err() != nil:
			return slices.Clone(list), true // the last ones so far
		case ps.isEnding() || ctx.Err() != nil:
			return nil, false
		case !fresh && len(ps.identifiers("textDocument/diagnostic", d.Path)) > 0:
			return nil, false // the server now supports diagnostic requests
		}
	}
}

// merge adds the published diagnostics of the text to the requested ones.
func (d *Document) merge(pulled []protocol.Diagnostic) []protocol.Diagnostic {
	ds := d.Server.docs
	ds.mu.Lock()
	defer ds.mu.Unlock()
	p := ds.published.getLocked(pathKey(d.Path))
	if !d.doc.freshLocked(p, d.Version) {
		return pulled
	}
	return mergeDiagnostics(pulled, p.pushed)
}

// Published returns the last diagnostics of a file, whatever text they are for; nil for never.
func (s *Server) Published(path string) []protocol.Diagnostic {
	s.docs.mu.Lock()
	defer s.docs.mu.Unlock()
	p := s.docs.published.getLocked(pathKey(filepath.Clean(path)))
	if p == nil || p.pushed == nil && p.pulled == nil {
		return nil
	}
	list := []protocol.Diagnostic{}
	for _, one := range sorted(p.pulled) {
		list = mergeDiagnostics(list, one.list)
	}
	return mergeDiagnostics(list, p.pushed)
}

// mergeDiagnostics returns a and the diagnostics of b that a does not have.
func mergeDiagnostics(a, b []protocol.Diagnostic) []protocol.Diagnostic {
	switch {
	case len(b) == 0:
		return a
	case len(a) == 0:
		return slices.Clone(b)
	}
	type key struct {
		at            protocol.Range
		message, code string
	}
	keyOf := func(d *protocol.Diagnostic) key { return key{d.Range, d.Message, fmt.Sprint(d.Code)} }
	seen := make(map[key]bool, len(a))
	for i := range a {
		seen[keyOf(&a[i])] = true
	}
	a = slices.Clip(a)
	for i := range b {
		if !seen[keyOf(&b[i])] {
			a = append(a, b[i])
		}
	}
	return a
}

// publishedSnapshot holds the diagnostics that a server has published, by file, at one point in time.
type publishedSnapshot struct {
	files map[string][]protocol.Diagnostic
	count uint64
}

// snapshot returns the diagnostics that the server has published last, by file.
func (ds *documents) snapshot() publishedSnapshot {
	now, _ := ds.publishedSince(publishedSnapshot{})
	return now
}

// publishedSince returns a new snapshot, and the diagnostics that were published after the snapshot before. Those of an open
// document are included only if they are about its current text.
func (ds *documents) publishedSince(before publishedSnapshot) (now publishedSnapshot, files map[string][]protocol.Diagnostic) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	now = publishedSnapshot{files: make(map[string][]protocol.Diagnostic, len(ds.published.files)), count: ds.published.count}
	files = make(map[string][]protocol.Diagnostic)
	for e := ds.published.order.Front(); e != nil; e = e.Next() {
		p := e.Value.(*publication)
		if p.pushed == nil {
			continue
		}
		now.files[p.path] = p.pushed
		if p.nth <= before.count {
			continue
		}
		if d := ds.byKey[p.key]; d != nil && d.in != nil && !d.freshLocked(p, d.version) {
			continue
		}
		files[p.path] = p.pushed
	}
	return now, files
}

// hasPublished reports whether the server has published diagnostics of one of the files (by [pathKey]) after a snapshot.
func (ds *documents) hasPublished(before publishedSnapshot, touched map[string]bool) bool {
	_, files := ds.publishedSince(before)
	for path := range files {
		if touched[pathKey(path)] {
			return true
		}
	}
	return false
}

// nextChange returns a channel that is closed when the server publishes next.
func (ds *documents) nextChange() <-chan struct{} {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return ds.published.changed
}

// awaitQuiet waits until the server has published nothing for d, or until ctx ends.
func (ds *documents) awaitQuiet(ctx context.Context, d time.Duration) {
	for {
		changed := ds.nextChange()
		timer := time.NewTimer(d)
		select {
		case <-changed:
			timer.Stop()
		case <-timer.C:
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// nextPublished waits until the server publishes diagnostics for the document's version again, and returns them. It returns
// false if ctx ends first or the document has another version.
func (d *Document) nextPublished(ctx context.Context) (list []protocol.Diagnostic, ok bool) {
	ds := d.Server.docs
	key := pathKey(d.Path)
	first, began := uint64(0), false
	for {
		ds.mu.Lock()
		p, changed := ds.published.getLocked(key), ds.published.changed
		fresh := d.doc.freshLocked(p, d.Version) && d.doc.version == d.Version
		if fresh && !began {
			first, began = p.nth, true
		}
		if fresh && p.nth > first {
			list = p.pushed
			ds.mu.Unlock()
			return list, true
		}
		other := d.doc.version != d.Version
		ds.mu.Unlock()
		if other {
			return nil, false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, false
		}
	}
}
