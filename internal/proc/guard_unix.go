//go:build unix

package proc

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const hasGuard = true

// guardEnv is the guard's environment: a process that has none is looked at more often.
const guardEnv = "GJC_GUARD=1"

// startGuard starts the guard in a session of its own, out of reach of what is sent to this process's group, and without any of
// its files but the pipe.
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

// becomeGuard gives the guard a name, and keeps it alive through what is sent to everything that belongs to a program.
func becomeGuard() {
	if f, err := os.OpenFile("/proc/self/comm", os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteString("gjc-guard") // the name that ps(1) shows, on Linux
		_ = f.Close()
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
}
