//go:build unix

package proc

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const hasGuard = true

// guardEnv is the guard's environment. It is not empty because sweeps scan a process without an environment more often.
const guardEnv = "GJC_GUARD=1"

// startGuard starts the guard in its own session, so that signals to this process's group do not reach it, and with the pipe as its
// only open file.
func startGuard(o *GuardOptions, stdin *os.File) (pid int, err error) {
	cmd := &exec.Cmd{
		Path: o.Path, Args: append([]string{"gjc-guard"}, o.Args...), Env: []string{guardEnv}, Dir: "/", Stdin: stdin,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() { _ = cmd.Wait() }() // ends with the guard, or with this process
	return cmd.Process.Pid, nil
}

// becomeGuard sets the guard's name, and makes it ignore signals that are sent to all processes of a program.
func becomeGuard() {
	if f, err := os.OpenFile("/proc/self/comm", os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteString("gjc-guard") // the name in ps(1) on Linux
		_ = f.Close()
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
}
