package sessions

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// DefaultGCAge is the default of [GCOptions].MinAge. Younger files may belong to a write in progress.
const DefaultGCAge = 24 * time.Hour

// GCOptions adjusts [Store.GC]. Every field is optional.
type GCOptions struct {
	// DryRun reports garbage without removing it.
	DryRun bool
	// MinAge is the minimum time since the last write. If zero, [DefaultGCAge].
	MinAge time.Duration
}

// Garbage is a file, or a directory with its content, that belongs to no session.
type Garbage struct {
	Path string
	// Why is the reason, in a few words.
	Why string
	// Size is in bytes.
	Size int64
}

// GC removes files that no session refers to: blobs, artifacts and marks without a session, and temporary files of dead
// processes. It does not remove sessions. It returns what it removed, or would remove, sorted by path; with an error,
// what it removed before the error. Sessions may be open and written to meanwhile.
//
// If a session file cannot be read, GC removes no blob, since that session could refer to any, and returns an error.
func (s *Store) GC(ctx context.Context, opts GCOptions) ([]Garbage, error) {
	gc := &collector{
		store: s, dryRun: opts.DryRun, named: make(map[string]bool), looked: make(map[string]bool),
		before: s.opts.Clock().Add(-cmp.Or(opts.MinAge, DefaultGCAge)),
	}
	err := gc.run(ctx)
	slices.SortFunc(gc.found, func(a, b Garbage) int { return cmp.Compare(a.Path, b.Path) })
	return gc.found, err
}

type collector struct {
	store  *Store
	dryRun bool
	before time.Time       // leave files that were written later
	named  map[string]bool // the referenced blobs, by file name
	looked map[string]bool // the session files that were scanned for references
	found  []Garbage
}

func (gc *collector) run(ctx context.Context) error {
	var errs []error
	// List blobs before sessions are read: a blob that is stored later is too young to remove.
	blobs, err := gc.store.fs.ReadDir(gc.store.opts.BlobDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	dirs, err := gc.dirs()
	if err != nil {
		errs = append(errs, err)
	}
	for _, dir := range dirs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := gc.directory(ctx, dir); err != nil {
			errs = append(errs, err)
		}
	}
	// A session may have moved from a directory not yet read to one that was.
	dirs, err = gc.dirs()
	if err != nil {
		errs = append(errs, err)
	}
	for _, dir := range dirs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := gc.newcomers(dir); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("no image was removed, because the ones in use could not be determined: %w", errors.Join(errs...))
	}
	for _, e := range blobs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		path := filepath.Join(gc.store.opts.BlobDir, e.Name())
		switch {
		case strings.HasSuffix(e.Name(), tempSuffix):
			errs = append(errs, gc.remove(path, "was being written when a process died"))
		case len(e.Name()) == 64 && !gc.named[e.Name()]:
			errs = append(errs, gc.remove(path, "an image that no session refers to"))
		}
	}
	return errors.Join(errs...)
}

// dirs returns the directories that may hold session files. With an error, some directories cannot be read, for example because a
// symlink points to a disk that is not mounted.
func (gc *collector) dirs() ([]string, error) {
	dirs, err := gc.store.dirs()
	if err != nil {
		return nil, err
	}
	entries, err := gc.store.fs.ReadDir(gc.store.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return dirs, err
	}
	var errs []error
	for _, e := range entries {
		isLink := e.Type()&(fs.ModeSymlink|fs.ModeIrregular) != 0
		if !e.IsDir() && !isLink {
			continue
		}
		_, err := gc.store.fs.Stat(filepath.Join(gc.store.dir, e.Name()))
		if err != nil && (isLink || !errors.Is(err, fs.ErrNotExist)) {
			errs = append(errs, err)
		}
	}
	return dirs, errors.Join(errs...)
}

// newcomers collects the blob references of session files that were not scanned before.
func (gc *collector) newcomers(dir string) error {
	entries, err := gc.store.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() && isArtifactDir(e.Name()) {
			errs = append(errs, gc.children(path))
		}
		if strings.Contains(e.Name(), fileSuffix) && !strings.HasSuffix(e.Name(), lockSuffix) && !e.IsDir() && !gc.looked[path] {
			errs = append(errs, gc.references(path))
		}
	}
	return errors.Join(errs...)
}

// directory scans the sessions of one directory. With an error, some could not be read.
func (gc *collector) directory(ctx context.Context, dir string) error {
	entries, err := gc.store.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	sessions := make(map[string]bool) // by file name without its suffix
	for _, e := range entries {
		if base, _, ok := strings.Cut(e.Name(), fileSuffix); ok && !strings.HasPrefix(base, ".") && !strings.HasSuffix(e.Name(), lockSuffix) {
			sessions[base] = true
		}
	}
	var errs []error
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name, path := e.Name(), filepath.Join(dir, e.Name())
		base, _, isSession := strings.Cut(name, fileSuffix)
		mark, isMark := strings.CutSuffix(name, archivedSuffix)
		switch {
		case e.IsDir():
			if isArtifactDir(name) {
				if !sessions[name] {
					errs = append(errs, gc.remove(path, "artifacts without a session"))
				}
				errs = append(errs, gc.children(path))
			}
		case strings.HasPrefix(name, ".") && strings.HasSuffix(name, tempSuffix):
			errs = append(errs, gc.remove(path, "was being written when a process died"), gc.references(path))
		case strings.HasSuffix(name, lockSuffix):
			if !sessions[base] {
				errs = append(errs, gc.remove(path, "a lock without a session"))
			}
		case isMark:
			if !sessions[mark] {
				errs = append(errs, gc.remove(path, "a mark without a session"))
			}
		case isSession && gc.empty(e):
			errs = append(errs, gc.remove(path, "a session that was never started"))
		case isSession:
			errs = append(errs, gc.references(path))
		}
	}
	return errors.Join(errs...)
}

// children scans the conversations of the helpers in an artifact directory that were not scanned before.
func (gc *collector) children(dir string) error {
	entries, err := gc.store.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(dir, e.Name())
		switch session := strings.TrimSuffix(name, lockSuffix); {
		case e.IsDir():
		case strings.HasPrefix(name, ".") && strings.HasSuffix(name, tempSuffix):
			errs = append(errs, gc.references(path), gc.remove(path, "was being written when a process died"))
		case session != name:
			if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == session }) {
				errs = append(errs, gc.remove(path, "a lock without a session"))
			}
		case strings.HasSuffix(name, fileSuffix) && !gc.looked[path]:
			errs = append(errs, gc.references(path))
		}
	}
	return errors.Join(errs...)
}

// empty reports whether a file is empty: the process died before it wrote the header, so no client received the
// session's ID.
func (*collector) empty(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// isArtifactDir reports whether a directory has the name of a session's artifacts: a time and an ID.
func isArtifactDir(name string) bool {
	_, id, ok := strings.Cut(name, "_")
	return ok && len(name) > 20 && name[0] >= '0' && name[0] <= '9' && checkID(id) == nil
}

// remove removes files that are old enough.
func (gc *collector) remove(path, why string) error {
	size, latest, err := gc.measure(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && latest.After(gc.before) {
		return nil
	}
	if err != nil {
		return err
	}
	if !gc.dryRun {
		if err := gc.take(path); err != nil {
			return fmt.Errorf("removing %s: %w", path, err)
		}
	}
	gc.found = append(gc.found, Garbage{path, why, size})
	return nil
}

// take removes a file or a directory. If a blob is written again at the same moment, take restores it.
func (gc *collector) take(path string) error {
	s := gc.store
	aside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+tempID()+tempSuffix)
	if err := s.fs.Rename(path, aside); err != nil {
		return err
	}
	if info, err := s.fs.Lstat(aside); err == nil && info.Mode().IsRegular() && info.ModTime().After(gc.before) {
		return s.fs.Rename(aside, path)
	}
	return s.fs.RemoveAll(aside)
}

// measure returns the size of a file or a directory tree, and the time of its last write.
func (gc *collector) measure(path string) (size int64, latest time.Time, err error) {
	info, err := gc.store.fs.Lstat(path)
	if err != nil {
		return 0, time.Time{}, err
	}
	if !info.IsDir() {
		return info.Size(), info.ModTime(), nil
	}
	entries, err := gc.store.fs.ReadDir(path)
	if err != nil {
		return 0, time.Time{}, err
	}
	latest = info.ModTime()
	for _, e := range entries {
		n, at, err := gc.measure(filepath.Join(path, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, time.Time{}, err
		}
		size, latest = size+n, later(latest, at)
	}
	return size, latest, nil
}

// references collects the blobs that a file refers to. A missing file refers to none.
func (gc *collector) references(path string) error {
	gc.looked[path] = true
	f, err := gc.store.fs.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	const refSize = len(blobPrefix) + 64
	buf := make([]byte, 1<<20)
	for at, kept := int64(0), 0; ; {
		n, err := f.ReadAt(buf[kept:], at)
		at += int64(n)
		text := buf[:kept+n]
		blobsNamed(text, gc.named)
		kept = copy(buf, text[max(0, len(text)-refSize+1):])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
	}
}

// blobsNamed adds the names of the blobs that a text refers to.
func blobsNamed(text []byte, named map[string]bool) {
	prefix := []byte(blobPrefix)
	for {
		i := bytes.Index(text, prefix)
		if i < 0 {
			return
		}
		text = text[i+len(prefix):]
		if len(text) >= 64 {
			if name, err := blobName(blobPrefix + string(text[:64])); err == nil {
				named[name] = true
			}
		}
	}
}
