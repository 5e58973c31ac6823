//go:build unix

package daptest

import (
	"context"
	"os/exec"
	"syscall"
)

// spawn starts a debuggee that leads a session of its own, as debuggers have them.
func spawn() error {
	cmd := exec.CommandContext(context.Background(), "/bin/sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}
