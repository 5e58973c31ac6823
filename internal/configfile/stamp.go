package configfile

import (
	"context"
	"io"
	"io/fs"
	"os"
	"time"
)

// A Stamp identifies the version of a file or a directory. The zero time stands for a missing one.
type Stamp struct {
	path    string
	changed time.Time
	size    int64
	mode    os.FileMode
}

// StampOf returns the stamp of a file or a directory. Take it before reading the file, so that a change meanwhile is noticed.
func StampOf(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{path: path}
	}
	return Stamp{path: path, changed: info.ModTime(), size: info.Size(), mode: info.Mode()}
}

// Stale reports whether one of the files has changed since its stamp was taken. It reads no file. When ctx ends it returns false.
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

// ReadCapped reads a file of at most most bytes. If the file is longer, it returns the first most+1 bytes and no error.
func ReadCapped(files fs.FS, name string, most int64) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	return io.ReadAll(io.LimitReader(f, most+1))
}
