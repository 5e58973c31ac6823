package postgres

import (
	"context"
	"io/fs"
)

// Upgrade lets a database know further migrations, by the names of their files, as a later version of the program does.
func (db *DB) Upgrade(more fs.FS) { db.migrations = joined{migrations, more} }

// Pause runs a statement in a transaction, and pauses in the first attempt until resume is closed.
func (db *DB) Pause(statement string, paused chan<- struct{}, resume <-chan struct{}) error {
	first := true
	return db.do(db.opts.Patience, func(ctx context.Context, c *conn, _ bool) error {
		return c.tx(ctx, func() error {
			_, err := c.exec(ctx, statement)
			if first && err == nil {
				first = false
				close(paused)
				<-resume
			}
			return err
		})
	})
}

// joined has the files of two file systems in its directories.
type joined [2]fs.FS

// Open implements [fs.FS].
func (j joined) Open(name string) (fs.File, error) {
	if f, err := j[0].Open(name); err == nil {
		return f, nil
	}
	return j[1].Open(name)
}

// ReadDir implements [fs.ReadDirFS].
func (j joined) ReadDir(name string) ([]fs.DirEntry, error) {
	first, err := fs.ReadDir(j[0], name)
	if err != nil {
		return nil, err
	}
	second, err := fs.ReadDir(j[1], name)
	return append(first, second...), err
}
