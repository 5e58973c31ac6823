package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// zombie is the state of a process that has ended and is not reaped: SZOMB.
const zombie = 5

// signal sends a signal to this user's processes of a target, and returns their number. Signal 0 only counts them.
func (t *target) signal(sig syscall.Signal) (found, unsure int) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Getuid())
	if err != nil {
		return 0, 0
	}
	for i := range list {
		pid := int(list[i].Proc.P_pid)
		if pid == os.Getpid() || pid == t.but || list[i].Proc.P_stat == zombie || !t.has(pid, int(list[i].Eproc.Pgid)) {
			continue
		}
		found++
		if sig != 0 {
			_ = unix.Kill(pid, sig)
		}
	}
	return found, 0
}

func (t *target) has(pid, group int) bool {
	if t.groups[group] {
		return true
	}
	if t.entry == "" && !t.deadOwners {
		return false
	}
	// The number of arguments, the program, the arguments and the environment, each terminated by a NUL byte.
	args, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return false
	}
	for field := range bytes.SplitSeq(args, []byte{0}) {
		if t.names(string(field)) {
			return true
		}
	}
	return false
}

// groupLives reports whether a process of a group runs, not counting zombies.
func groupLives(group int) bool {
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

func startOf(pid int) string {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return ""
	}
	return fmt.Sprintf("%d_%d", info.Proc.P_starttime.Sec, info.Proc.P_starttime.Usec)
}

func ownIdentity() string {
	start := startOf(os.Getpid())
	if start == "" {
		return ""
	}
	return fmt.Sprintf("0-%d-%s", os.Getpid(), start)
}

// isDead reports whether the process with an identity has ended.
func isDead(owner string) bool {
	_, rest, _ := strings.Cut(owner, "-")
	id, start, ok := strings.Cut(rest, "-")
	pid, err := strconv.Atoi(id)
	return ok && err == nil && start != "" && startOf(pid) != start
}
