// Package userfile is for the files that people write and that a session reads again when they have changed: commands, skills,
// rules, helper agents.
package userfile

import (
	"context"
	"io"
	"io/fs"
	"os"
	"time"
)

// Stamp is what a file or a directory looked like from outside. The zero time stands for one that is not there.
type Stamp struct {
	path    string
	changed time.Time
	size    int64
	mode    os.FileMode
}

// StampOf looks at a file or a directory. Take the stamp before the reading: what changes in between is seen as a change then.
func StampOf(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{path: path}
	}
	return Stamp{path: path, changed: info.ModTime(), size: info.Size(), mode: info.Mode()}
}

// Stale reports whether one of the files is another by now. It reads none of them. When ctx ends it reports false.
func Stale(ctx context.Context, stamps []Stamp) bool {
	for _, old := range stamps {
		if ctx.Err() != nil {
			return false
		}
		now := StampOf(old.path)
		if !now.changed.Equal(old.changed) || now.size != old.size || now.mode != old.mode {
			return true
		}
	}
	return false
}

// ReadCapped reads a file of at most most bytes. Of a longer one it returns one byte more, and no error.
func ReadCapped(files fs.FS, name string, most int64) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	return io.ReadAll(io.LimitReader(f, most+1))
}
