package proc

import (
	"fmt"
	"strings"
)

// ExitState describes how a process ended: with Code, or by Signal if it is not empty.
type ExitState struct {
	// Code is the exit code; -1 after a signal.
	Code int
	// Signal is the name of the signal, such as "SIGTERM". It is always empty on Windows.
	Signal string
}

// Success reports whether the exit code is 0.
func (s ExitState) Success() bool { return s.Code == 0 && s.Signal == "" }

func (s ExitState) String() string {
	if s.Signal != "" {
		return "ended by " + s.Signal
	}
	return fmt.Sprintf("exited with code %d", s.Code)
}

// An ExitError is the error for a process that did not exit with code 0.
type ExitError struct {
	// Program is the base name of the program.
	Program string
	State   ExitState
	// Stderr is the end of its stderr, without surrounding white space.
	Stderr string
}

func (e *ExitError) Error() string {
	s := e.Program + " " + e.State.String()
	if e.Stderr != "" {
		s += ": " + e.Stderr
	}
	return s
}

// Err returns nil while the process runs or if it has exited with code 0, otherwise an [*ExitError].
func (p *Process) Err() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	if p.state.Success() {
		return nil
	}
	return &ExitError{Program: p.name, State: p.state, Stderr: strings.TrimSpace(p.stderr.String())}
}
