//go:build unix

package proc

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// readNow reads without waiting, and removes the deadline. If there is nothing to read, the error is [os.ErrDeadlineExceeded].
func readNow(f *os.File, p []byte) (n int, err error) {
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	rawErr := raw.Read(func(fd uintptr) bool {
		for {
			if n, err = unix.Read(int(fd), p); !errors.Is(err, unix.EINTR) {
				return true
			}
		}
	})
	switch {
	case rawErr != nil:
		return 0, rawErr
	case errors.Is(err, unix.EAGAIN):
		return 0, os.ErrDeadlineExceeded
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
