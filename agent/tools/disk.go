package tools

import (
	"errors"
	"io"
	"os"
)

// disk reads files as they lie on the disk, past the editor: for search, which would otherwise ask the editor for
// every file of the tree, and for ignore files.
type disk struct{}

// readFile returns the file at path. A file with more than limit bytes, or one that is no regular file, gives nil.
func (disk) readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil, err
	}
	data := make([]byte, info.Size()+1)
	n, err := io.ReadFull(f, data)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return data[:n], nil
	case err != nil:
		return nil, err
	default: // it has grown meanwhile
		rest, err := io.ReadAll(io.LimitReader(f, limit))
		return append(data, rest...), err
	}
}

// exists reports whether something is at path.
func (disk) exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
