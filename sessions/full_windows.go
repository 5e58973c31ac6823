package sessions

import "golang.org/x/sys/windows"

// diskFull are the system's errors for a disk or a quota that is full.
var diskFull = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}
