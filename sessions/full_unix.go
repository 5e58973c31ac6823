//go:build unix

package sessions

import "syscall"

// diskFull are the system's errors for a disk or a quota that is full.
var diskFull = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
