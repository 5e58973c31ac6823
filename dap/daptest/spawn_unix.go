//go:build unix

package daptest

import (
	"os/exec"
	"syscall"
)

// spawn starts a debuggee that leads a session of its own, as debuggers have them.
func spawn() error {
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}
