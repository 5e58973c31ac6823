package lsp

import (
	"context"
	"time"

	"go.lsp.dev/protocol"
)

// published is what a server has published of all files, at one moment.
type published struct {
	files map[string][]protocol.Diagnostic
	count uint64
}

// published returns what the server has published last of each file.
func (s *Server) published() published {
	now, _ := s.publishedSince(published{})
	return now
}

// publishedSince returns what the server has published last of each file, and the files of which it has spoken since, of open
// documents only those where it is about their present text.
func (s *Server) publishedSince(before published) (now published, files map[string][]protocol.Diagnostic) {
	ds := s.docs
	ds.mu.Lock()
	defer ds.mu.Unlock()
	now = published{files: make(map[string][]protocol.Diagnostic, len(ds.told.files)), count: ds.told.count}
	files = make(map[string][]protocol.Diagnostic)
	for e := ds.told.order.Front(); e != nil; e = e.Next() {
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

// spoken reports whether the server has spoken since of one of the files, which are keys of paths.
func (s *Server) spoken(before published, of map[string]bool) bool {
	_, files := s.publishedSince(before)
	for path := range files {
		if of[pathKey(path)] {
			return true
		}
	}
	return false
}

// moved is closed when the server publishes next.
func (s *Server) moved() <-chan struct{} {
	s.docs.mu.Lock()
	defer s.docs.mu.Unlock()
	return s.docs.told.moved
}

// quiet waits until the server has published nothing for d, or until ctx ends.
func (s *Server) quiet(ctx context.Context, d time.Duration) {
	for {
		moved := s.moved()
		timer := time.NewTimer(d)
		select {
		case <-moved:
			timer.Stop()
		case <-timer.C:
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// next waits until the server publishes again for the document's version, behind what it has published by now, and returns
// that. ok is false when ctx ends first or the document has another version.
func (d *Document) next(ctx context.Context) (list []protocol.Diagnostic, ok bool) {
	ds := d.Server.docs
	key := pathKey(d.Path)
	first, began := uint64(0), false
	for {
		ds.mu.Lock()
		p, moved := ds.told.getLocked(key), ds.told.moved
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
		case <-moved:
		case <-ctx.Done():
			return nil, false
		}
	}
}
