//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// divertStdout returns a duplicate of stdout that no child inherits, and redirects stdout's descriptor to stderr.
func divertStdout(stdout, stderr *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(stdout.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := dup2(int(stderr.Fd()), int(stdout.Fd())); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "protocol"), nil
}
