// Package sandbox runs programs that can write only below given directories and cannot open sockets without permission. On Linux, a
// process of this program restricts itself with Landlock and seccomp and then executes the other program. If the kernel does not
// support Landlock, bubblewrap restricts file access. Other systems have no sandbox.
package sandbox

import (
	"errors"
	"fmt"
)

// Policy says what a program in a sandbox may do in addition to reading and running what its user can.
type Policy struct {
	// Write are the directories below which it may change files, as absolute paths without symbolic links. A directory that
	// does not exist is ignored. Devices like /dev/null are always writable.
	Write []string
	// Network allows it to open sockets.
	Network bool
}

// errUnavailable is wrapped by the errors of [Find] and [FindKind] on a machine without a sandbox.
var errUnavailable = errors.New("there is no sandbox")

// Kind is the mechanism of a sandbox.
type Kind string

// The kinds.
const (
	Landlock   Kind = "Landlock"
	Bubblewrap Kind = "bubblewrap"
)

// Sandbox is a sandbox that this machine supports.
type Sandbox struct {
	Kind Kind
	// program is the path of the program to start: this program, or bwrap.
	program string
	// filter is the path of this program if it filters the system calls of the program that bwrap starts; empty if the kernel does
	// not support that.
	filter string
}

// Find returns the sandbox that this machine supports. self is the path of a program that passes its arguments to [Enter] if
// the first one is [Command]; lookPath finds bwrap.
func Find(self string, lookPath func(string) (string, error)) (*Sandbox, error) {
	s, err := FindKind(Landlock, self, lookPath)
	if err == nil {
		return s, nil
	}
	if s, berr := FindKind(Bubblewrap, self, lookPath); berr == nil {
		return s, nil
	}
	return nil, fmt.Errorf("%w, and bubblewrap (bwrap) is not installed", err)
}

// FindKind returns the sandbox of a kind.
func FindKind(kind Kind, self string, lookPath func(string) (string, error)) (*Sandbox, error) {
	if kind == Bubblewrap {
		path, ok := bubblewrap(lookPath)
		if !ok {
			return nil, fmt.Errorf("%w: bubblewrap (bwrap) is not installed", errUnavailable)
		}
		s := &Sandbox{Kind: Bubblewrap, program: path}
		if seccompError() == nil {
			s.filter = self
		}
		return s, nil
	}
	if err := landlockError(); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnavailable, err)
	}
	return &Sandbox{Kind: Landlock, program: self}, nil
}

// Command is the first argument of this program when it is to execute another program in a sandbox.
const Command = "__sandboxed"

// Wrap returns a program and its arguments that run the program at path with args in the sandbox.
func (s *Sandbox) Wrap(p *Policy, path string, args []string) (program string, all []string) {
	if s.Kind == Bubblewrap {
		all = bubblewrapArgs(p)
		if s.filter != "" {
			all = append(all, s.filter, Command, "-s")
			if p.Network {
				all = append(all, "-n")
			}
			all = append(all, "--")
		}
		return s.program, append(append(all, path), args...)
	}
	all = []string{Command}
	for _, dir := range p.Write {
		all = append(all, "-w", dir)
	}
	if p.Network {
		all = append(all, "-n")
	}
	all = append(all, "--", path)
	return s.program, append(all, args...)
}

// Enter replaces this process with the program that the arguments after [Command] name, in a sandbox, with the environment env. It
// returns only on failure.
func Enter(args, env []string) error {
	p, callsOnly := new(Policy), false
	for len(args) > 0 {
		switch {
		case args[0] == "-s":
			callsOnly, args = true, args[1:]
		case args[0] == "-n":
			p.Network, args = true, args[1:]
		case args[0] == "-w" && len(args) > 1:
			p.Write, args = append(p.Write, args[1]), args[2:]
		case args[0] == "--" && len(args) > 1:
			return enter(p, callsOnly, args[1:], env)
		default:
			return errors.New("sandbox: invalid invocation")
		}
	}
	return errors.New("sandbox: invalid invocation")
}
