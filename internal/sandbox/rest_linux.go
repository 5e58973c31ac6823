package sandbox

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// EndRest kills the processes that ended programs have left in the box. It waits until they have ended, but at most for a moment: they may
// start others faster than these are found. What runs below a program that has not ended goes on.
func (b *Box) EndRest(ctx context.Context) error {
	_, err := ask(ctx, b.socket, request{EndRest: true})
	return err
}

// endRest kills what belongs to no running program until two consecutive scans find none: a scan may miss processes that are being started.
func (k *keeper) endRest() error {
	const most, step = time.Second, 2 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	quiet := 0
	for end := time.Now().Add(most); quiet < 2; <-tick.C {
		rest, err := k.rest()
		if err != nil {
			return err
		}
		if quiet++; len(rest) > 0 {
			quiet = 0
		}
		for _, pid := range rest {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
		}
		if time.Now().After(end) {
			return errors.New("programs in the box start others faster than these can be ended")
		}
	}
	return nil
}

// rest returns the processes that belong to no running program.
func (k *keeper) rest() ([]int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	processes := make(map[int]process)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || ownProcess(pid) {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if p, ok := parseStat(string(stat)); err == nil && ok {
			processes[pid] = p
		}
	}
	var rest []int
	for pid := range processes {
		if !k.belongs(pid, processes) {
			rest = append(rest, pid)
		}
	}
	slices.Sort(rest)
	return rest, nil
}

// belongs reports whether a process is in the group of a running program, or descends from one that is. k.mu is locked.
func (k *keeper) belongs(pid int, processes map[int]process) bool {
	for range len(processes) { // a parent can be seen before its ID has a new owner
		p, ok := processes[pid]
		if !ok {
			return false
		}
		if k.running[p.group] != nil {
			return true
		}
		pid = p.parent
	}
	return false
}

// process has the IDs of a process's parent and group.
type process struct{ parent, group int }

// parseStat reads /proc/PID/stat (see proc_pid_stat(5)). ok is false for a process that has ended and waits for its parent.
func parseStat(stat string) (p process, ok bool) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // the name before may contain anything
	if len(fields) < 3 || fields[0] == "Z" {
		return p, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return p, false
	}
	group, err := strconv.Atoi(fields[2])
	return process{parent, group}, err == nil
}
