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
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// listStable is the minimum age of a directory's mtime, when the directory is read, for the mtime to be usable: a
	// change within the same tick of the file system's clock can leave the mtime unchanged.
	listStable = 2 * time.Second
	// listTrust is the time for which an unchanged directory mtime is relied on. Programs that write to a session without a lock file do not
	// change the directory's mtime; List notices their changes after this time.
	listTrust = 30 * time.Second
	// listWorkers is the number of goroutines that read files, if there are more than fewFiles.
	listWorkers = 8
	fewFiles    = 4
)

// index is a store's cache of its session files. An entry is valid only while the size and mtime of its file are
// unchanged.
//
// Checking all files takes too long. But gjc creates a lock file next to a session that it opens, which changes the
// directory's mtime. So in a directory with an unchanged mtime only files that had a lock file are checked; see
// listStable and listTrust.
type index struct {
	mu     sync.Mutex // guards all fields; held while the disk is read
	loaded bool       // the index file was read or does not exist
	dirs   map[string]*indexDir

	rows      []*indexFile          // sorted; immutable once made
	byID      map[string]*indexFile // the files in rows
	copies    bool                  // several files have the same ID
	changed   rowsChange            // since rows was made
	snapshots []snapshot            // least recently used first

	unsaved      int   // changes not yet in the index file
	forget       bool  // sessions were removed, and no trace of them may remain in the index file
	unsavedBytes int64 // the number of bytes to read again to find these changes
}

// rowsChange is the work needed to update the rows of the list.
type rowsChange int

const (
	sameRows  rowsChange = iota
	sameFiles            // the order may have changed
	otherRows
)

// indexDir is a directory of session files.
type indexDir struct {
	name, path string
	// mtime (nanoseconds) is the directory's mtime before it was read, and readAt (nanoseconds of the store's clock)
	// the time of that read. A readAt of zero forces a read.
	mtime, readAt int64
	files         map[string]*indexFile
}

// indexFile is a file that may be a session file.
type indexFile struct {
	name, dir string // dir is the path of the directory
	locked    bool   // a lock file exists next to it
	archived  bool
	listed    bool // it is in the list's rows
	record
}

// projectDir is a directory of the store, or a symlink to one.
type projectDir struct {
	name, path string
	info       fs.FileInfo
}

// projectDirs returns the directories that may hold session files, sorted by name. It follows symlinks. If a directory has several
// names, the name that is not a symlink wins, or else the first.
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
		look := e.Info // which is no further call in a database
		if isLink(e) {
			look = func() (fs.FileInfo, error) { return s.fs.Stat(path) }
		}
		info, err := look()
		if err != nil || !info.IsDir() {
			continue // removed meanwhile, or not readable
		}
		if isLink(e) && slices.ContainsFunc(dirs, func(d projectDir) bool { return os.SameFile(d.info, info) }) {
			continue
		}
		dirs = append(dirs, projectDir{name: e.Name(), path: path, info: info})
	}
	return dirs, nil
}

// refreshLocked updates the index from the disk.
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

// forgetDirs removes directories that no longer exist.
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

// noteLocked records changes.
func (x *index) noteLocked(rows rowsChange, changes int) {
	x.changed = max(x.changed, rows)
	x.unsaved += changes
}

// setLocked stores the result of reading a file.
func (x *index) setLocked(f *indexFile, r record) {
	rows := otherRows
	if f.listed && r.id == f.id && r.begun() && !x.copies {
		rows = sameFiles
	}
	f.record = r
	x.noteLocked(rows, 1)
}

// parallel calls work for each of n items, concurrently unless there are few.
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

// dirLook is the result of one check of a directory.
type dirLook struct {
	dir     *indexDir
	mtime   int64
	files   []fileLook // files to check
	changes int
	rows    rowsChange // set if files were removed
}

// look reads the directory if it may have changed.
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
		clear(d.files) // removed meanwhile, or not readable
		d.readAt = 0
		return
	}
	d.mtime, d.readAt = l.mtime, now
	there := make(map[string]bool, len(entries)) // session files, lock files and archived marks
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
		l.files = append(l.files, fileLook{dir: d, file: f, entry: e})
	}
}

func isSessionFile(e fs.DirEntry) bool {
	return strings.HasSuffix(e.Name(), fileSuffix) && !strings.HasPrefix(e.Name(), ".") && e.Type().IsRegular()
}

// believed reports whether the directory can be considered unchanged since it was read.
func (d *indexDir) believed(mtime, now int64) bool {
	age := now - d.readAt // negative if the clock was set back
	return d.mtime == mtime && d.readAt > mtime && d.readAt-mtime >= int64(listStable) && age >= 0 && age <= int64(listTrust)
}

// file returns the index's entry for a file in d.
func (d *indexDir) file(name string) *indexFile {
	f := d.files[name]
	if f == nil {
		f = &indexFile{name: name, dir: d.path, record: record{size: -1, bad: true}}
		d.files[name] = f
	}
	return f
}

// fileLook is the result of one check of a file. Making one changes nothing, so that files can be checked concurrently.
type fileLook struct {
	dir     *indexDir
	file    *indexFile
	entry   fs.DirEntry // of the directory, if it was read
	changed bool
	record  record // if changed
	read    int64  // bytes
	again   bool   // reading failed; check again next time
}

// info returns the file's information. A database returns it with the directory; on Windows a directory's can be out of date.
func (l *fileLook) info(s *Store) (fs.FileInfo, error) {
	if l.entry != nil && runtime.GOOS != "windows" {
		return l.entry.Info()
	}
	return s.fs.Lstat(l.file.path())
}

func (l *fileLook) look(s *Store, sc *scanner) {
	known := &l.file.record
	if known.size >= 0 {
		info, err := l.info(s)
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
		// The file is unreadable now. Do not reuse the record when it becomes readable again.
		l.changed, l.record = known.size >= 0, record{size: -1, bad: true}
	default:
		l.again = true
	}
}

// takeLocked applies the results of a check.
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

// orderLocked builds the list's rows: the sessions that have a message and can be opened by ID. If several files have the same ID,
// the one written last wins, as in [Store.Open].
func (x *index) orderLocked() {
	if x.changed == sameRows {
		return
	}
	rows := slices.Clone(x.rows) // almost sorted already
	if x.changed == otherRows {
		rows = x.collectLocked(rows[:0])
	}
	// Read the times once for each row, not for each comparison, and compare them as numbers: see [listPlace.compare].
	type placed struct {
		sec, nsec int64
		file      *indexFile
	}
	sorted := make([]placed, len(rows))
	for i, f := range rows {
		at := f.updated()
		sorted[i] = placed{at.Unix(), int64(at.Nanosecond()), f}
	}
	slices.SortFunc(sorted, func(a, b placed) int {
		switch {
		case a.sec != b.sec:
			return cmp.Compare(b.sec, a.sec)
		case a.nsec != b.nsec:
			return cmp.Compare(b.nsec, a.nsec)
		}
		return cmp.Compare(b.file.name, a.file.name)
	})
	for i := range sorted {
		rows[i] = sorted[i].file
	}
	x.rows, x.changed = rows, sameRows
}

// collectLocked appends the files of the list to rows. Existing rows keep their order.
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

// named reports whether the file's name has the session's ID, so that [Store.Open] finds it.
func (f *indexFile) named() bool {
	base := strings.TrimSuffix(f.name, fileSuffix)
	return strings.HasSuffix(base, f.id) && strings.HasSuffix(base[:len(base)-len(f.id)], "_") && checkID(f.id) == nil
}

// listPlace is the position of a session in the list.
type listPlace struct {
	Updated time.Time `json:"updated"`
	Name    string    `json:"name"` // of the file
}

func (f *indexFile) place() listPlace { return listPlace{Updated: f.updated(), Name: f.name} }

// compare orders by time, latest first, then by name, which begins with the time of the session's start. Names are compared only for
// equal times: they have long common prefixes, which makes comparing them slow.
func (p listPlace) compare(other listPlace) int {
	if c := other.Updated.Compare(p.Updated); c != 0 {
		return c
	}
	return cmp.Compare(other.Name, p.Name)
}

// info returns the list's information about a session.
func (f *indexFile) info() Info {
	return Info{
		ID: f.id, Cwd: f.cwd, AdditionalDirectories: slices.Clone(f.directories), ParentSession: f.parent,
		Archived: f.archived, Title: f.shownTitle(), UpdatedAt: f.updated(), CreatedAt: f.created, Messages: f.messages,
		Size: f.size, Path: f.path(),
	}
}
