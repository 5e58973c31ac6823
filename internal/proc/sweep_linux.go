package proc

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalMarked sends a signal to the processes with an entry in their environment, as it was when they were started, and returns
// how many there were; signal 0 only counts them. Those of other users can not be read and are none of ours. A zombie has no
// environment.
func signalMarked(entry string, sig syscall.Signal) (n int) {
	for pid := range processes() {
		if !hasEntry(pid, entry) {
			continue
		}
		n++
		if sig == 0 {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			_ = unix.Kill(pid, sig) // an old kernel
			continue
		}
		// The id may have gone to another process before it was held.
		if hasEntry(pid, entry) {
			_ = unix.PidfdSendSignal(fd, sig, nil, 0)
		}
		_ = unix.Close(fd)
	}
	return n
}

// groupLives reports whether a process of a group runs. A zombie does not.
func groupLives(group int) bool {
	for pid := range processes() {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state ppid pgrp …; the name may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 2 && string(fields[2]) == strconv.Itoa(group) && fields[0][0] != 'Z' && fields[0][0] != 'X' {
			return true
		}
	}
	return false
}

// processes yields the ids of all processes but this one.
func processes() func(yield func(pid int) bool) {
	return func(yield func(int) bool) {
		dirs, err := os.ReadDir("/proc")
		if err != nil {
			return
		}
		for _, dir := range dirs {
			if pid, err := strconv.Atoi(dir.Name()); err == nil && pid != os.Getpid() && !yield(pid) {
				return
			}
		}
	}
}

func hasEntry(pid int, entry string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(env) == 0 {
		return false
	}
	for field := range bytes.SplitSeq(env, []byte{0}) {
		if carries(string(field), entry) {
			return true
		}
	}
	return false
}
