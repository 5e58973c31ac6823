package proc

import (
	"fmt"
	"strings"
)

// ExitState is how a process ended: by Code, or by Signal when that is not empty.
type ExitState struct {
	// Code is the exit code; -1 for a process that a signal ended.
	Code int
	// Signal is the signal's name, as "SIGTERM". It stays empty on Windows.
	Signal string
}

// Success reports an exit with code 0.
func (s ExitState) Success() bool { return s.Code == 0 && s.Signal == "" }

func (s ExitState) String() string {
	if s.Signal != "" {
		return "ended by " + s.Signal
	}
	return fmt.Sprintf("exited with code %d", s.Code)
}

// An ExitError is a process that ended with something else than code 0.
type ExitError struct {
	// Program is the base name of what ran.
	Program string
	State   ExitState
	// Stderr is the end of what it printed there, without surrounding white space.
	Stderr string
}

func (e *ExitError) Error() string {
	s := e.Program + " " + e.State.String()
	if e.Stderr != "" {
		s += ": " + e.Stderr
	}
	return s
}

// Err returns nil while the process runs or when it ended with code 0, and an [*ExitError] otherwise.
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
