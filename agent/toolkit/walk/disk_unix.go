//go:build unix

package walk

import (
	"errors"
	"io/fs"
	"syscall"
)

// ReadInto is like [ReadFile], but reads into buf, or into a larger buffer if buf is too small. It minimizes system calls, because
// a search reads thousands of files.
func ReadInto(buf []byte, path string, limit int64) ([]byte, error) {
	fd, err := retry(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }() // read only
	var info syscall.Stat_t
	if err := syscall.Fstat(fd, &info); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if info.Mode&syscall.S_IFMT != syscall.S_IFREG || info.Size > limit {
		return nil, nil
	}
	data, err := readWhole(buf, info.Size, limit, func(to []byte) (int, error) {
		return retry(func() (int, error) { return syscall.Read(fd, to) })
	})
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return data, nil
}

// retry retries a call on EINTR.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
