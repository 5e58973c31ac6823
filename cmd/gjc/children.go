package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/sandbox"
)

// guardCommand is the argument that makes gjc the guard of another gjc's child processes; see [proc.RunGuard].
const guardCommand = "__guard"

// guardedChildren returns the group for all child processes of this process.
func guardedChildren(log *zerolog.Logger) *proc.Group {
	path := "/proc/self/exe" // still valid after an update has replaced the file
	if runtime.GOOS != "linux" {
		var err error
		if path, err = os.Executable(); err != nil {
			log.Warn().Err(err).Msg("child processes have no guard, and may outlive gjc if it is killed")
			return proc.NewGroup(nil)
		}
	}
	return proc.NewGuardedGroup(proc.GuardOptions{Path: path, Args: []string{guardCommand}, Failed: func(err error) {
		log.Warn().Err(err).Msg("child processes may outlive gjc if it is killed")
	}})
}

// sandboxOnce returns a function that finds the boundary of this machine when it is first called.
func (h *host) sandboxOnce() func() (*sandbox.Sandbox, error) {
	if h.sandbox == nil {
		h.sandbox = sync.OnceValues(findSandbox)
	}
	return h.sandbox
}

func findSandbox() (*sandbox.Sandbox, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return sandbox.Find(&sandbox.Host{Self: self, Env: os.Environ(), LookPath: exec.LookPath})
}

// becomes reports whether the command line is one with which gjc starts itself: for [sandbox.Main] or as the guard.
func becomes(h *host) (bool, int) {
	if len(h.args) == 0 {
		return false, 0
	}
	switch h.args[0] {
	case sandbox.Command:
		code, err := sandbox.Main(&sandbox.Invocation{Args: h.args[1:], Env: h.env, Stdin: h.stdin, Stdout: h.stdout, Stderr: h.stderr})
		if err != nil {
			fmt.Fprintf(h.stderr, "gjc: sandbox: %v\n", err)
		}
		return true, code
	case guardCommand:
		proc.RunGuard(h.stdin)
		return true, 0
	}
	return false, 0
}
