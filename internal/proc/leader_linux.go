package proc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dieWithParent makes the kernel kill the leader when the thread that started it ends. That thread ends only with this process: see
// the owner goroutine.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// childInfo is the part of the kernel's siginfo that waitid sets.
type childInfo struct {
	_      [2]int32 // signal, errno
	code   int32
	_      [unsafe.Sizeof(uintptr(0)) - 4]byte // the union is aligned like a pointer
	_      [2]int32                            // pid, uid
	status int32
	_      [100]byte // padding beyond the kernel's 128 bytes
}

func waitNoReap(pid int) (ExitState, error) {
	var info childInfo
	for {
		err := unix.Waitid(unix.P_PID, pid, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			return info.state(), nil
		}
		if err != unix.EINTR {
			return ExitState{}, err
		}
	}
}
