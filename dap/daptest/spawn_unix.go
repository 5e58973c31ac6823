//go:build unix

package daptest

import (
	"context"
	"os/exec"
	"syscall"
)

// spawn starts a debuggee that leads its own process session, as debuggers start it.
func spawn() error {
	cmd := exec.CommandContext(context.Background(), "/bin/sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}
