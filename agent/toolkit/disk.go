package toolkit

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Disk reads files as they lie on the disk, past the editor: for search, which would otherwise ask the editor for
// every file of the tree, and for ignore files.
type Disk struct{}

// ReadFile returns the file at path. A file with more than limit bytes, or one that is no regular file, gives nil.
func (Disk) ReadFile(path string, limit int64) ([]byte, error) {
	return Disk{}.ReadInto(nil, path, limit)
}

// readWhole reads a file of about that size into buf, or a larger buffer.
func readWhole(buf []byte, size, limit int64, read func([]byte) (int, error)) ([]byte, error) {
	if int64(cap(buf)) <= size {
		buf = make([]byte, size+1)
	}
	buf = buf[:cap(buf)]
	for at := 0; ; {
		n, err := read(buf[at:])
		at += max(n, 0)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case int64(at) > limit: // it has grown meanwhile
			return nil, nil
		case n <= 0 || err != nil || int64(at) == size:
			return buf[:at], nil
		case at == len(buf):
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

// Stat tells about what is at path, without following a link there.
func (Disk) Stat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// Exists reports whether something is at path.
func (Disk) Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
