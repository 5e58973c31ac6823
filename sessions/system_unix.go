//go:build unix

package sessions

import (
	"errors"
	"os"
	"syscall"
)

// alive reports whether a process with this ID exists, of any user.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// diskFull are the system's errors for a full disk or an exceeded quota.
var diskFull = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

// syncDir makes new names in a directory survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}
