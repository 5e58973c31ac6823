package checkpoint

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// databaseSuffix ends the names of databases.
const databaseSuffix = ".checkpoints"

// format is the version of the schema.
const format = 1

// schema of a database. An object's data is compressed if that makes it smaller than size. A row of directory is the index of one
// directory of the tree.
const schema = `
CREATE TABLE IF NOT EXISTS object(id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS directory(path TEXT PRIMARY KEY, files BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS point(id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, time INTEGER NOT NULL, kind TEXT NOT NULL,
  entry TEXT NOT NULL, title TEXT NOT NULL, agent INTEGER NOT NULL, tree BLOB NOT NULL, skipped INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS point_session ON point(session, id);
CREATE TABLE IF NOT EXISTS about(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
`

// database holds the states of one tree. Its methods, other than put, belong to the one who holds the tree's mutex.
type database struct {
	path   string
	looked bool // whether it is time to prune

	mu      sync.Mutex // guards the fields below
	conn    *sqlite.Conn
	open    bool  // a transaction is open
	pending int64 // bytes in the transaction
	prunes  int64 // how often other processes had pruned at the last look

	writers sync.Pool // of *flate.Writer
}

// busyTime bounds the time that a writer waits for those of other processes.
const busyTime = 30 * time.Second

// openDatabase opens the database, and creates it for a directory.
func openDatabase(path, dir string) (_ *database, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite would let others read it
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	db := &database{path: path, conn: conn, prunes: -1}
	defer func() {
		if err != nil {
			err = errors.Join(err, conn.Close())
		}
	}()
	conn.SetBusyTimeout(busyTime)
	// Synced at the checkpoints of its own log only: a power cut can lose the last states, and damages none.
	for _, pragma := range []string{"PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", "PRAGMA trusted_schema = OFF"} {
		if err := sqlitex.ExecuteTransient(conn, pragma, nil); err != nil {
			return nil, err
		}
	}
	var version int64
	if err := db.query("PRAGMA user_version", nil, func(s *sqlite.Stmt) error { version = s.ColumnInt64(0); return nil }); err != nil {
		return nil, err
	}
	switch version {
	case format:
		return db, nil
	case 0:
	default:
		return nil, fmt.Errorf("%s was written by a newer gjc (format %d); update gjc, or remove the file", path, version)
	}
	if err := db.begin(); err != nil {
		return nil, err
	}
	if err := sqlitex.ExecScript(conn, schema); err != nil {
		return nil, err
	}
	if err := db.exec("INSERT OR REPLACE INTO about VALUES('root', ?), ('prunes', 0)", dir); err != nil {
		return nil, err
	}
	if err := sqlitex.ExecuteTransient(conn, fmt.Sprintf("PRAGMA user_version = %d", format), nil); err != nil {
		return nil, err
	}
	return db, db.commit()
}

func (db *database) close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.conn == nil {
		return nil
	}
	err := db.conn.Close() // an open transaction is rolled back
	db.conn = nil
	return err
}

// interrupt makes statements end with ctx. The function that it returns undoes that.
func (db *database) interrupt(ctx context.Context) func() {
	db.conn.SetInterrupt(ctx.Done())
	return func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		if db.conn != nil {
			db.conn.SetInterrupt(nil)
		}
	}
}

func (db *database) query(text string, args []any, row func(*sqlite.Stmt) error) error {
	return sqlitex.Execute(db.conn, text, &sqlitex.ExecOptions{Args: args, ResultFunc: row})
}

func (db *database) exec(text string, args ...any) error { return db.query(text, args, nil) }

// begin begins a transaction, unless there is one.
func (db *database) begin() error {
	if db.open {
		return nil
	}
	if err := db.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	db.open = true
	return nil
}

// commit ends the transaction, if there is one.
func (db *database) commit() error {
	if !db.open {
		return nil
	}
	if err := db.exec("COMMIT"); err != nil {
		return err
	}
	db.open, db.pending = false, 0
	return nil
}

// maxPending bounds what one transaction adds, so that its log does not grow to the size of the tree.
const maxPending = 32 << 20

// has reports whether there is an object.
func (db *database) has(h hash) (bool, error) {
	s, err := db.conn.Prepare("SELECT 1 FROM object WHERE hash = ?")
	if err != nil {
		return false, err
	}
	s.BindBytes(1, h[:])
	found, err := s.Step()
	return found, errors.Join(err, s.Reset())
}

// put stores an object, unless it is there. Several goroutines may call it.
func (db *database) put(k objectKind, data []byte) (hash, error) {
	h := hashOf(k, data)
	found, err := db.locked(func() (bool, error) { return db.has(h) })
	if err != nil || found {
		return h, err
	}
	small, err := db.compress(data)
	if err != nil {
		return h, err
	}
	_, err = db.locked(func() (bool, error) {
		if err := db.begin(); err != nil {
			return false, err
		}
		s, err := db.conn.Prepare("INSERT OR IGNORE INTO object(hash, kind, size, data) VALUES(?, ?, ?, ?)")
		if err != nil {
			return false, err
		}
		s.BindBytes(1, h[:])
		s.BindInt64(2, int64(k))
		s.BindInt64(3, int64(len(data)))
		s.BindBytes(4, small)
		_, err = s.Step()
		if err = errors.Join(err, s.Reset(), s.ClearBindings()); err != nil {
			return false, err
		}
		if db.pending += int64(len(small)) + 64; db.pending > maxPending {
			return true, db.commit()
		}
		return true, nil
	})
	return h, err
}

func (db *database) locked(do func() (bool, error)) (bool, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.conn == nil {
		return false, os.ErrClosed
	}
	return do()
}

// compress returns data compressed, or as it is if that is not shorter.
func (db *database) compress(data []byte) ([]byte, error) {
	const least = 64
	if len(data) < least {
		return data, nil
	}
	var b bytes.Buffer
	w, ok := db.writers.Get().(*flate.Writer)
	if ok {
		w.Reset(&b)
	} else {
		var err error
		if w, err = flate.NewWriter(&b, flate.BestSpeed); err != nil {
			return nil, err
		}
	}
	defer db.writers.Put(w)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if b.Len() >= len(data) {
		return data, nil
	}
	return b.Bytes(), nil
}

// putTree stores the entries of a directory.
func (db *database) putTree(entries []entry) (hash, error) {
	if len(entries) <= maxWhole {
		return db.put(treeObject, encodeEntries(nil, entries))
	}
	var list []byte
	for _, part := range partsOf(entries) {
		h, err := db.put(treeObject, encodeEntries(nil, part))
		if err != nil {
			return hash{}, err
		}
		list = append(list, h[:]...)
	}
	return db.put(dirsObject, list)
}

// get returns an object, and checks it.
func (db *database) get(h hash) (k objectKind, data []byte, err error) {
	found := false
	err = db.query("SELECT kind, size, data FROM object WHERE hash = ?", []any{h[:]}, func(s *sqlite.Stmt) error {
		found = true
		k = objectKind(s.ColumnInt64(0))
		size := s.ColumnInt64(1)
		small := make([]byte, s.ColumnLen(2))
		s.ColumnBytes(2, small)
		if data = small; int64(len(small)) == size {
			return nil
		}
		if size > 2*maxPart*int64(len(h)) {
			return fmt.Errorf("%w: an object of %d bytes", errDamaged, size)
		}
		data = make([]byte, size)
		if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(small)), data); err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		return nil
	})
	switch {
	case err != nil:
		return 0, nil, err
	case !found:
		return 0, nil, fmt.Errorf("%w: the object %x is missing", errDamaged, h[:4])
	case hashOf(k, data) != h:
		return 0, nil, fmt.Errorf("%w: the object %x is another one", errDamaged, h[:4])
	}
	return k, data, nil
}

// entries returns the entries of a directory.
func (db *database) entries(h hash) ([]entry, error) {
	k, data, err := db.get(h)
	if err != nil {
		return nil, err
	}
	switch k {
	case treeObject:
		return decodeEntries(data)
	case dirsObject:
		parts, err := decodeHashes(data)
		if err != nil {
			return nil, err
		}
		var all []entry
		for _, p := range parts {
			k, data, err := db.get(p)
			if err == nil && k != treeObject {
				err = fmt.Errorf("%w: a part of a directory is none", errDamaged)
			}
			if err != nil {
				return nil, err
			}
			entries, err := decodeEntries(data)
			if err != nil {
				return nil, err
			}
			all = append(all, entries...)
		}
		return all, nil
	default:
		return nil, fmt.Errorf("%w: a directory is a file", errDamaged)
	}
}

// writeContent writes the content of a file.
func (db *database) writeContent(w io.Writer, h hash) error {
	k, data, err := db.get(h)
	if err != nil {
		return err
	}
	switch k {
	case blobObject:
		_, err := w.Write(data)
		return err
	case listObject:
		parts, err := decodeHashes(data)
		if err != nil {
			return err
		}
		for _, p := range parts {
			k, data, err := db.get(p)
			if err == nil && k != blobObject {
				err = fmt.Errorf("%w: a part of a file is none", errDamaged)
			}
			if err != nil {
				return err
			}
			if _, err := w.Write(data); err != nil {
				return err
			}
		}
		return nil
	default:
		return fmt.Errorf("%w: a file is a directory", errDamaged)
	}
}

// loadIndex reads the index. Its directories have yet to be listed.
func (db *database) loadIndex(ctx context.Context) (*index, error) {
	x := newIndex()
	dirs := map[string]*directory{"": x.root}
	var at func(rel string) *directory
	at = func(rel string) *directory {
		if d := dirs[rel]; d != nil {
			return d
		}
		above, name := "", rel
		if i := strings.LastIndexByte(rel, '/'); i >= 0 {
			above, name = rel[:i], rel[i+1:]
		}
		d := &directory{name: name}
		parent := at(above)
		parent.dirs = append(parent.dirs, d)
		dirs[rel] = d
		return d
	}
	stop := db.interrupt(ctx)
	defer stop()
	err := db.query("SELECT path, files FROM directory ORDER BY path", nil, func(s *sqlite.Stmt) error {
		data := make([]byte, s.ColumnLen(1))
		s.ColumnBytes(1, data)
		d := at(s.ColumnText(0))
		files, err := decodeIndex(data)
		d.files = files // what can be read of them
		_ = err
		return nil
	})
	for _, d := range dirs {
		sortDirectories(d.dirs)
	}
	return x, err
}

func (db *database) saveDirectory(rel string, files []byte) error {
	if err := db.begin(); err != nil {
		return err
	}
	return db.exec("INSERT OR REPLACE INTO directory VALUES(?, ?)", rel, files)
}

// removeDirectory removes a directory from the index, and all that was in it.
func (db *database) removeDirectory(rel string) error {
	if err := db.begin(); err != nil {
		return err
	}
	return db.exec("DELETE FROM directory WHERE path = ?1 OR path >= ?1 || '/' AND path < ?1 || '0'", rel)
}

// pruned reports whether objects may have been removed since the last look.
func (db *database) pruned() (bool, error) {
	var n int64
	err := db.query("SELECT value FROM about WHERE name = 'prunes'", nil, func(s *sqlite.Stmt) error { n = s.ColumnInt64(0); return nil })
	changed := n != db.prunes && db.prunes >= 0
	db.prunes = n
	return changed, err
}

const pointColumns = "id, session, time, kind, entry, title, agent, tree, skipped"

func pointOf(s *sqlite.Stmt) (Point, error) {
	p := Point{
		ID: s.ColumnInt64(0), Time: time.UnixMilli(s.ColumnInt64(2)).UTC(), Skipped: int(s.ColumnInt64(8)),
		Mark: Mark{Session: s.ColumnText(1), Kind: Kind(s.ColumnText(3)), Entry: s.ColumnText(4), Title: s.ColumnText(5), Agent: s.ColumnBool(6)},
	}
	if s.ColumnBytes(7, p.tree[:]) != len(p.tree) {
		return p, fmt.Errorf("%w: the state %d", errDamaged, p.ID)
	}
	return p, nil
}

// last returns the last point of a session; nil for none.
func (db *database) last(session string) (*Point, error) {
	var last *Point
	err := db.query("SELECT "+pointColumns+" FROM point WHERE session = ? ORDER BY id DESC LIMIT 1", []any{session}, func(s *sqlite.Stmt) error {
		p, err := pointOf(s)
		last = &p
		return err
	})
	return last, err
}

func (db *database) points(session string) ([]Point, error) {
	var all []Point
	err := db.query("SELECT "+pointColumns+" FROM point WHERE ?1 = '' OR session = ?1 ORDER BY id", []any{session}, func(s *sqlite.Stmt) error {
		p, err := pointOf(s)
		all = append(all, p)
		return err
	})
	return all, err
}

// addPoint stores a point and sets its ID.
func (db *database) addPoint(p *Point) error {
	if err := db.begin(); err != nil {
		return err
	}
	err := db.exec("INSERT INTO point(session, time, kind, entry, title, agent, tree, skipped) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
		p.Session, p.Time.UnixMilli(), string(p.Kind), p.Entry, p.Title, p.Agent, p.tree[:], p.Skipped)
	p.ID = db.conn.LastInsertRowID()
	return err
}
