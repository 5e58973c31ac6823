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

// signal sends a signal to the processes of a target, and returns their number. Signal 0 only counts them. unsure is the number of
// processes without a visible environment, because they are executing another program. The environment is that of the start of a
// program. Processes of other users cannot be read and do not count.
func (t *target) signal(sig syscall.Signal) (found, unsure int) {
	for pid := range processes() {
		if pid == t.but {
			continue
		}
		named, sure := t.has(pid)
		if !sure {
			unsure++
		}
		if !named {
			continue
		}
		found++
		if sig == 0 {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			_ = unix.Kill(pid, sig) // an old kernel
			continue
		}
		// The ID may belong to another process since the scan.
		if named, _ := t.has(pid); named {
			_ = unix.PidfdSendSignal(fd, sig, nil, 0)
		}
		_ = unix.Close(fd)
	}
	return found, unsure
}

// has reports whether a process belongs to a target. sure is false if that cannot be determined yet.
func (t *target) has(pid int) (named, sure bool) {
	if len(t.groups) > 0 {
		if s, ok := readStat(pid); ok && s.runs() && (t.groups[s.group] || t.groups[s.session]) {
			return true, true
		}
	}
	if t.entry == "" && !t.deadOwners {
		return false, true
	}
	env, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return false, true
	}
	if len(env) == 0 {
		s, ok := readStat(pid)
		return false, !ok || !s.runs() || s.kernel || t.isBare(pid)
	}
	for field := range bytes.SplitSeq(env, []byte{0}) {
		if t.names(string(field)) {
			return true, true
		}
	}
	return false, true
}

// isBare reports whether a process has no environment, because it has shown none for longer than executing a program takes.
func (t *target) isBare(pid int) bool {
	const most = 3 // scans
	if t.blank == nil {
		t.blank = make(map[int]int)
	}
	t.blank[pid]++
	return t.blank[pid] > most
}

// groupLives reports whether a process of a group runs, not counting zombies.
func groupLives(group int) bool {
	for pid := range processes() {
		if s, ok := readStat(pid); ok && s.group == group && s.runs() {
			return true
		}
	}
	return false
}

// processes yields the IDs of all other processes.
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

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// stat is the public status of a process, see proc_pid_stat(5).
type stat struct {
	state                  byte
	parent, group, session int
	kernel                 bool
	// start is the start time of the process, in clock ticks since boot.
	start string
}

func readStat(pid int) (stat, bool) {
	text, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return stat{}, false
	}
	// pid (name) state ppid pgrp session …; the name may contain anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return stat{}, false
	}
	const kernelThread = 0x00200000 // PF_KTHREAD
	flags, _ := strconv.ParseUint(fields[6], 10, 64)
	s := stat{state: fields[0][0], start: fields[19], kernel: flags&kernelThread != 0}
	s.parent, _ = strconv.Atoi(fields[1])
	s.group, _ = strconv.Atoi(fields[2])
	s.session, _ = strconv.Atoi(fields[3])
	return s, true
}

// runs reports whether a process is not a zombie.
func (s *stat) runs() bool { return s.state != 'Z' && s.state != 'X' }

// ownIdentity includes the namespace of process IDs: the processes of a container have other IDs outside it.
func ownIdentity() string {
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	s, ok := readStat(os.Getpid())
	if !ok {
		return ""
	}
	space = strings.TrimSuffix(strings.TrimPrefix(space, "pid:["), "]")
	return fmt.Sprintf("%s-%d-%s", space, os.Getpid(), s.start)
}

// isDead reports whether the process with an identity has ended. It returns false for another namespace.
func isDead(owner string) bool {
	space, rest, _ := strings.Cut(owner, "-")
	id, start, ok := strings.Cut(rest, "-")
	own, _, _ := strings.Cut(identity(), "-")
	pid, err := strconv.Atoi(id)
	if !ok || err != nil || space == "" || space != own {
		return false
	}
	s, there := readStat(pid)
	return !there || s.start != start || !s.runs()
}
