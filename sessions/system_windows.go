package sessions

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// alive reports whether a process with this ID exists, of any user.
func alive(pid int) bool {
	const queryLimited, stillActive = 0x1000, 259
	h, err := syscall.OpenProcess(queryLimited, false, uint32(pid))
	if err != nil {
		return err == syscall.ERROR_ACCESS_DENIED //nolint:errorlint // an errno as it is
	}
	defer func() { _ = syscall.CloseHandle(h) }()
	var code uint32
	return syscall.GetExitCodeProcess(h, &code) != nil || code == stillActive
}

// diskFull are the system's errors for a full disk or an exceeded quota.
var diskFull = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}

// syncDir does nothing: Windows writes directory entries through.
func syncDir(string) error { return nil }
