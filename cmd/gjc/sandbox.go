package main

import (
	"fmt"
	"os"
	"os/exec"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/sandbox"
)

// sandbox returns what starts programs in a sandbox. Whether this machine has one is looked at when the first one starts.
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

// becomes reports whether the command line is one of [sandbox.Sandbox.Wrap], and becomes the program in it then. It returns only
// if that fails.
func becomes(h *host) (bool, int) {
	if len(h.args) == 0 || h.args[0] != sandbox.Command {
		return false, 0
	}
	fmt.Fprintf(h.stderr, "gjc: %v\n", sandbox.Enter(h.args[1:], h.env))
	return true, sandboxFailed
}

// sandboxFailed is the exit code of a command that was not run, as shells have it.
const sandboxFailed = 126
