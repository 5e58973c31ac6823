package postgres

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/gajae-code/gjc/sessions"
)

// fileSystem is the files of one owner.
type fileSystem struct {
	db    *DB
	owner string

	mu     sync.Mutex        // guards leases
	leases map[string]*lease // by the path of the file
}

// place is a name in a directory.
type place struct{ dir, name string }

// root is the directory that always exists, and has no row.
var root = place{dir: "/"}

// placeOf returns the place of a slash-separated path, which is clean and absolute.
func placeOf(p string) place {
	dir, name := path.Split(p)
	if dir != "/" {
		dir = strings.TrimSuffix(dir, "/")
	}
	return place{dir, name}
}

func (p place) path() string { return path.Join(p.dir, p.name) }

// hasLines reports whether the rows of the file are lines: it is a session, or a temporary file or a copy of one.
func (p place) hasLines() bool { return strings.Contains(p.name, sessionSuffix) }

// isSession reports whether others may have a lease on the file.
func (p place) isSession() bool { return strings.HasSuffix(p.name, sessionSuffix) }

const sessionSuffix = ".jsonl"

// place checks a name. On Windows it may have backslashes.
func (f *fileSystem) place(op, name string) (place, error) {
	p := path.Clean(filepath.ToSlash(name))
	if !strings.HasPrefix(p, "/") || !utf8.ValidString(p) || strings.ContainsRune(p, 0) {
		return place{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return placeOf(p), nil
}

// do runs an operation on a name, with the patience of the database.
func (f *fileSystem) do(op string, at place, run func(ctx context.Context, c *conn, again bool) error) error {
	err := f.db.do(f.db.opts.Patience, run)
	if err == nil || errors.Is(err, sessions.ErrLocked) {
		return err
	}
	return &fs.PathError{Op: op, Path: at.path(), Err: err}
}

// info describes a file or a directory.
type info struct {
	name     string
	id       int64
	dir      bool
	size     int64
	modified time.Time
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) ModTime() time.Time { return i.modified }
func (i info) IsDir() bool        { return i.dir }
func (i info) Sys() any           { return sessions.FileID(i.id) }
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o700
	}
	return 0o600
}

const statName = `SELECT id, is_dir, size, modified FROM gjc_files WHERE owner = $1 AND dir = $2 AND name = $3`

// stat returns a file's information, or [fs.ErrNotExist]. suffix follows the statement, to lock the row.
func (f *fileSystem) stat(ctx context.Context, c *conn, at place, suffix string) (i info, err error) {
	if at == root {
		return info{name: "/", dir: true}, nil
	}
	found, err := c.first(ctx, func(r row) {
		i = info{name: at.name, id: r.int(0), dir: r.bool(1), size: r.int(2), modified: r.time(3)}
	}, statName+suffix, f.owner, at.dir, at.name)
	if err == nil && !found {
		err = fs.ErrNotExist
	}
	return i, err
}

const forUpdate = " FOR UPDATE"

// touch records a change of the names in a directory. It returns [fs.ErrNotExist] if there is no such directory.
func (f *fileSystem) touch(ctx context.Context, c *conn, dir string) error {
	at := placeOf(dir)
	if at == root {
		return nil
	}
	// The time always grows, because lists depend on it.
	n, err := c.exec(ctx, `
UPDATE gjc_files SET modified = greatest(modified + interval '1 microsecond', clock_timestamp())
WHERE owner = $1 AND dir = $2 AND name = $3 AND is_dir`, f.owner, at.dir, at.name)
	if err == nil && n == 0 {
		err = fs.ErrNotExist
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Stat implements [sessions.FileSystem].
func (f *fileSystem) Stat(name string) (fs.FileInfo, error) { return f.Lstat(name) } // there are no links

// Lstat implements [sessions.FileSystem].
func (f *fileSystem) Lstat(name string) (fs.FileInfo, error) {
	at, err := f.place("stat", name)
	if err != nil {
		return nil, err
	}
	var found info
	err = f.do("stat", at, func(ctx context.Context, c *conn, _ bool) (err error) {
		found, err = f.stat(ctx, c, at, "")
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

const readDir = `
SELECT name, id, is_dir, size, modified FROM gjc_files WHERE owner = $1 AND dir = $2
UNION ALL
SELECT NULL, 0, is_dir, 0, modified FROM gjc_files WHERE owner = $1 AND dir = $3 AND name = $4`

// ReadDir implements [sessions.FileSystem] with one query. The entries have their information.
func (f *fileSystem) ReadDir(name string) ([]fs.DirEntry, error) {
	at, err := f.place("readdir", name)
	if err != nil {
		return nil, err
	}
	var entries []fs.DirEntry
	err = f.do("readdir", at, func(ctx context.Context, c *conn, _ bool) error {
		entries = nil
		exists, isDir := at == root, true
		_, err := c.each(ctx, func(r row) {
			if r.null(0) {
				exists, isDir = true, r.bool(2)
				return
			}
			entries = append(entries, fs.FileInfoToDirEntry(info{r.text(0), r.int(1), r.bool(2), r.int(3), r.time(4)}))
		}, readDir, f.owner, at.path(), at.dir, at.name)
		switch {
		case err != nil:
			return err
		case !exists:
			return fs.ErrNotExist
		case !isDir:
			return syscall.ENOTDIR
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

const find = `
SELECT dir, name, id, is_dir, size, modified FROM gjc_files WHERE owner = $1 AND dir > $2 AND dir < $3 AND strpos(name, $4) > 0`

// Find lists what is in the directories of dir, and has part in its name, with one query.
func (f *fileSystem) Find(dir, part string) (map[string][]fs.DirEntry, error) {
	at, err := f.place("readdir", dir)
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(at.path(), "/")
	var all map[string][]fs.DirEntry
	err = f.do("readdir", at, func(ctx context.Context, c *conn, _ bool) error {
		all = make(map[string][]fs.DirEntry)
		_, err := c.each(ctx, func(r row) {
			in := r.text(0)
			if strings.Contains(in[len(prefix)+1:], "/") {
				return // in a directory of a directory
			}
			in = filepath.FromSlash(in)
			all[in] = append(all[in], fs.FileInfoToDirEntry(info{r.text(1), r.int(2), r.bool(3), r.int(4), r.time(5)}))
		}, find, f.owner, prefix+"/", prefix+"0", part) // "0" follows "/"
		return err
	})
	return all, err
}

const createDir = `
INSERT INTO gjc_files (owner, dir, name, is_dir) VALUES ($1, $2, $3, true) ON CONFLICT (owner, dir, name) DO NOTHING`

// MkdirAll implements [sessions.FileSystem].
func (f *fileSystem) MkdirAll(name string, _ fs.FileMode) error {
	at, err := f.place("mkdir", name)
	if err != nil {
		return err
	}
	return f.do("mkdir", at, func(ctx context.Context, c *conn, _ bool) error {
		is, err := f.stat(ctx, c, at, "")
		switch {
		case err == nil && !is.dir:
			return syscall.ENOTDIR
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		return c.tx(ctx, func() error { return f.mkdirAll(ctx, c, at) })
	})
}

func (f *fileSystem) mkdirAll(ctx context.Context, c *conn, at place) error {
	if at == root {
		return nil
	}
	is, err := f.stat(ctx, c, at, "")
	switch {
	case err == nil && !is.dir:
		return syscall.ENOTDIR
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := f.mkdirAll(ctx, c, placeOf(at.dir)); err != nil {
		return err
	}
	if _, err := c.exec(ctx, createDir, f.owner, at.dir, at.name); err != nil {
		return err
	}
	return f.touch(ctx, c, at.dir)
}

// Link implements [sessions.FileSystem]. A file has one name.
func (f *fileSystem) Link(from, to string) error {
	return &os.LinkError{Op: "link", Old: from, New: to, Err: errors.ErrUnsupported}
}

// SyncDir implements [sessions.FileSystem]. What is committed is durable.
func (f *fileSystem) SyncDir(string) error { return nil }

// inTree is the condition for names in the directory $2, at any depth.
const inTree = `owner = $1 AND (dir = $2 OR dir > $2 || '/' AND dir < $2 || '0')` // '0' follows '/'

const (
	deleteName = `DELETE FROM gjc_files WHERE owner = $1 AND dir = $2 AND name = $3`
	deleteFile = `DELETE FROM gjc_files WHERE id = $1`
	deleteTree = `DELETE FROM gjc_files WHERE ` + inTree
	hasNames   = `SELECT 1 FROM gjc_files WHERE owner = $1 AND dir = $2 LIMIT 1`
	moveFile   = `UPDATE gjc_files SET dir = $2, name = $3, fence = $4, nonce = $5 WHERE id = $1`
	moveTree   = `UPDATE gjc_files SET dir = $3 || substr(dir, length($2) + 1) WHERE ` + inTree
	nonceOf    = `SELECT nonce FROM gjc_files WHERE owner = $1 AND dir = $2 AND name = $3`
)

// Remove implements [sessions.FileSystem].
func (f *fileSystem) Remove(name string) error {
	at, err := f.place("remove", name)
	if err != nil {
		return err
	}
	held := f.lease(at)
	return f.do("remove", at, func(ctx context.Context, c *conn, again bool) error {
		err := c.tx(ctx, func() error {
			if err := f.guard(ctx, c, at, held); err != nil {
				return err
			}
			is, err := f.stat(ctx, c, at, forUpdate)
			if err != nil {
				return err
			}
			if err := f.checkEmpty(ctx, c, at, is); err != nil {
				return err
			}
			if _, err := c.exec(ctx, deleteFile, is.id); err != nil {
				return err
			}
			return f.touch(ctx, c, at.dir)
		})
		if again { // it may have been removed before the connection was lost
			err = ignoreMissing(err)
		}
		return err
	})
}

// checkEmpty returns an error for a directory with names in it.
func (f *fileSystem) checkEmpty(ctx context.Context, c *conn, at place, is info) error {
	if !is.dir {
		return nil
	}
	full, err := c.first(ctx, func(row) {}, hasNames, f.owner, at.path())
	if err == nil && full {
		err = syscall.ENOTEMPTY
	}
	return err
}

// RemoveAll implements [sessions.FileSystem].
func (f *fileSystem) RemoveAll(name string) error {
	at, err := f.place("remove", name)
	if err != nil {
		return err
	}
	held := f.lease(at)
	return f.do("remove", at, func(ctx context.Context, c *conn, _ bool) error {
		return c.tx(ctx, func() error {
			if err := f.guard(ctx, c, at, held); err != nil {
				return err
			}
			is, err := f.stat(ctx, c, at, forUpdate)
			if err != nil {
				return ignoreMissing(err)
			}
			if is.dir {
				if _, err := c.exec(ctx, deleteTree, f.owner, at.path()); err != nil {
					return err
				}
			}
			if _, err := c.exec(ctx, deleteFile, is.id); err != nil {
				return err
			}
			return f.touch(ctx, c, at.dir)
		})
	})
}

// Rename implements [sessions.FileSystem] with one transaction.
func (f *fileSystem) Rename(from, to string) error {
	source, err := f.place("rename", from)
	if err != nil {
		return err
	}
	target, err := f.place("rename", to)
	if err != nil {
		return err
	}
	if strings.HasPrefix(target.path(), source.path()+"/") {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrInvalid}
	}
	m := &move{fs: f, source: source, target: target, leaving: f.lease(source), entering: f.lease(target), nonce: token()}
	return f.do("rename", source, func(ctx context.Context, c *conn, again bool) error {
		err := c.tx(ctx, func() error { return m.run(ctx, c) })
		if again && errors.Is(err, fs.ErrNotExist) {
			if done, failed := m.done(ctx, c); failed != nil || done {
				return failed
			}
		}
		return err
	})
}

// move is a change of a name.
type move struct {
	fs                *fileSystem
	source, target    place
	leaving, entering *lease // on the names; nil for none
	nonce             string
}

// run moves the file in a transaction.
func (m *move) run(ctx context.Context, c *conn) error {
	f := m.fs
	if err := errors.Join(f.guard(ctx, c, m.source, m.leaving), f.guard(ctx, c, m.target, m.entering)); err != nil {
		return err
	}
	dirs := []string{min(m.source.dir, m.target.dir), max(m.source.dir, m.target.dir)} // in the same order everywhere, against deadlocks
	for _, dir := range dirs {
		if err := f.touch(ctx, c, dir); err != nil {
			return err
		}
	}
	is, err := f.stat(ctx, c, m.source, forUpdate)
	if err != nil || m.source == m.target {
		return err
	}
	if err := m.clear(ctx, c, is); err != nil {
		return err
	}
	fence := int64(0)
	if m.entering != nil {
		fence = m.entering.epoch
	}
	if _, err := c.exec(ctx, moveFile, is.id, m.target.dir, m.target.name, fence, m.nonce); err != nil || !is.dir {
		return err
	}
	_, err = c.exec(ctx, moveTree, f.owner, m.source.path(), m.target.path())
	return err
}

// clear removes a file, or an empty directory, that has the new name.
func (m *move) clear(ctx context.Context, c *conn, is info) error {
	old, err := m.fs.stat(ctx, c, m.target, forUpdate)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case old.dir != is.dir:
		return fs.ErrExist
	}
	if err := m.fs.checkEmpty(ctx, c, m.target, old); err != nil {
		return err
	}
	_, err = c.exec(ctx, deleteFile, old.id)
	return err
}

// done reports whether an earlier attempt has moved the file.
func (m *move) done(ctx context.Context, c *conn) (done bool, err error) {
	_, err = c.first(ctx, func(r row) { done = r.text(0) == m.nonce }, nonceOf, m.fs.owner, m.target.dir, m.target.name)
	return done, err
}
