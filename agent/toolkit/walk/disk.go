package walk

import (
	"errors"
	"io"
	"os"
)

// ReadFile reads a file from the disk and not through the editor. It returns nil for a file with more than limit bytes and for
// anything but a regular file, and never blocks on a pipe.
func ReadFile(path string, limit int64) ([]byte, error) { return ReadInto(nil, path, limit) }

// readWhole reads a file of about size bytes into buf, or into a larger buffer if buf is too small. It returns nil if the file has more
// than limit bytes.
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
		case int64(at) > limit: // it has grown since
			return nil, nil
		case n <= 0 || err != nil || int64(at) == size:
			return buf[:at], nil
		case at == len(buf):
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

// Exists reports whether anything, even a broken link, exists at path on the disk.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
