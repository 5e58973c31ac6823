package proc

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// killMarked kills the processes with an entry in their environment, as it was when they were started, and returns how many
// there were. Those of other users can not be read and are none of ours. A zombie has no environment.
func killMarked(entry string) (n int) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, dir := range dirs {
		pid, err := strconv.Atoi(dir.Name())
		if err != nil || pid == os.Getpid() || !hasEntry(pid, entry) {
			continue
		}
		n++
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			_ = unix.Kill(pid, unix.SIGKILL) // an old kernel
			continue
		}
		// The id may have gone to another process before it was held.
		if hasEntry(pid, entry) {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		_ = unix.Close(fd)
	}
	return n
}

func hasEntry(pid int, entry string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(env) == 0 {
		return false
	}
	for field := range bytes.SplitSeq(env, []byte{0}) {
		if string(field) == entry {
			return true
		}
	}
	return false
}
