package lsp

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// FileEvent is a change of a file on disk.
type FileEvent struct {
	Path string
	Type protocol.FileChangeType
}

// FilesChanged notifies the server of the changed files that it watches (workspace/didChangeWatchedFiles), and closes the
// documents of deleted files. It does not start the server.
func (s *Server) FilesChanged(ctx context.Context, events []FileEvent) {
	ps := s.running()
	for _, e := range events {
		if e.Type == protocol.FileChangeTypeDeleted {
			s.docs.fileDeleted(filepath.Clean(e.Path))
		}
	}
	if ps == nil {
		return // a server that starts later reads the files in their current state
	}
	var watchers []watcher
	for _, reg := range ps.registry.of("workspace/didChangeWatchedFiles") {
		watchers = append(watchers, reg.watchers...)
	}
	if len(watchers) == 0 {
		return
	}
	s.docs.recordChange()
	roots := s.roots()
	var changes []watchedFile
	for _, e := range events {
		path := filepath.Clean(e.Path)
		for i := range watchers {
			if watchers[i].wants(e.Type) && watchers[i].matches(path, roots) {
				changes = append(changes, watchedFile{URI: uriOf(path), Type: e.Type})
				break
			}
		}
	}
	if len(changes) == 0 {
		return
	}
	if err := ps.conn.Notify(ctx, "workspace/didChangeWatchedFiles", watchedFiles{changes}); err != nil {
		s.opts.Log.Debug().Str("server", s.Name()).Err(err).Msg("lsp: cannot notify the server of changed files")
	}
}

// roots returns the workspace folders of the server, its root first.
func (s *Server) roots() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{filepath.Clean(s.opts.Root)}, s.folders...)
}

// watcher is a glob of files that a server watches.
type watcher struct {
	// base is the directory that the pattern is relative to; empty for none.
	base    string
	pattern string
	kinds   int // bits: 1 created, 2 modified, 4 deleted
}

const allKinds = 7

// newWatchers parses the options of a registration.
func newWatchers(options jsonx.Raw) ([]watcher, error) {
	var items []struct {
		Glob jsonx.Raw `json:"globPattern"`
		Kind *int      `json:"kind"`
	}
	if raw := jsonx.Lookup(options, "watchers"); raw != nil {
		if err := jsonx.Unmarshal(raw, &items); err != nil {
			return nil, fmt.Errorf("watchers: %w", err)
		}
	}
	if len(items) > maxWatchers {
		return nil, fmt.Errorf("too many watchers (%d, limit %d)", len(items), maxWatchers)
	}
	list := make([]watcher, 0, len(items))
	for _, item := range items {
		w, ok := newWatcher(item.Glob)
		if !ok {
			continue // ignore only this pattern
		}
		if item.Kind != nil {
			w.kinds = *item.Kind
		}
		list = append(list, w)
	}
	return list, nil
}

// newWatcher parses a GlobPattern: a string, or a pattern with its base.
func newWatcher(raw jsonx.Raw) (watcher, bool) {
	w := watcher{kinds: allKinds}
	if raw.Kind() == '{' {
		base := jsonx.Lookup(raw, "baseUri")
		if base.Kind() == '{' { // a workspace folder
			base = jsonx.Lookup(base, "uri")
		}
		if w.base = pathOf(stringOf(base)); w.base == "" {
			return w, false
		}
		raw = jsonx.Lookup(raw, "pattern")
	}
	w.pattern = stringOf(raw)
	return w, w.pattern != "" && doublestar.ValidatePattern(w.pattern)
}

// wants reports whether the watcher includes a kind of change.
func (w *watcher) wants(kind protocol.FileChangeType) bool {
	return kind >= 1 && kind <= 3 && w.kinds&(1<<(int(kind)-1)) != 0
}

// matches reports whether the pattern matches a file. A pattern without a base may match the absolute path or the path relative to
// a root, because servers use either form.
func (w *watcher) matches(path string, roots []string) bool {
	if w.base != "" {
		rel, ok := within(w.base, path)
		return ok && globMatch(w.pattern, rel)
	}
	return globMatch(w.pattern, filepath.ToSlash(path)) || slices.ContainsFunc(roots, func(root string) bool {
		rel, ok := within(root, path)
		return ok && globMatch(w.pattern, rel)
	})
}

func globMatch(pattern, path string) bool {
	ok, err := doublestar.Match(pattern, path)
	return err == nil && ok
}

// within returns the path relative to dir, with slashes, if it is in dir.
func within(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}
