//go:build !linux

package sandbox

import (
	"context"
	"net"

	"github.com/gajae-code/gjc/internal/proc"
)

func confine(*Policy, []string, []string) error { return errSystem }

func guard(*Invocation) error { return errSystem }

func keep() error { return errSystem }

func run(string, string, []string, *Invocation) (int, error) { return Failed, errSystem }

// Box is a set of namespaces that programs share. Only Linux has them.
type Box struct{}

// Open starts a box.
func (s *Sandbox) Open(context.Context, *proc.Group, *Policy) (*Box, error) { return nil, errSystem }

// Wrap returns a program and its arguments that run a program in the box.
func (*Box) Wrap(dir, path string, args []string) (program string, all []string) { return path, args }

// Protect keeps, fixes and hides the paths of a policy.
func (*Box) Protect(ctx context.Context, p *Policy) error { return errSystem }

// Proxy returns the first listener of the box.
func (*Box) Proxy() net.Listener { return nil }

// Listen opens a port inside the box.
func (*Box) Listen(context.Context) (net.Listener, error) { return nil, errSystem }

// Dial connects to an address inside the box.
func (*Box) Dial(context.Context, string) (net.Conn, error) { return nil, errSystem }

// Process returns the program and the command line of a process inside the box.
func (*Box) Process(context.Context, int) (path, command string, ok bool) { return "", "", false }

// Listens reports whether a program listens on a port inside the box.
func (*Box) Listens(context.Context, int) bool { return false }

// Busy reports whether programs run in the box.
func (*Box) Busy(context.Context) bool { return false }

// EndRest kills the processes that ended programs have left in the box.
func (*Box) EndRest(context.Context) error { return errSystem }

// Done returns a channel that is closed when the box has ended.
func (*Box) Done() <-chan struct{} { return nil }

// Close ends the box.
func (*Box) Close(context.Context) error { return nil }
