package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// listSettled is how much older than its reading a directory's time must be to be believed: within one tick of
	// the file system's clock a change after the reading may leave it as it is.
	listSettled = 2 * time.Second
	// listTrust is how long a directory is believed. Programs that write to a session without a lock beside it leave
	// no trace in the directory; the list finds what they wrote after this time at the latest.
	listTrust = 30 * time.Second
	// listWorkers look at files side by side, unless there are only a few.
	listWorkers = 8
	fewFiles    = 4
)

// index is what a store knows of its session files. The truth is the disk: what the index file told, and what was
// seen before, counts for a session file only as long as its size and time are the same.
//
// To look at all files takes too long. But whoever writes to a session here has a lock file beside it, so that its
// directory's time changes when it is opened and when it is closed. So in a directory whose time has not changed only
// the files that had a lock beside them are looked at; see listSettled and listTrust.
type index struct {
	mu     sync.Mutex // guards all; held while the disk is read
	loaded bool       // the index file was read, or there is none
	dirs   map[string]*indexDir

	rows      []*indexFile          // what the list shows, in order; not changed once it is made
	byID      map[string]*indexFile // those of rows
	copies    bool                  // there are several files with the same id
	changed   rowsChange            // since rows was made
	snapshots []snapshot            // the one that was used last comes last

	unsaved      int   // changes that the index file does not have
	forget       bool  // among them are sessions that are gone, of which nothing must stay
	unsavedBytes int64 // what it would cost to find them again
}

// rowsChange is what has to be done about the rows of the list.
type rowsChange int

const (
	sameRows  rowsChange = iota
	sameFiles            // they may be in another order
	otherRows
)

// indexDir is a directory of session files.
type indexDir struct {
	name, path string
	// mtime (nanoseconds) is the directory's before it was read, readAt (nanoseconds of the store's clock) when that
	// was. A readAt of zero makes it be read again.
	mtime, readAt int64
	files         map[string]*indexFile
}

// indexFile is a file that may be a session.
type indexFile struct {
	name, dir string // dir is the path of the directory
	locked    bool   // a lock file exists next to it
	archived  bool
	listed    bool // it is in the rows of the list
	record
}

// projectDir is a directory in the store's, or a link to one.
type projectDir struct {
	name, path string
	info       fs.FileInfo
}

// projectDirs returns the directories that may hold session files, by name. Links are followed; of two names for one
// directory the one that is no link counts, else the first.
func (s *Store) projectDirs() ([]projectDir, error) {
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	isLink := func(e fs.DirEntry) bool { return e.Type()&(fs.ModeSymlink|fs.ModeIrregular) != 0 } // a junction on Windows
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		if isLink(a) != isLink(b) {
			if isLink(b) {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name(), b.Name())
	})
	dirs := make([]projectDir, 0, len(entries))
	for _, e := range entries {
		if !e.IsDir() && !isLink(e) {
			continue
		}
		path := filepath.Join(s.dir, e.Name())
		info, err := s.fs.Stat(path)
		if err != nil || !info.IsDir() {
			continue // gone since, or not ours to read
		}
		if isLink(e) && slices.ContainsFunc(dirs, func(d projectDir) bool { return os.SameFile(d.info, info) }) {
			continue
		}
		dirs = append(dirs, projectDir{name: e.Name(), path: path, info: info})
	}
	return dirs, nil
}

// refreshLocked brings the index up to date with the disk.
func (x *index) refreshLocked(ctx context.Context, s *Store) error {
	x.loadLocked(s)
	dirs, err := s.projectDirs()
	if err != nil {
		return fmt.Errorf("reading the session directory: %w", err)
	}
	now := s.opts.Clock().UnixNano()
	x.forgetDirs(dirs)
	looks := make([]dirLook, len(dirs))
	for i := range dirs {
		d := x.dirs[dirs[i].name]
		if d == nil {
			d = &indexDir{name: dirs[i].name, path: dirs[i].path, files: make(map[string]*indexFile)}
			x.dirs[d.name] = d
		}
		looks[i] = dirLook{dir: d, mtime: dirs[i].info.ModTime().UnixNano()}
	}
	parallel(len(looks), 1, func(i int, _ *scanner) { looks[i].look(s, now) })
	var files []fileLook
	for i := range looks {
		if looks[i].changes > 0 {
			x.noteLocked(looks[i].rows, looks[i].changes)
			x.forget = x.forget || looks[i].rows == otherRows
		}
		files = append(files, looks[i].files...)
	}
	parallel(len(files), fewFiles, func(i int, sc *scanner) {
		if ctx.Err() == nil {
			files[i].look(s, sc)
		}
	})
	x.takeLocked(files)
	if ctx.Err() != nil {
		for i := range looks {
			looks[i].dir.readAt = 0
		}
		return context.Cause(ctx)
	}
	x.orderLocked()
	x.saveLocked(s)
	return nil
}

// forgetDirs drops what is not there any more.
func (x *index) forgetDirs(dirs []projectDir) {
	there := make(map[string]bool, len(dirs))
	for i := range dirs {
		there[dirs[i].name] = true
	}
	for name, d := range x.dirs {
		if !there[name] {
			delete(x.dirs, name)
			x.noteLocked(otherRows, len(d.files))
			x.forget = x.forget || len(d.files) > 0
		}
	}
}

// noteLocked takes note of changes.
func (x *index) noteLocked(rows rowsChange, changes int) {
	x.changed = max(x.changed, rows)
	x.unsaved += changes
}

// setLocked takes over what was read of a file.
func (x *index) setLocked(f *indexFile, r record) {
	rows := otherRows
	if f.listed && r.id == f.id && r.begun() && !x.copies {
		rows = sameFiles
	}
	f.record = r
	x.noteLocked(rows, 1)
}

// parallel does work for each of n things, with few of them one after the other.
func parallel(n, few int, work func(i int, sc *scanner)) {
	if n <= few {
		sc := new(scanner)
		for i := range n {
			work(i, sc)
		}
		return
	}
	const batch = 8
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(listWorkers, (n+batch-1)/batch) {
		wg.Go(func() {
			sc := new(scanner)
			for {
				to := int(next.Add(batch))
				for i := to - batch; i < min(to, n); i++ {
					work(i, sc)
				}
				if to >= n {
					return
				}
			}
		})
	}
	wg.Wait()
}

// dirLook is one look at a directory.
type dirLook struct {
	dir     *indexDir
	mtime   int64
	files   []fileLook // to be looked at
	changes int
	rows    rowsChange // because of files that are gone
}

// look reads the directory, if it may have changed.
func (l *dirLook) look(s *Store, now int64) {
	d := l.dir
	if d.believed(l.mtime, now) {
		for _, f := range d.files {
			if f.locked {
				l.files = append(l.files, fileLook{dir: d, file: f})
			}
		}
		return
	}
	entries, err := s.fs.ReadDir(d.path)
	if err != nil {
		l.changes, l.rows = len(d.files), otherRows
		clear(d.files) // gone since, or not ours to read
		d.readAt = 0
		return
	}
	d.mtime, d.readAt = l.mtime, now
	there := make(map[string]bool, len(entries)) // what may be beside a session file
	sessions := 0
	for _, e := range entries {
		switch {
		case isSessionFile(e):
			sessions++
			there[e.Name()] = true
		case strings.HasSuffix(e.Name(), lockSuffix), strings.HasSuffix(e.Name(), archivedSuffix):
			there[e.Name()] = true
		}
	}
	for name := range d.files {
		if !there[name] {
			delete(d.files, name)
			l.changes, l.rows = l.changes+1, otherRows
		}
	}
	l.files = make([]fileLook, 0, sessions)
	for _, e := range entries {
		if !isSessionFile(e) {
			continue
		}
		f := d.file(e.Name())
		locked, archived := there[f.name+lockSuffix], there[archivedMark(f.name)]
		if f.locked != locked || f.archived != archived {
			f.locked, f.archived = locked, archived
			l.changes++
		}
		l.files = append(l.files, fileLook{dir: d, file: f})
	}
}

func isSessionFile(e fs.DirEntry) bool {
	return strings.HasSuffix(e.Name(), fileSuffix) && !strings.HasPrefix(e.Name(), ".") && e.Type().IsRegular()
}

// believed reports whether the directory is as it was when it was read.
func (d *indexDir) believed(mtime, now int64) bool {
	age := now - d.readAt // negative after the clock went back
	return d.mtime == mtime && d.readAt > mtime && d.readAt-mtime >= int64(listSettled) && age >= 0 && age <= int64(listTrust)
}

// file returns what is known of a file in d.
func (d *indexDir) file(name string) *indexFile {
	f := d.files[name]
	if f == nil {
		f = &indexFile{name: name, dir: d.path, record: record{size: -1, bad: true}}
		d.files[name] = f
	}
	return f
}

// fileLook is one look at a file. It changes nothing, so that it may be done beside others.
type fileLook struct {
	dir     *indexDir
	file    *indexFile
	changed bool
	record  record // if changed
	read    int64  // bytes
	again   bool   // the disk failed, so look again next time
}

func (l *fileLook) look(s *Store, sc *scanner) {
	known := &l.file.record
	if known.size >= 0 {
		info, err := s.fs.Lstat(l.file.path())
		if err == nil && info.Size() == known.size && info.ModTime().UnixNano() == known.mtime {
			return
		}
	}
	r, _, _, err := sc.file(s.fs, l.file.path(), known)
	switch {
	case err == nil:
		l.changed, l.record, l.read = true, r, r.size
		if r.offset > 0 && known.offset > 0 && r.offset >= known.offset {
			l.read -= known.offset
		}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		// Not now. What is remembered is not believed when it is there again.
		l.changed, l.record = known.size >= 0, record{size: -1, bad: true}
	default:
		l.again = true
	}
}

// takeLocked takes over what was seen.
func (x *index) takeLocked(files []fileLook) {
	for i := range files {
		l := &files[i]
		if l.again {
			l.dir.readAt = 0
		}
		if !l.changed {
			continue
		}
		x.setLocked(l.file, l.record)
		x.unsavedBytes += l.read
	}
}

// orderLocked makes the rows of the list: sessions that hold a message and that can be opened by their ids. Of several
// files with one id the one that was written last counts, as for [Store.Open].
func (x *index) orderLocked() {
	if x.changed == sameRows {
		return
	}
	rows := slices.Clone(x.rows) // nearly in order
	if x.changed == otherRows {
		rows = x.collectLocked(rows[:0])
	}
	// The times are read once for each row, not for each comparison.
	type placed struct {
		listPlace

		file *indexFile
	}
	sorted := make([]placed, len(rows))
	for i, f := range rows {
		sorted[i] = placed{f.place(), f}
	}
	slices.SortFunc(sorted, func(a, b placed) int { return a.compare(b.listPlace) })
	for i := range sorted {
		rows[i] = sorted[i].file
	}
	x.rows, x.changed = rows, sameRows
}

// collectLocked appends what is to be in the list to rows, what was there already in its order.
func (x *index) collectLocked(rows []*indexFile) []*indexFile {
	n := 0
	for _, d := range x.dirs {
		n += len(d.files)
	}
	x.byID, x.copies = make(map[string]*indexFile, n), false
	for _, d := range x.dirs {
		for _, f := range d.files {
			if f.bad || !f.named() {
				continue
			}
			other := x.byID[f.id]
			x.copies = x.copies || other != nil
			if other == nil || f.mtime > other.mtime || f.mtime == other.mtime && f.path() < other.path() {
				x.byID[f.id] = f
			}
		}
	}
	maps.DeleteFunc(x.byID, func(_ string, f *indexFile) bool { return !f.begun() })
	for _, f := range x.rows {
		f.listed = false
		if x.byID[f.id] == f {
			rows, f.listed = append(rows, f), true
		}
	}
	for _, f := range x.byID {
		if !f.listed {
			rows, f.listed = append(rows, f), true
		}
	}
	return rows
}

func (f *indexFile) path() string { return f.dir + string(filepath.Separator) + f.name }

// named reports whether the file's name is one of its session, so that it is found by its id.
func (f *indexFile) named() bool {
	base := strings.TrimSuffix(f.name, fileSuffix)
	return strings.HasSuffix(base, f.id) && strings.HasSuffix(base[:len(base)-len(f.id)], "_") && checkID(f.id) == nil
}

// listPlace is where a session stands in the list.
type listPlace struct {
	updated time.Time
	name    string // of the file
}

func (f *indexFile) place() listPlace { return listPlace{updated: f.updated(), name: f.name} }

// compare orders by time, latest first, then by name. It compares the names only if the times are equal: all names
// begin alike, which makes that the slower part of a sort.
func (p listPlace) compare(other listPlace) int {
	if c := other.updated.Compare(p.updated); c != 0 {
		return c
	}
	return cmp.Compare(p.name, other.name)
}

// info returns what the list tells of a session.
func (f *indexFile) info() Info {
	return Info{
		ID: f.id, Cwd: f.cwd, AdditionalDirectories: slices.Clone(f.directories), ParentSession: f.parent,
		Archived: f.archived, Title: f.shownTitle(), UpdatedAt: f.updated(), CreatedAt: f.created, Messages: f.messages,
		Size: f.size, Path: f.path(),
	}
}
