package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/internal/testenv"
)

// marked returns the processes whose environment contains mark, by ID, with their command lines. A zombie has no
// environment and does not count.
func marked(t *testing.T, mark string) map[int]string {
	t.Helper()
	found, err := testenv.Processes(mark)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// dying is the longest time that a killed process needs to disappear, on a busy machine.
const dying = 5 * time.Second

// wantNoneLeft checks the process table. A process that is being killed does not count.
func wantNoneLeft(t *testing.T, mark string) {
	t.Helper()
	for pid, line := range marked(t, mark) {
		if !isGone(t, pid, dying) {
			t.Errorf("process %d is left: %s", pid, line)
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// wantGone waits until a process that is not gjc's own child has ended.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	if !isGone(t, pid, hang) {
		t.Errorf("process %d is still there", pid)
	}
}

// isGone waits for the end of a process for a limited time.
func isGone(t *testing.T, pid int, most time.Duration) bool {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for begin := time.Now(); time.Since(begin) < most; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000)
		if n > 0 {
			return true
		}
		if err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
	}
	return false
}

// wantAllGone waits until the processes whose environment contains mark, which are not the test's children, have ended.
func wantAllGone(t *testing.T, mark string) {
	t.Helper()
	for pid := range marked(t, mark) {
		wantGone(t, pid)
	}
	wantNoneLeft(t, mark)
}

// killMarked kills the processes of a name whose environment contains mark, and waits until they have ended.
func killMarked(t *testing.T, mark, name string) {
	t.Helper()
	killed := false
	for pid, line := range marked(t, mark) {
		// Compare the names on the command line, not the directories: those contain the test's name.
		called := slices.ContainsFunc(strings.Fields(line), func(word string) bool { return strings.HasPrefix(filepath.Base(word), name) })
		if called && !isGjc(line) {
			killed = true
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Error(err)
			}
			wantGone(t, pid)
		}
	}
	if !killed {
		t.Fatalf("no process called %s in %v", name, marked(t, mark))
	}
}

// isGjc reports whether a command line is gjc's, which is the test binary.
func isGjc(line string) bool {
	_, args, _ := strings.Cut(line, " ")
	return strings.HasPrefix(args, "acp")
}

// wantOnlyGjc waits until none of the processes that gjc has started is left.
func wantOnlyGjc(t *testing.T, mark string) {
	t.Helper()
	for pid, line := range marked(t, mark) {
		if !isGjc(line) && !isGone(t, pid, dying) {
			t.Errorf("process %d is left: %s", pid, line)
		}
	}
}
