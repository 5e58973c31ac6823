package debug

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/gajae-code/gjc/agent/toolkit"
)

func procFile(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// ownProcess returns an error for a process that does not exist or belongs to another user.
func ownProcess(pid int) error {
	info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	if err != nil {
		return noProcess(pid)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return foreignProcess(pid)
	}
	if fields := processStat(pid); len(fields) > 0 && fields[0] == "Z" {
		return fmt.Errorf("process %d has ended: only its exit status is left", pid)
	}
	return nil
}

// processStat returns the fields of a process's stat file after the process name: the state first.
func processStat(pid int) []string {
	data, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(data[max(bytes.LastIndexByte(data, ')'), 0):]), ") ")
	return strings.Fields(rest)
}

// ancestors returns the process IDs of gjc's parent, its parent, and so on.
func ancestors() []int {
	var all []int
	for pid := os.Getppid(); pid > 0 && !slices.Contains(all, pid); {
		all = append(all, pid)
		pid = 0
		if fields := processStat(all[len(all)-1]); len(fields) > 1 {
			pid, _ = strconv.Atoi(fields[1]) // zero ends the loop
		}
	}
	return all
}

// processIdentity returns the start time of a process, which differs for a later process with the same id.
func processIdentity(pid int) string {
	const startTime = 22 - 3 // the index of starttime, field 22 of the stat file; fields starts with the state, field 3
	if fields := processStat(pid); len(fields) > startTime {
		return fields[startTime]
	}
	return ""
}

// processCommand returns a process's command line, or "" if it is unknown.
func processCommand(pid int) string {
	data, err := os.ReadFile(procFile(pid, "cmdline"))
	if err != nil {
		return ""
	}
	return oneLine(strings.TrimSpace(strings.ReplaceAll(string(data), "\x00", " ")), toolkit.MaxColumns)
}
