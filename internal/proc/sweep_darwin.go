package proc

import (
	"bytes"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalMarked sends a signal to the processes of this user with an entry in their environment, and returns how many there were;
// signal 0 only counts them.
func signalMarked(entry string, sig syscall.Signal) (n int) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Getuid())
	if err != nil {
		return 0
	}
	for i := range list {
		pid := int(list[i].Proc.P_pid)
		if pid == os.Getpid() {
			continue
		}
		// The number of arguments, the program, the arguments and the environment, each ended by a zero byte.
		args, err := unix.SysctlRaw("kern.procargs2", pid)
		if err != nil || !hasEntry(args, entry) {
			continue
		}
		n++
		if sig != 0 {
			_ = unix.Kill(pid, sig)
		}
	}
	return n
}

func hasEntry(args []byte, entry string) bool {
	for field := range bytes.SplitSeq(args, []byte{0}) {
		if carries(string(field), entry) {
			return true
		}
	}
	return false
}

// groupLives reports whether a process of a group runs. A zombie does not.
func groupLives(group int) bool {
	const zombie = 5
	list, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	if err != nil {
		return false
	}
	for i := range list {
		if list[i].Proc.P_stat != zombie {
			return true
		}
	}
	return false
}
