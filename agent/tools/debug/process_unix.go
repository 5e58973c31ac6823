//go:build unix && !linux

package debug

import (
	"errors"
	"os"
	"syscall"
)

// ownProcess returns an error for a process that does not exist or belongs to another user.
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
