//go:build unix

package sessions

import (
	"errors"
	"syscall"
)

// alive reports whether there is a process of that id, of whatever user.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
