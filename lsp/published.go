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
	ds := s.docs
	ds.mu.Lock()
	defer ds.mu.Unlock()
	all := published{files: make(map[string][]protocol.Diagnostic, len(ds.told.files)), count: ds.told.count}
	for e := ds.told.order.Front(); e != nil; e = e.Next() {
		if p := e.Value.(*publication); p.pushed != nil {
			all.files[p.path] = p.pushed
		}
	}
	return all
}

// publishedSince returns what the server has published since.
func (s *Server) publishedSince(before published) map[string][]protocol.Diagnostic {
	ds := s.docs
	ds.mu.Lock()
	defer ds.mu.Unlock()
	files := make(map[string][]protocol.Diagnostic)
	for e := ds.told.order.Front(); e != nil; e = e.Next() {
		p := e.Value.(*publication)
		if p.pushed != nil && p.nth > before.count {
			files[p.path] = p.pushed
		}
	}
	return files
}

// quiet waits until the server has published nothing for d, or until ctx ends.
func (s *Server) quiet(ctx context.Context, d time.Duration) {
	for {
		s.docs.mu.Lock()
		moved := s.docs.told.moved
		s.docs.mu.Unlock()
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
