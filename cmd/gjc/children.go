package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/agent"
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

// sandbox returns a function that starts programs in a sandbox. It checks the machine's abilities when the first one
// starts.
func (h *host) sandbox() func(s *agent.Sandbox, path string, args []string) (string, []string, error) {
	found := sync.OnceValues(findSandbox)
	return func(s *agent.Sandbox, path string, args []string) (string, []string, error) {
		box, err := found()
		if err != nil {
			return "", nil, fmt.Errorf("%w: %w", agent.ErrNoSandbox, err)
		}
		program, all := box.Wrap(&sandbox.Policy{Write: s.Write, Network: s.Network}, path, args)
		return program, all, nil
	}
}

func findSandbox() (*sandbox.Sandbox, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return sandbox.Find(self, exec.LookPath)
}

// becomes reports whether the command line is one with which gjc starts itself: that of [sandbox.Sandbox.Wrap] or the guard's. For
// the former, the process executes the wrapped program, so becomes returns only if that fails.
func becomes(h *host) (bool, int) {
	if len(h.args) == 0 {
		return false, 0
	}
	switch h.args[0] {
	case sandbox.Command:
		fmt.Fprintf(h.stderr, "gjc: %v\n", sandbox.Enter(h.args[1:], h.env))
		return true, sandboxFailed
	case guardCommand:
		proc.RunGuard(h.stdin)
		return true, 0
	}
	return false, 0
}

// sandboxFailed is the exit code of a command that could not be run, as in shells.
const sandboxFailed = 126
