//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"net"
	"runtime"

	"github.com/gajae-code/gjc/internal/proc"
)

var errOther = errors.New("there is none for " + runtime.GOOS)

func (s *Sandbox) check(func(string) (string, error)) error { return errOther }

func confine(*Policy, []string, []string) error { return errOther }

func guard(*Invocation) error { return errOther }

func keep() error { return errOther }

func run(string, string, []string, *Invocation) (int, error) { return Failed, errOther }

// Box is a set of namespaces that programs share. Only Linux has them.
type Box struct{}

// Open starts a box.
func (s *Sandbox) Open(context.Context, *proc.Group, *Policy) (*Box, error) { return nil, errOther }

// Wrap returns a program and its arguments that run a program in the box.
func (*Box) Wrap(dir, path string, args []string) (program string, all []string) { return path, args }

// Protect keeps and hides more paths.
func (*Box) Protect(ctx context.Context, keep, hide []string) error { return errOther }

// Proxy returns the address of the box's proxy.
func (*Box) Proxy() string { return "" }

// Accept waits for a connection to the box's proxy.
func (*Box) Accept() (net.Conn, error) { return nil, errOther }

// Dial connects to an address inside the box.
func (*Box) Dial(context.Context, string) (net.Conn, error) { return nil, errOther }

// Done returns a channel that is closed when the box has ended.
func (*Box) Done() <-chan struct{} { return nil }

// Close ends the box.
func (*Box) Close(context.Context) error { return nil }
