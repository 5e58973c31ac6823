package proc

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// killMarked kills the processes of this user with an entry in their environment, and returns how many there were.
func killMarked(entry string) (n int) {
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
		if err != nil || !bytes.Contains(args, append(append([]byte{0}, entry...), 0)) {
			continue
		}
		n++
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	return n
}
