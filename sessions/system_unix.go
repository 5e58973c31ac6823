//go:build unix

package sessions

import (
	"errors"
	"os"
	"syscall"
)

// alive reports whether there is a process of that id, of whatever user.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// diskFull are the system's errors for a disk or a quota that is full.
var diskFull = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

// syncDir makes a new name in a directory survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}
