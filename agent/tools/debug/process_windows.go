package debug

import (
	"errors"
	"os"
	"syscall"
)

// ownProcess returns an error for a process that does not exist or that the user may not open.
func ownProcess(pid int) error {
	const queryLimitedInformation = 0x1000
	handle, err := syscall.OpenProcess(queryLimitedInformation, false, uint32(pid))
	switch {
	case errors.Is(err, syscall.ERROR_ACCESS_DENIED):
		return foreignProcess(pid)
	case err != nil:
		return noProcess(pid)
	}
	return syscall.CloseHandle(handle)
}

func ancestors() []int { return []int{os.Getppid()} }

func processIdentity(int) string { return "" }

func processCommand(int) string { return "" }
