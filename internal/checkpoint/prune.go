package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
)

// pruneEvery is the least time between two removals of old points that no one has asked for.
const pruneEvery = 24 * time.Hour

// due reports whether it is time to prune, once for each opening of the database. The caller holds t.mu.
func (t *Tree) due() bool {
	if t.db == nil || t.db.looked || t.opts.Keep <= 0 && t.opts.KeepBytes <= 0 {
		return false
	}
	t.db.looked = true
	var last int64
	err := t.db.query("SELECT value FROM about WHERE name = 'pruned'", nil, func(s *sqlite.Stmt) error { last = s.ColumnInt64(0); return nil })
	since := t.opts.Clock().Sub(time.UnixMilli(last))
	return err == nil && (since < 0 || since > pruneEvery)
}

// Pruned describes what [Tree.Prune] has done.
type Pruned struct {
	// Points is the number of points that were removed, Before and After are the size of the database in bytes.
	Points        int
	Before, After int64
	// Gone reports that the database itself was removed: the directory does not exist any more, and no point of it is left.
	Gone bool
}

// Prune removes the points that are older than [Options.Keep], and then the oldest ones until the database is smaller than
// [Options.KeepBytes], and those of sessions that are gone, with what only they have. A database without points whose directory is gone is
// removed.
func (t *Tree) Prune(ctx context.Context) (Pruned, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.db == nil {
		if _, err := os.Stat(t.Database()); errors.Is(err, os.ErrNotExist) {
			return Pruned{}, nil
		}
	}
	if err := t.open(ctx); err != nil {
		return Pruned{}, err
	}
	p, err := t.prune(ctx)
	if err == nil {
		p.Gone, err = t.removeVanished()
	}
	if err != nil {
		err = errors.Join(err, t.close())
	}
	if p.Gone {
		p.After = 0
	}
	return p, err
}

// removeVanished removes the database if it has no points and can get none, because there is no directory. The caller holds t.mu.
func (t *Tree) removeVanished() (bool, error) {
	if _, err := os.Lstat(t.dir); !errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	points := 0
	err := t.db.query("SELECT count(*) FROM point", nil, func(s *sqlite.Stmt) error { points = s.ColumnInt(0); return nil })
	if err != nil || points > 0 {
		return false, err
	}
	if err := t.close(); err != nil {
		return false, err
	}
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(t.Database() + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
	}
	return true, nil
}

func (t *Tree) prune(ctx context.Context) (Pruned, error) {
	stop := t.db.interrupt(ctx)
	defer stop()
	p := Pruned{Before: t.db.size()}
	if t.opts.Keep > 0 {
		n, err := t.db.removePoints("time < ?", t.opts.Clock().Add(-t.opts.Keep).UnixMilli())
		if err != nil {
			return p, err
		}
		p.Points += n
	}
	n, err := t.removeUnknown(ctx)
	if err != nil {
		return p, err
	}
	p.Points += n
	for first := true; ; first = false {
		if !first || p.Points > 0 {
			if err := t.db.sweep(t.opts.Clock()); err != nil {
				return p, err
			}
		}
		p.After = t.db.size()
		if t.opts.KeepBytes <= 0 || p.After <= t.opts.KeepBytes {
			break
		}
		// A quarter of the points at a time, as the size of what only they have is not known.
		n, err := t.db.removePoints("id IN (SELECT id FROM point ORDER BY id LIMIT max(1, (SELECT count(*) FROM point) / 4)) AND id < (SELECT max(id) FROM point)")
		if err != nil {
			return p, err
		}
		if n == 0 {
			break // the newest state alone is larger
		}
		p.Points += n
	}
	if err := t.db.exec("INSERT OR REPLACE INTO about VALUES('pruned', ?)", t.opts.Clock().UnixMilli()); err != nil {
		return p, err
	}
	return p, nil
}

// removeUnknown removes the points of sessions that do not exist any more.
func (t *Tree) removeUnknown(ctx context.Context) (removed int, err error) {
	if t.opts.Known == nil {
		return 0, nil
	}
	var unknown []string
	err = t.db.query("SELECT DISTINCT session FROM point", nil, func(s *sqlite.Stmt) error {
		if name := s.ColumnText(0); !t.opts.Known(ctx, name) {
			unknown = append(unknown, name)
		}
		return nil
	})
	for _, name := range unknown {
		n, removeErr := t.db.removePoints("session = ?", name)
		removed, err = removed+n, errors.Join(err, removeErr)
	}
	return removed, err
}

func (db *database) removePoints(which string, args ...any) (int, error) {
	if err := db.exec("DELETE FROM point WHERE "+which, args...); err != nil {
		return 0, err
	}
	return db.conn.Changes(), nil
}

// sweep removes the objects that no point has. What another process is about to refer to, it stores again: the count of prunes says so.
func (db *database) sweep(now time.Time) error {
	if err := db.begin(); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			_ = db.exec("ROLLBACK") // the first error counts
			db.open = false
		}
	}()
	used, err := db.reachable()
	if err != nil {
		return err
	}
	var unused []int64
	err = db.query("SELECT id, hash FROM object", nil, func(s *sqlite.Stmt) error {
		var h hash
		s.ColumnBytes(1, h[:])
		if !used[h] {
			unused = append(unused, s.ColumnInt64(0))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range unused {
		if err := db.exec("DELETE FROM object WHERE id = ?", id); err != nil {
			return err
		}
	}
	if err := db.exec("UPDATE about SET value = value + 1 WHERE name = 'prunes'"); err != nil {
		return err
	}
	if err := db.commit(); err != nil {
		return err
	}
	done = true
	if err := db.query("PRAGMA incremental_vacuum", nil, func(*sqlite.Stmt) error { return nil }); err != nil {
		return err
	}
	return db.query("PRAGMA wal_checkpoint(TRUNCATE)", nil, func(*sqlite.Stmt) error { return nil })
}

// reachable returns the objects that points have. What is damaged is as if it had nothing.
func (db *database) reachable() (map[hash]bool, error) {
	used := make(map[hash]bool)
	var visit func(h hash, dir bool) error
	visit = func(h hash, dir bool) error {
		if used[h] {
			return nil
		}
		used[h] = true
		k, data, err := db.peek(h, dir)
		switch {
		case err != nil:
			return err
		case k == listObject || k == dirsObject:
			parts, err := decodeHashes(data)
			if err != nil {
				return nil //nolint:nilerr // damaged
			}
			for _, p := range parts {
				if err := visit(p, k == dirsObject); err != nil {
					return err
				}
			}
		case k == treeObject:
			entries, err := decodeEntries(data)
			if err != nil {
				return nil //nolint:nilerr // damaged
			}
			for i := range entries {
				if e := &entries[i]; e.typ != skippedEntry {
					if err := visit(e.hash, e.typ == dirEntry); err != nil {
						return err
					}
				}
			}
		default:
		}
		return nil
	}
	var roots []hash
	err := db.query("SELECT DISTINCT tree FROM point", nil, func(s *sqlite.Stmt) error {
		var h hash
		s.ColumnBytes(0, h[:])
		roots = append(roots, h)
		return nil
	})
	for _, h := range roots {
		if err == nil {
			err = visit(h, true)
		}
	}
	return used, err
}

// peek returns an object that refers to others; only the kind of a file's content.
func (db *database) peek(h hash, dir bool) (k objectKind, data []byte, err error) {
	if !dir {
		err = db.query("SELECT kind FROM object WHERE hash = ?", []any{h[:]}, func(s *sqlite.Stmt) error {
			k = objectKind(s.ColumnInt64(0))
			return nil
		})
		if err != nil || k != listObject {
			return k, nil, err
		}
	}
	k, data, err = db.get(h)
	if errors.Is(err, errDamaged) {
		return 0, nil, nil
	}
	return k, data, err
}

// size returns the bytes that the database takes.
func (db *database) size() int64 { return sizeOf(db.path) }

func sizeOf(path string) int64 {
	var total int64
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(path + suffix); err == nil {
			total += info.Size()
		}
	}
	return total
}

// Stored describes a database.
type Stored struct {
	Path string
	// Dir is the directory whose states it has; empty if it cannot be read.
	Dir  string
	Size int64
}

// List lists the databases in a directory.
func List(dir string) ([]Stored, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all []Stored
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), databaseSuffix) {
			continue
		}
		s := Stored{Path: filepath.Join(dir, e.Name())}
		s.Size = sizeOf(s.Path)
		if db, err := openDatabase(s.Path, ""); err == nil {
			err = db.query("SELECT value FROM about WHERE name = 'root'", nil, func(st *sqlite.Stmt) error { s.Dir = st.ColumnText(0); return nil })
			if err = errors.Join(err, db.close()); err != nil {
				s.Dir = ""
			}
		}
		all = append(all, s)
	}
	return all, err
}
