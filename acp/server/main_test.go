package server_test

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/sandbox"
)

// The boundary re-executes the test binary inside.
func TestMain(m *testing.M) {
	if os.Getenv(extensionVariable) != "" {
		serveExtension()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == sandbox.Command {
		code, err := sandbox.Main(&sandbox.Invocation{Args: os.Args[2:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		syscall.Exit(code) // [os.Exit] waits a second with the race detector
	}
	os.Exit(m.Run())
}

// findSandbox returns the boundary of this machine.
var findSandbox = sync.OnceValues(func() (*sandbox.Sandbox, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return sandbox.Find(&sandbox.Host{Self: self, Env: os.Environ(), LookPath: exec.LookPath})
})

// testBoundary is the boundary of this machine.
func testBoundary() boundary.Settings {
	return boundary.Settings{Use: boundary.Auto, Find: func() (string, error) {
		s, err := findSandbox()
		if err != nil {
			return "", err
		}
		return string(s.Kind), nil
	}}
}
