package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/gajae-code/gjc/sessions"
)

const (
	chunkSize = 256 << 10 // of files that are not sessions
	maxLine   = 8 << 20   // a longer line takes several rows
	// A write takes a statement for each batch.
	batchBytes = 4 << 20
	batchRows  = 4096
)

// file is an open file.
type file struct {
	fs       *fileSystem
	at       place // when it was opened
	id       int64
	lease    *lease // when it was opened; nil for none
	readable bool
	writable bool
	appends  bool

	mu     sync.Mutex // guards the fields below
	size   int64      // where the next write is expected to begin
	closed bool
}

const createFile = `
INSERT INTO gjc_files (owner, dir, name, is_dir, fence, nonce) VALUES ($1, $2, $3, false, $4, $5)
ON CONFLICT (owner, dir, name) DO NOTHING RETURNING id`

// OpenFile implements [sessions.FileSystem]. A file can only be written at its end.
func (f *fileSystem) OpenFile(name string, flag int, _ fs.FileMode) (sessions.File, error) {
	at, err := f.place("open", name)
	if err != nil {
		return nil, err
	}
	access := flag & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR)
	o := &file{fs: f, at: at, lease: f.lease(at), readable: access != os.O_WRONLY, writable: access != os.O_RDONLY, appends: flag&os.O_APPEND != 0}
	nonce := token()
	err = f.do("open", at, func(ctx context.Context, c *conn, again bool) error {
		is, err := f.stat(ctx, c, at, "")
		switch {
		case errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0:
			return c.tx(ctx, func() error { return o.create(ctx, c, nonce, flag&os.O_EXCL != 0) })
		case err != nil:
			return err
		case is.dir:
			return syscall.EISDIR
		case flag&os.O_EXCL != 0:
			return o.created(ctx, c, is, nonce, again)
		}
		o.id, o.size = is.id, is.size
		return nil
	})
	if err == nil && flag&os.O_TRUNC != 0 && o.size > 0 {
		err = o.Truncate(0)
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// create creates the file in a transaction, or opens one that another process has just created.
func (o *file) create(ctx context.Context, c *conn, nonce string, exclusive bool) error {
	f, fence := o.fs, int64(0)
	if err := f.guard(ctx, c, o.at, o.lease); err != nil {
		return err
	}
	if o.lease != nil {
		fence = o.lease.epoch
	}
	if err := f.touch(ctx, c, o.at.dir); err != nil {
		return err
	}
	created, err := c.first(ctx, func(r row) { o.id = r.int(0) }, createFile, f.owner, o.at.dir, o.at.name, fence, nonce)
	if err != nil || created {
		return err
	}
	if exclusive {
		return fs.ErrExist
	}
	is, err := f.stat(ctx, c, o.at, "")
	o.id, o.size = is.id, is.size
	return err
}

// created returns an error for a file that exists, unless an earlier attempt has created it.
func (o *file) created(ctx context.Context, c *conn, is info, nonce string, again bool) error {
	mine := false
	if again {
		if _, err := c.first(ctx, func(r row) { mine = r.text(0) == nonce }, nonceOf, o.fs.owner, o.at.dir, o.at.name); err != nil {
			return err
		}
	}
	if !mine {
		return fs.ErrExist
	}
	o.id = is.id
	return nil
}

// do runs an operation on the open file.
func (o *file) do(op string, run func(ctx context.Context, c *conn, again bool) error) error {
	return o.fs.do(op, o.at, run)
}

func (o *file) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: o.at.path(), Err: err}
}

// Write implements [io.Writer]: each call adds a row for each line, or for each chunk. It never writes a part of a row. If it is not
// known whether the rows were written, Write returns their size with the error.
func (o *file) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.check("write", o.writable); err != nil {
		return 0, err
	}
	limit := o.fs.db.opts.MaxFile
	if o.at.hasLines() {
		limit = o.fs.db.opts.MaxSession
	}
	written := 0
	for len(b) > written {
		if size := o.size + int64(len(b)-written); size > limit {
			return written, o.fail("write", fmt.Errorf("%w: it would have %d bytes, and can have %d", sessions.ErrTooLarge, size, limit))
		}
		w := o.batch(b[written:])
		err := o.do("write", func(ctx context.Context, c *conn, again bool) error { return w.run(ctx, c, again) })
		if down, ok := errors.AsType[*downError](err); ok && down.unknown {
			return written + len(w.data), err
		}
		if err != nil {
			return written, err
		}
		o.size = w.at + int64(len(w.data))
		written += len(w.data)
		o.ring()
	}
	return written, nil
}

// writing is the write of one batch of rows.
type writing struct {
	file    *file
	at      int64
	data    []byte
	pieces  [][]byte
	offsets string // of the pieces, as an array
}

// batch takes as many rows from the start of b as one statement writes.
func (o *file) batch(b []byte) *writing {
	w := &writing{file: o, at: o.size}
	offsets := []byte{'{'}
	taken := 0
	for taken < len(b) && taken < batchBytes && len(w.pieces) < batchRows {
		piece := b[taken:min(len(b), taken+chunkSize)]
		if o.at.hasLines() {
			piece = b[taken:min(len(b), taken+maxLine)]
			if end := bytes.IndexByte(piece, '\n'); end >= 0 {
				piece = piece[:end+1]
			}
		}
		w.pieces = append(w.pieces, piece)
		offsets = append(strconv.AppendInt(offsets, int64(taken), 10), ',')
		taken += len(piece)
	}
	w.data, w.offsets = b[:taken], string(offsets[:len(offsets)-1])+"}"
	return w
}

const (
	// appendData adds rows to a file that has the expected size and is the writer's.
	appendData = `
WITH f AS (
  UPDATE gjc_files f SET size = size + $4, pieces = pieces + $5, modified = greatest(modified + interval '1 microsecond', clock_timestamp())
  WHERE id = $1 AND size = $2 AND %s
  RETURNING pieces - $5 AS first
)
INSERT INTO gjc_data (file, seq, epoch, at, data)
SELECT $1, f.first + d.n - 1, $3, $2 + d.at, d.data
FROM f, unnest($6::bigint[], $7::bytea[]) WITH ORDINALITY AS d(at, data, n)`

	holdsLease = `fence = $3`
	// noLease is the condition for a writer without a lease: no other has one.
	noLease = `$3 = 0 AND NOT EXISTS (SELECT 1 FROM gjc_leases l
  WHERE l.owner = f.owner AND l.dir = f.dir AND l.name = f.name AND l.expires > clock_timestamp())`

	sizeAndFence = `SELECT size, fence FROM gjc_files WHERE id = $1`

	readData = `
SELECT at, data, epoch FROM gjc_data WHERE file = $1 AND at < $3
  AND at >= coalesce((SELECT max(at) FROM gjc_data WHERE file = $1 AND at <= $2), 0)
ORDER BY at`
)

// run writes the rows. For a file without a lease that has grown meanwhile, it writes them at the new end.
func (w *writing) run(ctx context.Context, c *conn, again bool) error {
	o := w.file
	condition, epoch := noLease, int64(0)
	if o.lease != nil {
		condition, epoch = holdsLease, o.lease.epoch
	}
	for {
		n, err := c.exec(ctx, fmt.Sprintf(appendData, condition), o.id, w.at, epoch, int64(len(w.data)), int64(len(w.pieces)), w.offsets, w.pieces)
		if err != nil || n > 0 {
			return err
		}
		size, err := o.writableSize(ctx, c)
		switch {
		case err != nil:
			return err
		case again && size >= w.at+int64(len(w.data)):
			there, err := w.written(ctx, c, epoch)
			if err != nil || there {
				return err
			}
		}
		if o.lease != nil || !o.appends || size == w.at {
			return fmt.Errorf("another program has written to it: it has %d bytes, not %d", size, w.at)
		}
		w.at, again = size, false
	}
}

// writableSize returns the size of the file. It returns an error if the file is gone, or if another process has the right to write it.
func (o *file) writableSize(ctx context.Context, c *conn) (size int64, err error) {
	var fence int64
	found, err := c.first(ctx, func(r row) { size, fence = r.int(0), r.int(1) }, sizeAndFence, o.id)
	switch {
	case err != nil:
		return 0, err
	case !found:
		return 0, errGone
	case o.lease != nil && fence != o.lease.epoch:
		o.lease.lose()
		return 0, sessions.ErrTakenOver
	case o.lease == nil:
		return size, o.fs.guard(ctx, c, o.at, nil)
	}
	return size, nil
}

// errGone is the error for an open file that has no name any more: its content is gone with it.
var errGone = fmt.Errorf("it was removed or replaced: %w", fs.ErrNotExist)

// written reports whether an earlier attempt has written the rows.
func (w *writing) written(ctx context.Context, c *conn, epoch int64) (bool, error) {
	end := w.at + int64(len(w.data))
	var have []byte
	mine := true
	_, err := c.each(ctx, func(r row) {
		have = append(have, r[1]...)
		mine = mine && r.int(2) == epoch
	}, readData, w.file.id, w.at, end)
	return mine && bytes.Equal(have, w.data), err
}

// ReadAt implements [io.ReaderAt].
func (o *file) ReadAt(b []byte, off int64) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.check("read", o.readable); err != nil {
		return 0, err
	}
	if len(b) == 0 {
		return 0, nil
	}
	n, gone := 0, false
	err := o.do("read", func(ctx context.Context, c *conn, _ bool) error {
		n = 0
		_, err := c.each(ctx, func(r row) {
			at, data := r.int(0), r[1]
			if skip := off - at; skip >= int64(len(data)) {
				return
			} else if skip > 0 {
				data = data[skip:]
			}
			n += copy(b[n:], data)
		}, readData, o.id, off, off+int64(len(b)))
		if err != nil || n > 0 {
			return err
		}
		found, err := c.first(ctx, func(row) {}, sizeAndFence, o.id)
		gone = !found
		return err
	})
	switch {
	case err != nil:
		return 0, err
	case gone:
		return 0, o.fail("read", errGone)
	case n < len(b):
		return n, io.EOF
	}
	return n, nil
}

// Stat implements [sessions.File].
func (o *file) Stat() (fs.FileInfo, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.check("stat", true); err != nil {
		return nil, err
	}
	var is info
	err := o.do("stat", func(ctx context.Context, c *conn, _ bool) error {
		found, err := c.first(ctx, func(r row) { is = info{o.at.name, o.id, false, r.int(0), r.time(1)} },
			"SELECT size, modified FROM gjc_files WHERE id = $1", o.id)
		if err == nil && !found {
			err = errGone
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return is, nil
}

// truncateData removes what follows an offset. Its result is empty if the writer has no right to, or the file is shorter.
const truncateData = `
WITH f AS (
  UPDATE gjc_files f SET size = $2, pieces = (SELECT count(*) FROM gjc_data WHERE file = $1 AND at < $2),
    modified = greatest(modified + interval '1 microsecond', clock_timestamp())
  WHERE id = $1 AND size >= $2 AND %s
  RETURNING id
), gone AS (
  DELETE FROM gjc_data d USING f WHERE d.file = f.id AND d.at >= $2
), cut AS (
  UPDATE gjc_data d SET data = substring(d.data FROM 1 FOR ($2 - d.at)::int) FROM f
  WHERE d.file = f.id AND d.at < $2 AND d.at + length(d.data) > $2
    AND d.at >= (SELECT max(at) FROM gjc_data WHERE file = $1 AND at < $2)
)
SELECT id FROM f`

// Truncate implements [sessions.File]. It cannot make a file longer.
func (o *file) Truncate(size int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.check("truncate", o.writable); err != nil {
		return err
	}
	condition, epoch := noLease, int64(0)
	if o.lease != nil {
		condition, epoch = holdsLease, o.lease.epoch
	}
	err := o.do("truncate", func(ctx context.Context, c *conn, _ bool) error {
		done, err := c.first(ctx, func(row) {}, fmt.Sprintf(truncateData, condition), o.id, size, epoch)
		if err != nil || done {
			return err
		}
		if _, err = o.writableSize(ctx, c); err == nil {
			err = errors.ErrUnsupported
		}
		return err
	})
	if err == nil {
		o.size = size
		o.ring()
	}
	return err
}

// ring wakes the readers of a session.
func (o *file) ring() {
	if o.at.isSession() {
		o.fs.db.ring(o.fs.owner, o.at)
	}
}

// Sync implements [sessions.File]. What is committed is durable.
func (o *file) Sync() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.check("sync", true)
}

// Close implements [sessions.File].
func (o *file) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.check("close", true)
	o.closed = true
	return err
}

// check returns an error if the file is closed or was not opened for this.
func (o *file) check(op string, permitted bool) error {
	switch {
	case o.closed:
		return o.fail(op, fs.ErrClosed)
	case !permitted:
		return o.fail(op, fs.ErrPermission)
	}
	return nil
}

const readFile = `
SELECT f.is_dir, d.data FROM gjc_files f LEFT JOIN gjc_data d ON d.file = f.id
WHERE f.owner = $1 AND f.dir = $2 AND f.name = $3 ORDER BY d.seq`

// ReadFile implements [sessions.FileSystem] with one query.
func (f *fileSystem) ReadFile(name string) ([]byte, error) {
	at, err := f.place("open", name)
	if err != nil {
		return nil, err
	}
	var content []byte
	err = f.do("open", at, func(ctx context.Context, c *conn, _ bool) error {
		content = []byte{}
		found, isDir := false, false
		_, err := c.each(ctx, func(r row) {
			found, isDir = true, r.bool(0)
			content = append(content, r[1]...)
		}, readFile, f.owner, at.dir, at.name)
		switch {
		case err != nil:
			return err
		case isDir:
			return syscall.EISDIR
		case !found:
			return fs.ErrNotExist
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return content, nil
}
