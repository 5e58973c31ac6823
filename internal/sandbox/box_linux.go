package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/internal/proc"
)

// Box is a set of namespaces that programs share: they see the same files, processes and servers. It ends with [Box.Close], with the
// group of its process, or with this program, and all its programs with it.
type Box struct {
	process *proc.Process
	self    string
	state   string // a directory of its own
	socket  string
	proxy   string
	forward *net.UnixConn
}

// Open starts a box. Its process belongs to children.
func (s *Sandbox) Open(ctx context.Context, children *proc.Group, p *Policy) (_ *Box, err error) {
	if s.Kind != Bubblewrap {
		return nil, fmt.Errorf("%w: %s has no boxes", errUnavailable, s.Kind)
	}
	state, err := os.MkdirTemp("", "gjc-box-")
	if err != nil {
		return nil, err
	}
	b := &Box{self: s.self, state: state, socket: filepath.Join(state, "socket")}
	defer func() {
		if err != nil {
			_ = b.Close(context.WithoutCancel(ctx))
		}
	}()
	var listeners []*os.File
	defer func() { closeAll(listeners) }() // the box has copies
	for _, name := range []string{b.socket, b.guardSocket()} {
		l, err := listen(name)
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, l)
	}
	inside := *p
	inside.Hide = append(machineSockets(s.env, p.Write), p.Hide...)
	args, err := bubblewrapArgs(&inside, state, s.self)
	if err != nil {
		return nil, err
	}
	options, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = options.Close() }()
	go func() { // ends when bubblewrap has read all, or has ended
		_, _ = write.WriteString(strings.Join(args, "\x00") + "\x00")
		_ = write.Close()
	}()
	b.process, err = children.Start(ctx, &proc.Options{
		Path: s.bwrap, Args: []string{"--args", "5", "--", boxSelf, Command, "guard"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"},
		Files: append(listeners, options), MergeStderr: true,
	})
	if err != nil {
		return nil, err
	}
	return b, b.await(ctx)
}

// listen returns a listening Unix socket for another process.
func listen(name string) (*os.File, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }() // the file is a copy
	l.SetUnlinkOnClose(false)
	return l.File()
}

func (b *Box) guardSocket() string { return filepath.Join(b.state, "guard") }

// Protect keeps, fixes and hides the paths of a policy from now on, also for programs that run already, in addition to those of the box's
// own. It does so again for those that have been replaced since. If it fails, the box does not protect all of them.
func (b *Box) Protect(ctx context.Context, p *Policy) error {
	c, err := connect(ctx, b.guardSocket())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if err := send(c, mountRequest{p.Keep, p.Fixed, p.Hide}); err != nil {
		return err
	}
	var a answer
	if _, err := receive(c, &a); err != nil {
		return err
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}

// await waits for the keeper.
func (b *Box) await(ctx context.Context) error {
	c, err := connect(ctx, b.socket)
	if err != nil {
		return err
	}
	b.forward = c
	ready := make(chan error, 1)
	go func() { // ends with the connection, which Close closes
		var a answer
		err := send(c, request{Forward: true})
		if err == nil {
			_, err = receive(c, &a)
		}
		if err == nil && a.Error != "" {
			err = errors.New(a.Error)
		}
		b.proxy = a.Address
		ready <- err
	}()
	select {
	case err := <-ready:
		return err
	case <-b.process.Done():
		return fmt.Errorf("bubblewrap: %s", b.said())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// said returns what bubblewrap has printed.
func (b *Box) said() string {
	out := make([]byte, 4096)
	n, _ := b.process.Stdout().Read(out) // it has ended
	if text := strings.TrimSpace(string(out[:n])); text != "" {
		return text
	}
	return "it ended at once"
}

func connect(ctx context.Context, socket string) (*net.UnixConn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	return conn.(*net.UnixConn), nil
}

// Wrap returns a program and its arguments that run the program at path with args in the box. dir is the working directory inside;
// empty for that in which the returned program is started.
func (b *Box) Wrap(dir, path string, args []string) (program string, all []string) {
	all = []string{Command, "run", b.socket, dir, path}
	return b.self, append(all, args...)
}

// Proxy returns the address inside the box whose connections [Box.Accept] returns.
func (b *Box) Proxy() string { return b.proxy }

// Accept waits for a connection to [Box.Proxy]. It fails once the box has ended. Only one goroutine may call it.
func (b *Box) Accept() (net.Conn, error) {
	var a answer
	return connOf(receive(b.forward, &a))
}

// Listen listens on a free port of 127.0.0.1 inside the box. The caller must close the listener.
func (b *Box) Listen(ctx context.Context) (net.Listener, error) {
	c, err := connect(ctx, b.socket)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	var a answer
	if err = send(c, request{Listen: true}); err == nil {
		_, err = receive(c, &a)
	}
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	var address net.Addr
	if err == nil {
		address, err = net.ResolveTCPAddr("tcp4", a.Address) // no name to resolve
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return &boxListener{c, address}, nil
}

// boxListener is a listener inside a box.
type boxListener struct {
	forward *net.UnixConn
	address net.Addr
}

// Accept implements [net.Listener]. Only one goroutine may call it.
func (l *boxListener) Accept() (net.Conn, error) {
	var a answer
	return connOf(receive(l.forward, &a))
}

func (l *boxListener) Addr() net.Addr { return l.address }

func (l *boxListener) Close() error { return l.forward.Close() }

// Dial connects to a TCP address inside the box.
func (b *Box) Dial(ctx context.Context, address string) (net.Conn, error) {
	c, err := connect(ctx, b.socket)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if err := send(c, request{Dial: address}); err != nil {
		return nil, err
	}
	var a answer
	files, err := receive(c, &a)
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	return connOf(files, err)
}

// connOf returns the connection of a message.
func connOf(files []*os.File, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	defer closeAll(files)
	if len(files) != 1 {
		return nil, errors.New("the box sent no connection")
	}
	return net.FileConn(files[0])
}

// Done returns a channel that is closed when the box has ended.
func (b *Box) Done() <-chan struct{} { return b.process.Done() }

// Close ends the programs of the box and removes its files. It may be called twice.
func (b *Box) Close(ctx context.Context) error {
	if b.forward != nil {
		_ = b.forward.Close()
	}
	var err error
	if b.process != nil {
		b.process.Kill()
		err = b.process.Shutdown(ctx, nil)
	}
	return errors.Join(err, removeAll(b.state))
}

// removeAll removes a directory of which parts may not be readable.
func removeAll(dir string) error {
	_ = os.Chmod(filepath.Join(dir, "void"), 0o700) // it may not have been made
	return os.RemoveAll(dir)
}
