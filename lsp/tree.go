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
	// rescanAfter is how old a look at the roots may be when servers are asked something.
	rescanAfter = 2 * time.Second
	// rescanWait is how long such a look keeps a question waiting; it goes on behind that.
	rescanWait = 100 * time.Millisecond
	// maxTree bounds the files that are looked after.
	maxTree = 50_000
)

// stamp tells the states of a file apart.
type stamp struct {
	size     int64
	modified time.Time
}

// tree remembers the files below the roots, to see what others changed: commands, version control, the user. Servers
// that want to know of changes depend on their client for it, and watching large trees with the system's means costs
// more than a look when it matters.
type tree struct {
	roots []string

	mu      sync.Mutex // guards what follows
	files   map[string]stamp
	noted   map[string]bool // what was noted since the present look began
	looked  time.Time
	looking chan struct{} // closed when the present look is over; nil for none
}

// skipped are directories that no project keeps its own sources in.
var skipped = map[string]bool{
	".git": true, ".hg": true, ".svn": true, ".jj": true, "node_modules": true, ".venv": true, "venv": true, "__pycache__": true,
	".cache": true, ".task": true, ".gradle": true, ".terraform": true,
}

// look walks the roots and returns what is different from the last time; nothing the first time.
func (t *tree) look(ctx context.Context) []FileEvent { return t.settle(ctx, t.walk(ctx)) }

// walk returns the files that are there.
func (t *tree) walk(ctx context.Context) map[string]stamp {
	now := make(map[string]stamp)
	t.mu.Lock()
	t.noted = make(map[string]bool)
	t.mu.Unlock()
	for _, root := range t.roots {
		// A root may be a link, which is followed this way.
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

// settle makes what a walk has found the state to compare with, and returns what is different from the one before.
func (t *tree) settle(ctx context.Context, now map[string]stamp) []FileEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil {
		return nil // half a look would make deletions of what it has not seen
	}
	before := t.files
	for path := range t.noted { // it may have been looked at before or behind the change
		if s, there := before[path]; there {
			now[path] = s
		} else {
			delete(now, path)
		}
	}
	t.files, t.looked, t.noted = now, time.Now(), nil
	if before == nil {
		return nil
	}
	var events []FileEvent
	for path, s := range now {
		if old, there := before[path]; !there {
			events = append(events, FileEvent{path, FileCreated})
		} else if old.size != s.size || !old.modified.Equal(s.modified) {
			events = append(events, FileEvent{path, FileChanged})
		}
	}
	if len(now) < maxTree {
		for path := range before {
			if _, there := now[path]; !there && !exists(path) {
				events = append(events, FileEvent{path, FileDeleted})
			}
		}
	}
	return events
}

// exists reports whether a file is there that a look has not found: what could not be read is not gone.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// note takes over changes that are known, so that the next look does not find them again.
func (t *tree) note(events []FileEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files == nil {
		return
	}
	for _, e := range events {
		if t.noted != nil {
			t.noted[e.Path] = true
		}
		if info, err := os.Stat(e.Path); err == nil && info.Mode().IsRegular() {
			t.files[e.Path] = stamp{info.Size(), info.ModTime()}
		} else {
			delete(t.files, e.Path)
		}
	}
}

// rescan looks at the roots, unless the last look is younger than age, and tells the servers what has changed. It waits
// a moment for a look that takes long, which goes on in the background; with a zero age it waits for all of it.
func (w *Workspace) rescan(ctx context.Context, age time.Duration) {
	if len(w.Active()) == 0 {
		return
	}
	t := &w.tree
	t.mu.Lock()
	looking := t.looking
	fresh := age > 0 && !t.looked.IsZero() && time.Since(t.looked) < age
	if looking == nil && !fresh {
		done := make(chan struct{})
		t.looking, looking = done, done
		t.mu.Unlock()
		look := func() {
			if events := t.look(w.ctx); len(events) > 0 {
				w.tell(w.ctx, events)
			}
			t.mu.Lock()
			t.looking = nil
			t.mu.Unlock()
			close(done)
		}
		if !w.manager.background(look) {
			return
		}
	} else {
		t.mu.Unlock()
	}
	if fresh || looking == nil {
		return
	}
	var most <-chan time.Time
	if age > 0 {
		timer := time.NewTimer(rescanWait)
		defer timer.Stop()
		most = timer.C
	}
	select {
	case <-looking:
	case <-most:
	case <-ctx.Done():
	}
}
