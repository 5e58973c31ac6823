//go:build unix && !linux

package debug

import (
	"errors"
	"os"
	"syscall"
)

// ownProcess complains about a process that is not there, or that belongs to another user.
func ownProcess(pid int) error {
	switch err := syscall.Kill(pid, 0); {
	case errors.Is(err, syscall.ESRCH):
		return noProcess(pid)
	case errors.Is(err, syscall.EPERM):
		return foreignProcess(pid)
	default:
		return nil
	}
}

func ancestors() []int { return []int{os.Getppid()} }

func processIdentity(int) string { return "" }

func processCommand(int) string { return "" }
