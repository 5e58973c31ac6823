//go:build unix

package postgrestest

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// other returns the user that runs the server if the tests run as root, which PostgreSQL refuses.
func other() (uid, gid int, needed bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		gid, groupErr := strconv.Atoi(u.Gid)
		if err == nil && groupErr == nil {
			return uid, gid, true
		}
	}
	return 0, 0, false
}

func giveAway(dir string) error {
	if uid, gid, needed := other(); needed {
		return os.Chown(dir, uid, gid)
	}
	return nil
}

func runAsOther(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the keys of the terminal do not reach it
	if uid, gid, needed := other(); needed {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
}

func kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
