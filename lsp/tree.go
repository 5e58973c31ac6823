package lsp

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.lsp.dev/protocol"
)

// The kinds of [FileEvent].
const (
	FileCreated = protocol.FileChangeTypeCreated
	FileChanged = protocol.FileChangeTypeChanged
	FileDeleted = protocol.FileChangeTypeDeleted
)

const (
	// scanAge is the age at which the roots are scanned again before a request.
	scanAge = 2 * time.Second
	// scanWait is the time for which a request waits for the scan, which then continues in the background.
	scanWait = 100 * time.Millisecond
	// maxTree bounds the files that are tracked.
	maxTree = 50_000
)

// stamp identifies a state of a file.
type stamp struct {
	size     int64
	modified time.Time
}

// tree tracks the files in the roots to detect changes by commands, version control and the user: servers rely on their client to
// report these. Scanning on demand costs less than watching a large tree with the operating system's facilities.
type tree struct {
	roots []string

	mu        sync.Mutex // guards the fields below
	files     map[string]stamp
	recorded  map[string]bool // the changes that were recorded since the present scan began
	scannedAt time.Time
	scanning  chan struct{} // closed when the present scan is done; nil for none
}

// skipped are directories without sources of the project.
var skipped = map[string]bool{
	".git": true, ".hg": true, ".svn": true, ".jj": true, "node_modules": true, ".venv": true, "venv": true, "__pycache__": true,
	".cache": true, ".task": true, ".gradle": true, ".terraform": true,
}

// scan walks the roots and returns the changes since the last scan; the first scan returns none.
func (t *tree) scan(ctx context.Context) []FileEvent { return t.compare(ctx, t.walk(ctx)) }

// walk returns the files in the roots.
func (t *tree) walk(ctx context.Context) map[string]stamp {
	now := make(map[string]stamp)
	t.mu.Lock()
	t.recorded = make(map[string]bool)
	t.mu.Unlock()
	for _, root := range t.roots {
		// The suffix makes WalkDir follow a root that is a symlink.
		_ = filepath.WalkDir(root+string(filepath.Separator)+".", func(path string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil || len(now) >= maxTree:
				return filepath.SkipAll
			case err != nil:
				if d != nil && d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			case d.IsDir():
				if skipped[d.Name()] {
					return filepath.SkipDir
				}
			case d.Type().IsRegular():
				if info, err := d.Info(); err == nil {
					now[path] = stamp{info.Size(), info.ModTime()}
				}
			}
			return nil
		})
	}
	return now
}

// compare returns the changes from the previous state to the result of a walk, which becomes the new state.
func (t *tree) compare(ctx context.Context, now map[string]stamp) []FileEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil {
		return nil // an incomplete walk does not show that missing files were deleted
	}
	before := t.files
	for path := range t.recorded { // the walk may have seen the file before or after the change
		if s, ok := before[path]; ok {
			now[path] = s
		} else {
			delete(now, path)
		}
	}
	t.files, t.scannedAt, t.recorded = now, time.Now(), nil
	if before == nil {
		return nil
	}
	var events []FileEvent
	for path, s := range now {
		if old, ok := before[path]; !ok {
			events = append(events, FileEvent{path, FileCreated})
		} else if old.size != s.size || !old.modified.Equal(s.modified) {
			events = append(events, FileEvent{path, FileChanged})
		}
	}
	if len(now) < maxTree {
		for path := range before {
			if _, ok := now[path]; !ok && !exists(path) {
				events = append(events, FileEvent{path, FileDeleted})
			}
		}
	}
	return events
}

// exists reports whether a file that a walk did not find may exist. It returns true if that cannot be determined.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// record records known changes, so that the next scan does not return them.
func (t *tree) record(events []FileEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files == nil {
		return
	}
	for _, e := range events {
		if t.recorded != nil {
			t.recorded[e.Path] = true
		}
		if info, err := os.Stat(e.Path); err == nil && info.Mode().IsRegular() {
			t.files[e.Path] = stamp{info.Size(), info.ModTime()}
		} else {
			delete(t.files, e.Path)
		}
	}
}

// rescan scans the roots, unless the last scan is more recent than age, and notifies the servers of changes. It waits for the scan,
// but at most scanWait unless age is zero.
func (w *Workspace) rescan(ctx context.Context, age time.Duration) {
	if len(w.Active()) == 0 {
		return
	}
	t := &w.tree
	t.mu.Lock()
	scanning := t.scanning
	fresh := age > 0 && !t.scannedAt.IsZero() && time.Since(t.scannedAt) < age
	if scanning == nil && !fresh {
		done := make(chan struct{})
		t.scanning, scanning = done, done
		t.mu.Unlock()
		scan := func() {
			if events := t.scan(w.ctx); len(events) > 0 {
				w.notifyChanges(w.ctx, events)
			}
			t.mu.Lock()
			t.scanning = nil
			t.mu.Unlock()
			close(done)
		}
		if !w.manager.background(scan) {
			return
		}
	} else {
		t.mu.Unlock()
	}
	if fresh || scanning == nil {
		return
	}
	var limit <-chan time.Time
	if age > 0 {
		timer := time.NewTimer(scanWait)
		defer timer.Stop()
		limit = timer.C
	}
	select {
	case <-scanning:
	case <-limit:
	case <-ctx.Done():
	}
}
