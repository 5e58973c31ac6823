package lsp

import (
	"context"
	"fmt"
	"path/filepath"
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

// FilesChanged tells the server of files that changed on disk, of those that it watches (workspace/didChangeWatchedFiles). A
// document that was removed is closed. It starts nothing.
func (s *Server) FilesChanged(ctx context.Context, events []FileEvent) {
	l := s.running()
	for _, e := range events {
		if e.Type == protocol.FileChangeTypeDeleted {
			s.docs.removed(ctx, filepath.Clean(e.Path))
		}
	}
	if l == nil {
		return // who starts later reads the files as they are then
	}
	var watchers []watcher
	for _, reg := range l.registry.of("workspace/didChangeWatchedFiles") {
		watchers = append(watchers, reg.watchers...)
	}
	if len(watchers) == 0 {
		return
	}
	s.docs.noteChange()
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
	if err := l.conn.Notify(ctx, "workspace/didChangeWatchedFiles", watchedFiles{changes}); err != nil {
		s.opts.Log.Debug().Str("server", s.Name()).Err(err).Msg("lsp: the server was not told of changed files")
	}
}

// roots are the directories of the server, its own first.
func (s *Server) roots() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{filepath.Clean(s.opts.Root)}, s.folders...)
}

// watcher is a glob that a server wants to hear of.
type watcher struct {
	// base is what the pattern is relative to; empty for a pattern of its own.
	base    string
	pattern string
	kinds   int // bits: 1 made, 2 changed, 4 removed
}

const allKinds = 7

// newWatchers reads the options of a registration.
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
		return nil, fmt.Errorf("%d watchers are more than the %d that one registration can have", len(items), maxWatchers)
	}
	list := make([]watcher, 0, len(items))
	for _, item := range items {
		w, ok := newWatcher(item.Glob)
		if !ok {
			continue // it costs the server this pattern, not the others
		}
		if item.Kind != nil {
			w.kinds = *item.Kind
		}
		list = append(list, w)
	}
	return list, nil
}

// newWatcher reads a GlobPattern: text, or text with what it is relative to.
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

// wants reports whether the watcher is for a kind of change.
func (w *watcher) wants(kind protocol.FileChangeType) bool {
	return kind >= 1 && kind <= 3 && w.kinds&(1<<(int(kind)-1)) != 0
}

// matches reports whether the pattern is for a file. One without a base is tried on the absolute path and on those
// relative to the roots: servers mean either.
func (w *watcher) matches(path string, roots []string) bool {
	if w.base != "" {
		rel, ok := within(w.base, path)
		return ok && globMatch(w.pattern, rel)
	}
	if globMatch(w.pattern, filepath.ToSlash(path)) {
		return true
	}
	for _, root := range roots {
		if rel, ok := within(root, path); ok && globMatch(w.pattern, rel) {
			return true
		}
	}
	return false
}

func globMatch(pattern, path string) bool {
	ok, err := doublestar.Match(pattern, path)
	return err == nil && ok
}

// within returns path as seen from dir, with slashes, if it is inside of it.
func within(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}
