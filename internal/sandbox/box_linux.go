package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
)

// Box is a set of namespaces that programs share: they see the same files, processes and servers. It ends with [Box.Close], with the
// group of its process, or with this program, and all its programs with it.
type Box struct {
	process *proc.Process
	self    string
	state   string // a directory of its own
	socket  string
	proxy   net.Listener
	init    *os.File // a pidfd of the first process inside; nil if it is not known
	ending  sync.Once
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
	inside := *withAliases(p, replaced)
	inside.Hide = append(machineSockets(s.env, p.Write), inside.Hide...)
	args, err := bubblewrapArgs(&inside, state, s.self)
	if err != nil {
		return nil, err
	}
	options, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = options.Close() }()
	info, told, err := os.Pipe()
	if err != nil {
		_ = write.Close()
		return nil, err
	}
	defer func() { _ = info.Close() }()
	defer func() { _ = told.Close() }()
	go func() { // ends when bubblewrap has read all, or has ended
		_, _ = write.WriteString(strings.Join(args, "\x00") + "\x00")
		_ = write.Close()
	}()
	b.process, err = children.Start(ctx, &proc.Options{
		Path: s.bwrap, Args: []string{"--args", "5", "--info-fd", "6", "--", boxSelf, Command, "guard"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"},
		Files: append(listeners, options, told), MergeStderr: true,
	})
	if err != nil {
		return nil, err
	}
	if err := b.await(ctx); err != nil {
		return b, err
	}
	_ = told.Close()
	b.init = initOf(info)
	return b, nil
}

// initOf returns a pidfd of the first process inside, which bubblewrap has named, or nil.
func initOf(info *os.File) *os.File {
	_ = info.SetReadDeadline(time.Now().Add(time.Second)) // if it fails, bubblewrap has closed its copy nevertheless
	data, err := io.ReadAll(info)
	if err != nil {
		return nil
	}
	var child struct {
		PID int `json:"child-pid"`
	}
	if err := jsonx.Unmarshal(data, &child); err != nil || child.PID <= 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(child.PID, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), "init")
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
	p = withAliases(p, replaced)
	_, err := ask(ctx, b.guardSocket(), mountRequest{p.Keep, p.Fixed, p.Hide})
	return err
}

// await waits for the keeper.
func (b *Box) await(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-b.process.Done():
			cancel(fmt.Errorf("bubblewrap: %s", b.said()))
		case <-ctx.Done():
		}
	}()
	l, err := b.Listen(ctx)
	if err != nil {
		return err
	}
	b.proxy = l
	return nil
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

// ask sends a request to a socket of the box and returns its only answer.
func ask(ctx context.Context, socket string, request any) (a answer, err error) {
	c, err := connect(ctx, socket)
	if err != nil {
		return a, err
	}
	defer func() { _ = c.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if err = send(c, request); err == nil {
		_, err = receive(c, &a)
	}
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	return a, err
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

// Proxy returns the first listener of [Box.Listen]. The box closes it.
func (b *Box) Proxy() net.Listener { return b.proxy }

// Listen opens a TCP port of 127.0.0.1 inside the box. The returned listener accepts its connections here, until the box ends or the
// caller closes it, which closes the port.
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
	address, parseErr := netip.ParseAddrPort(a.Address)
	if err == nil {
		err = parseErr
	}
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return &listener{c: c, address: net.TCPAddrFromAddrPort(address)}, nil
}

// listener is a port inside a box. The keeper sends its connections to c, and closes the port once c is closed.
type listener struct {
	c       *net.UnixConn
	address *net.TCPAddr
	mu      sync.Mutex // guards reading from c
}

func (l *listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var a answer
	return connOf(receive(l.c, &a))
}

func (l *listener) Close() error { return l.c.Close() }

func (l *listener) Addr() net.Addr { return l.address }

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
	if b.proxy != nil {
		_ = b.proxy.Close()
	}
	var err error
	if b.process != nil {
		b.ending.Do(func() { b.end(ctx) })
		err = b.process.Shutdown(ctx, nil)
	}
	return errors.Join(err, removeAll(b.state))
}

// end kills the first process inside. The kernel then kills all others, and bubblewrap ends once none is left. If bubblewrap were killed, its
// children would be orphans, for whose end there is no event.
func (b *Box) end(ctx context.Context) {
	defer b.process.Kill()
	if b.init == nil {
		return
	}
	defer func() { _ = b.init.Close() }()
	if err := unix.PidfdSendSignal(int(b.init.Fd()), unix.SIGKILL, nil, 0); err != nil {
		return // it has ended
	}
	limit := time.NewTimer(endLimit)
	defer limit.Stop()
	select {
	case <-b.process.Done():
	case <-ctx.Done():
	case <-limit.C:
	}
}

// endLimit bounds the end of killed processes; one in a system call of a network file system may take long.
const endLimit = 2 * time.Second

// removeAll removes a directory of which parts may not be readable.
func removeAll(dir string) error {
	_ = os.Chmod(filepath.Join(dir, "void"), 0o700) // it may not have been made
	return os.RemoveAll(dir)
}
