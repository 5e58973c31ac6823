package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// ErrNotFile is wrapped by the error for a path that is not a regular file: a directory, a pipe, a device, or a broken link.
var ErrNotFile = errors.New("not a regular file")

// ReadFile reads a file of at most [maxBytes] bytes. It does not block: a pipe or a device is an error that wraps [ErrNotFile],
// except for the null device, which is an empty file. Errors are of type [*fs.PathError]; they wrap [fs.ErrNotExist] only if the
// path does not exist, not even as a broken symlink.
func ReadFile(path string) ([]byte, error) {
	fail := func(err error) error { return &fs.PathError{Op: "read", Path: path, Err: err} }
	info, err := os.Stat(path)
	if err != nil {
		if link, _ := os.Lstat(path); link != nil && link.Mode()&fs.ModeSymlink != 0 {
			return nil, fail(fmt.Errorf("%w but a broken link", ErrNotFile))
		}
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(info, null) {
			return nil, nil
		}
		return nil, fail(ErrNotFile)
	}
	tooLarge := fail(fmt.Errorf("the file is larger than %d bytes", maxBytes))
	if info.Size() > maxBytes {
		return nil, tooLarge
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBytes {
		return nil, tooLarge
	}
	return data, nil
}

// errLinkOut is wrapped by the error for a file of a workspace that is a link out of it.
var errLinkOut = errors.New("a link out of the workspace")

// ReadInside is [ReadFile] for a file of a workspace. A file that is outside of root, because it or a directory above it is a link, is an
// error; the null device is not.
func ReadInside(root, path string) ([]byte, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil && real != os.DevNull {
		top, err := filepath.EvalSymlinks(root)
		if err != nil {
			return nil, err
		}
		if rel, err := filepath.Rel(top, real); err != nil || !filepath.IsLocal(rel) {
			return nil, &fs.PathError{Op: "read", Path: path, Err: errLinkOut}
		}
	}
	return ReadFile(path)
}

// Bare returns data without a byte order mark.
func Bare(data []byte) []byte {
	mark := []byte("\ufeff")
	for bytes.HasPrefix(data, mark) {
		data = data[len(mark):]
	}
	return data
}

// IsText reports whether data is UTF-8 text.
func IsText(data []byte) bool { return badText(data) < 0 }

// badText returns the offset of the first byte that is not text, or -1.
func badText(data []byte) int {
	end := bytes.IndexByte(data, 0)
	if end < 0 {
		end = len(data)
	}
	if !utf8.Valid(data[:end]) {
		for i := 0; ; {
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size <= 1 {
				return i
			}
			i += size
		}
	}
	if end < len(data) {
		return end
	}
	return -1
}

// source returns the text of a file.
func source(data []byte) ([]byte, error) {
	data = Bare(data)
	if at := badText(data); at >= 0 {
		return nil, plainf(1+bytes.Count(data[:at], []byte("\n")), "the file is not UTF-8 text; save it as UTF-8")
	}
	return data, nil
}
