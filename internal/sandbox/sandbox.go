// Package sandbox runs programs inside a boundary: they can change files only where a [Policy] says, and reach only the network
// that it opens.
//
// On Linux with bubblewrap a [Box] has namespaces of its own, which all its programs share: they see each other's processes,
// servers and temporary files, and nothing of those of the machine. Without bubblewrap, each program restricts itself with Landlock
// and seccomp ([Sandbox.Confine]); it then has no network and sees the machine's processes. On macOS, each program has a Seatbelt profile
// ([Sandbox.Confine]) and uses the machine's network, of which the profile opens only the port of a proxy. Windows has no boundary.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
)

// Policy says what programs inside the boundary may do in addition to reading and running what their user can. All paths are
// absolute and without symbolic links; those that do not exist are ignored. Where paths are nested, the inner one counts.
type Policy struct {
	// Write are the directories and files that the programs may change.
	Write []string
	// Keep are files and directories inside of Write that stay as they are.
	Keep []string
	// Fixed are directories inside of Write that the programs of a [Box] cannot rename or remove.
	Fixed []string
	// Hide are files and directories that the programs can neither read nor change.
	Hide []string
	// Show are files and directories inside of Hide that the programs can read nevertheless.
	Show []string
	// Temp is the directory that the programs of a [Box] see as /tmp, and at its own path. If empty, /tmp ends with the box. With
	// Seatbelt, it is another directory that the programs may change, and the only one in which they can use Unix sockets.
	Temp string
	// Network opens the network of the machine.
	Network bool
	// ProxyPort is the port of 127.0.0.1 that programs can connect to without Network. Only Seatbelt uses it.
	ProxyPort int
}

// errUnavailable is wrapped by the errors of [Find] and [FindKind] on a machine without the boundary that was asked for.
var errUnavailable = errors.New("there is no sandbox")

// Kind is the mechanism of a boundary.
type Kind string

// The kinds.
const (
	Bubblewrap Kind = "bubblewrap"
	Landlock   Kind = "Landlock"
	Seatbelt   Kind = "Seatbelt"
)

// Sandbox is a boundary that this machine supports.
type Sandbox struct {
	Kind Kind
	// self is [Host.Self], and env is [Host.Env].
	self string
	env  []string
	// bwrap is the path of bubblewrap.
	bwrap string
}

// Host holds the surroundings of this program.
type Host struct {
	// Self is the path of a program that calls [Main] with the arguments after the first one, if that is [Command].
	Self string
	// Env is the environment. The sockets that it names are hidden from programs.
	Env []string
	// LookPath finds bwrap.
	LookPath func(string) (string, error)
}

// Find returns the strongest boundary that this machine supports. The error says what each kind lacks.
func Find(h *Host) (*Sandbox, error) {
	if len(kinds) == 0 {
		return nil, fmt.Errorf("%w: %w", errUnavailable, errSystem)
	}
	var errs []error
	for _, kind := range kinds {
		s, err := FindKind(kind, h)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// errSystem is the error of boundaries that this system does not have.
var errSystem = errors.New("there is none for " + runtime.GOOS)

// FindKind returns the boundary of a kind.
func FindKind(kind Kind, h *Host) (*Sandbox, error) {
	s := &Sandbox{Kind: kind, self: h.Self, env: h.Env}
	err := errSystem
	if slices.Contains(kinds, kind) {
		err = s.check(h.LookPath)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errUnavailable, kind, err)
	}
	return s, nil
}

// Command is the first argument of this program when it is to pass the others to [Main].
const Command = "__sandbox"

// Failed is the exit code of a program that could not be started inside the boundary, as in shells.
const Failed = 126

// Confine returns a program and its arguments that run the program at path with args below Landlock or Seatbelt. There are two
// differences to a [Box]. Below Landlock, nothing new can be made in a directory that contains one of [Policy.Keep] or [Policy.Hide],
// even if that does not exist. The names in hidden directories can be listed.
func (s *Sandbox) Confine(p *Policy, path string, args []string) (program string, all []string) {
	if s.Kind == Seatbelt {
		return sandboxExec, append([]string{"-p", profile(p), path}, args...)
	}
	all = []string{Command, "confine"}
	for _, m := range mounts(p) {
		all = append(all, confineOptions[m.as], m.path)
	}
	if p.Network {
		all = append(all, "-n")
	}
	return s.self, append(append(all, "--", path), args...)
}

// confineOptions are the options of confine for a path.
var confineOptions = map[access]string{writable: "-w", readable: "-k", hidden: "-h", shown: "-s"}

var errInvocation = errors.New("invalid invocation")

// Invocation describes the start of this program for [Main].
type Invocation struct {
	Args                  []string // those after [Command]
	Env                   []string
	Stdin, Stdout, Stderr *os.File
}

// Main is the program that the arguments name. It returns the exit code, with an error if that is [Failed].
func Main(in *Invocation) (code int, err error) {
	if len(in.Args) == 0 {
		return Failed, errInvocation
	}
	switch name, args := in.Args[0], in.Args[1:]; {
	case name == "confine":
		p := new(Policy)
		for len(args) > 0 {
			switch {
			case args[0] == "-n":
				p.Network, args = true, args[1:]
			case args[0] == "-w" && len(args) > 1:
				p.Write, args = append(p.Write, args[1]), args[2:]
			case args[0] == "-k" && len(args) > 1:
				p.Keep, args = append(p.Keep, args[1]), args[2:]
			case args[0] == "-h" && len(args) > 1:
				p.Hide, args = append(p.Hide, args[1]), args[2:]
			case args[0] == "-s" && len(args) > 1:
				p.Show, args = append(p.Show, args[1]), args[2:]
			case args[0] == "--" && len(args) > 1:
				return Failed, confine(p, args[1:], in.Env)
			default:
				return Failed, errInvocation
			}
		}
	case name == "guard" && len(args) == 0:
		return Failed, guard(in)
	case name == "keep" && len(args) == 0:
		return Failed, keep()
	case name == "run" && len(args) >= 3:
		return run(args[0], args[1], args[2:], in)
	}
	return Failed, errInvocation
}
