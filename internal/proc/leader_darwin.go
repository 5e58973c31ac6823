package proc

import (
	"syscall"
	"unsafe"
)

// dieWithParent does nothing: this system does not support it.
func dieWithParent(*syscall.SysProcAttr) {}

// childInfo is the part of siginfo_t that waitid sets.
type childInfo struct {
	_      [2]int32 // signal, errno
	code   int32
	_      [2]int32 // pid, uid
	status int32
	_      [104]byte
}

func waitNoReap(pid int) (ExitState, error) {
	const (
		idTypePID = 1
		exited    = 0x4
		noWait    = 0x20
	)
	var info childInfo
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idTypePID, uintptr(pid),
			uintptr(unsafe.Pointer(&info)), exited|noWait, 0, 0)
		switch errno {
		case 0:
			return info.state(), nil
		case syscall.EINTR:
		default:
			return ExitState{}, errno
		}
	}
}
