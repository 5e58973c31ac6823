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
	// maxTold bounds what is kept of what a server says of files, in bytes as it came, and maxToldFiles of how many. The
	// files that it spoke of longest ago go first.
	maxTold      = 64 << 20
	maxToldFiles = 20_000
	// quietAfter is how long a server that says no versions must have been silent on a file for its last word to count:
	// many say nothing first and the rest right behind.
	quietAfter = 100 * time.Millisecond
)

// told is what a server says of files. It is guarded by the documents' mu.
type told struct {
	files map[string]*list.Element // of *publication
	order *list.List               // the one spoken of last in front
	size  int
	// count is that of all publications.
	count uint64
	moved chan struct{} // closed and replaced at each of them, and when a process ends
	// stale counts the times that the server said that what was pulled holds no more.
	stale uint64
}

// publication is what a server said last of one file.
type publication struct {
	key, path string
	size      int

	pushed    []protocol.Diagnostic // nil for never
	versioned bool
	version   int32
	nth       uint64 // of all publications; zero for never
	at        time.Time
	in        *life

	// pulled is by identifier, that of the server for one of its sources of problems.
	pulled map[string]pulled
}

// pulled is the last answer to a request for the problems of a file.
type pulled struct {
	resultID string
	list     []protocol.Diagnostic
	in       *life
}

func newTold() told {
	return told{files: make(map[string]*list.Element), order: list.New(), moved: make(chan struct{})}
}

func (t *told) moveLocked() {
	close(t.moved)
	t.moved = make(chan struct{})
}

// getLocked returns what was said of a file, or nil.
func (t *told) getLocked(key string) *publication {
	if e := t.files[key]; e != nil {
		return e.Value.(*publication)
	}
	return nil
}

// touchLocked returns the record of a file that the server speaks of now.
func (t *told) touchLocked(path string, size int) *publication {
	key := pathKey(path)
	e := t.files[key]
	if e == nil {
		e = t.order.PushFront(&publication{key: key, path: path})
		t.files[key] = e
	} else {
		t.order.MoveToFront(e)
	}
	p := e.Value.(*publication)
	t.size += size - p.size
	p.size = size
	for t.order.Len() > 1 && (t.size > maxTold || t.order.Len() > maxToldFiles) {
		oldest := t.order.Back()
		old := oldest.Value.(*publication)
		t.order.Remove(oldest)
		delete(t.files, old.key)
		t.size -= old.size
	}
	return p
}

// resetLocked makes what was said of a file count for no version any more: its versions begin anew.
func (t *told) resetLocked(key string) {
	if p := t.getLocked(key); p != nil {
		p.nth, p.versioned = 0, false
	}
}

// publish takes textDocument/publishDiagnostics.
func (ds *documents) publish(l *life, params jsonx.Raw) {
	uri, version, versioned, list := decodePublication(params)
	path := pathOf(uri)
	if path == "" {
		return
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	t := &ds.told
	t.count++
	p := t.touchLocked(path, len(params))
	p.pushed, p.versioned, p.version, p.nth, p.at, p.in = list, versioned, version, t.count, time.Now(), l
	t.moveLocked()
}

// refresh takes workspace/diagnostic/refresh.
func (ds *documents) refresh() {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.told.stale++
	ds.told.moveLocked()
}

// freshLocked reports whether what was published is about the text that the document has now: said by the process that has
// it, after the text was on its way, for this version or a later one. ds.mu is held.
func (d *document) freshLocked(p *publication, version int32) bool {
	if p == nil || p.nth == 0 || p.in != d.in || d.in == nil || d.written < version {
		return false
	}
	if p.versioned {
		return p.version >= version
	}
	return p.nth > d.since
}

// Diagnostics returns the problems of the document's text: pulled where the server offers that, else as published for this
// version or a later one. It waits for them until ctx ends. fresh is false where the server has not spoken for this version
// by then; what it said before is returned then. The ranges are in the server's own encoding.
func (d *Document) Diagnostics(ctx context.Context) (list []protocol.Diagnostic, fresh bool, err error) {
	for {
		if d.outdated() {
			return nil, false, nil // of a text that is not the server's any more nothing can be known
		}
		l, err := d.Server.ready(ctx)
		if err != nil {
			return d.said(ctx, err)
		}
		if identifiers := l.identifiers("textDocument/diagnostic", d.Path); len(identifiers) > 0 {
			pulled, err := d.pull(ctx, l, identifiers)
			if err == nil {
				return d.merge(pulled), !d.outdated(), nil
			}
			if !errors.Is(err, ErrServerDied) && !errors.Is(err, errStopped) {
				return d.said(ctx, err)
			}
			continue
		}
		if l.hasTSServer() {
			if list, ok := d.askTSServer(ctx, l); ok {
				return list, !d.outdated(), nil
			}
		}
		if list, ok := d.await(ctx, l); ok {
			return list, true, nil
		}
		if ctx.Err() != nil {
			return d.said(ctx, nil)
		}
	}
}

// outdated reports whether the server has got another text since, which takes a released document.
func (d *Document) outdated() bool {
	ds := d.Server.docs
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return d.released && d.doc.version != d.Version
}

// said returns what was said before, for who could not wait.
func (d *Document) said(ctx context.Context, err error) ([]protocol.Diagnostic, bool, error) {
	if ctx.Err() != nil && !errors.Is(err, ErrServerFailed) && !errors.Is(err, ErrClosed) {
		err = nil
	}
	return d.Server.Published(d.Path), false, err
}

// await waits for a publication for the document's text. ok is false when ctx or the process ended, or the server has
// registered to be asked instead.
func (d *Document) await(ctx context.Context, l *life) (list []protocol.Diagnostic, ok bool) {
	ds := d.Server.docs
	key := pathKey(d.Path)
	for {
		ds.mu.Lock()
		p, moved := ds.told.getLocked(key), ds.told.moved
		fresh := d.doc.freshLocked(p, d.Version)
		if d.released && d.doc.version != d.Version {
			ds.mu.Unlock()
			return nil, false
		}
		var wait time.Duration
		if fresh {
			list = p.pushed
			if !p.versioned {
				wait = time.Until(p.at.Add(quietAfter))
			}
			if d.patient {
				wait = max(wait, ds.settlesLocked(key, p.at))
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
		case <-moved:
		case <-quiet:
		case <-l.conn.Closing():
		case <-ctx.Done():
		}
		if timer != nil {
			timer.Stop()
		}
		switch {
		case fresh && ctx.Err() != nil:
			return slices.Clone(list), true // its last word so far
		case l.isOver() || ctx.Err() != nil:
			return nil, false
		case !fresh && len(l.identifiers("textDocument/diagnostic", d.Path)) > 0:
			return nil, false // it wants to be asked now
		}
	}
}

// merge adds to what was pulled for a text what the server published for it.
func (d *Document) merge(pulled []protocol.Diagnostic) []protocol.Diagnostic {
	ds := d.Server.docs
	ds.mu.Lock()
	defer ds.mu.Unlock()
	p := ds.told.getLocked(pathKey(d.Path))
	if !d.doc.freshLocked(p, d.Version) {
		return pulled
	}
	return mergeDiagnostics(pulled, p.pushed)
}

// Published returns what the server said last of a file, published or pulled; nil for never.
func (s *Server) Published(path string) []protocol.Diagnostic {
	s.docs.mu.Lock()
	defer s.docs.mu.Unlock()
	p := s.docs.told.getLocked(pathKey(filepath.Clean(path)))
	if p == nil || p.pushed == nil && p.pulled == nil {
		return nil
	}
	list := []protocol.Diagnostic{}
	for _, one := range sorted(p.pulled) {
		list = mergeDiagnostics(list, one.list)
	}
	return mergeDiagnostics(list, p.pushed)
}

// mergeDiagnostics adds to a what of b is not there.
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
