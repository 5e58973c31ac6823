package dap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/proc"
)

const (
	// defaultConnect bounds the time until an adapter is connected.
	defaultConnect = 10 * time.Second
	// dialInterval is the time between attempts to dial an adapter that does not listen yet. There is no event to wait for:
	// adapters print different texts when they listen, or none.
	dialInterval = 20 * time.Millisecond
	// adapterGrace bounds each step of the shutdown of an adapter's process.
	adapterGrace = 250 * time.Millisecond
	// stderrInError bounds the part of an adapter's output in an error, in bytes.
	stderrInError = 2 << 10
)

// transport is the process of an adapter, if gjc has started it, and the streams to it.
type transport struct {
	reader io.Reader
	writer io.Writer
	closer io.Closer
	// proc is nil for an adapter that gjc has not started.
	proc *proc.Process
	// address is where the adapter listens, for child sessions; empty if it does not listen.
	address string
}

// connectError is the error for an adapter that could not be started or reached.
type connectError struct {
	text  string
	cause error
}

func (e *connectError) Error() string { return e.text }
func (e *connectError) Unwrap() error { return e.cause }

// printer returns the writer for what an adapter prints outside the protocol. It includes the output of a program that has
// inherited the adapter's streams.
type printer func(category string) io.Writer

// connect starts an adapter and connects to it, or connects to a running one. On an error it leaves no process. mark
// identifies the adapter's descendants (see [proc.Options]).
func (d *Debugger) connect(ctx context.Context, st *Start, mark string, output printer) (*transport, error) {
	place, err := d.place(ctx)
	if err != nil {
		return nil, err
	}
	if st.Address != "" {
		if err := permit.Check(ctx, permit.Effect{Action: permit.Reach, Host: st.Host()}); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, defaultConnect, fmt.Errorf("timed out (%s)", defaultConnect))
		defer cancel()
		conn, err := dial(ctx, place, st.Address, nil)
		if err != nil {
			return nil, &connectError{cause: err, text: fmt.Sprintf("cannot reach a debug adapter at %s: %v; check that a debug adapter listens there", st.Address, withoutOperation(err))}
		}
		return &transport{reader: conn, writer: conn, closer: conn, address: st.Address}, nil
	}
	spec := st.Adapter
	timeout := spec.Slow
	if timeout <= 0 {
		timeout = defaultConnect
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it was not ready within %s", timeout))
	defer cancel()
	tr, err := d.startProcess(ctx, place, st, mark, output)
	if err != nil {
		return nil, &connectError{cause: err, text: fmt.Sprintf("cannot start the debug adapter %s (%s): %v", spec.Name, spec.Path, err)}
	}
	return tr, nil
}

// place returns where the adapters of a call run; nil for among the other processes.
func (d *Debugger) place(ctx context.Context) (Enclosure, error) {
	if d.opts.Sandbox == nil {
		return nil, nil
	}
	return d.opts.Sandbox.Enclose(ctx)
}

func (d *Debugger) startProcess(ctx context.Context, place Enclosure, st *Start, mark string, output printer) (*transport, error) {
	spec := st.Adapter
	e := &endpoint{goos: runtime.GOOS, place: place}
	defer e.close()
	args, err := e.arguments(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := permit.Check(ctx, permit.Effect{Action: permit.Run, Path: spec.Path}); err != nil {
		return nil, err
	}
	o := &proc.Options{
		Path: spec.Path, Args: args, Dir: st.Dir, Env: proc.Environ(d.environ(ctx), append(nonInteractive(), spec.Env...)...), Mark: mark, Grace: adapterGrace,
	}
	if e.stdio {
		o.Stdin = true
	} else {
		o.Stdout, o.Stderr = output("stdout"), output("stderr")
	}
	// A start that is cancelled would leave a child without a parent that waits for it.
	var p *proc.Process
	if ctx := context.WithoutCancel(ctx); place == nil {
		p, err = d.opts.Children.Start(ctx, o)
	} else {
		p, err = place.Start(ctx, d.opts.Children, o)
	}
	if err != nil {
		return nil, startHint(err, st)
	}
	tr := &transport{proc: p}
	if e.stdio {
		tr.reader, tr.writer, tr.closer = p.Stdout(), p.Stdin(), p.Pipes()
		return tr, nil
	}
	conn, err := e.connect(ctx, p)
	if err != nil {
		p.Kill()
		<-p.Done()
		if tail := p.StderrTail(); tail != "" {
			err = fmt.Errorf("%w; it printed:\n%s", err, tail)
		}
		return nil, err
	}
	tr.reader, tr.writer, tr.closer = conn, conn, conn
	if e.listener == nil {
		tr.address = e.address
	}
	return tr, nil
}

// nonInteractive returns variables that keep the programs of an adapter from starting a pager or a prompt.
func nonInteractive() []string {
	return []string{"PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "PYTHONUNBUFFERED=1"}
}

func (d *Debugger) environ(ctx context.Context) []string {
	if d.opts.Env == nil {
		return nil
	}
	return d.opts.Env(ctx)
}

// startHint adds advice for the user to the error of a failed start.
func startHint(err error, st *Start) error {
	if _, gone := os.Stat(st.Dir); gone != nil {
		return fmt.Errorf("cannot use the directory %s: %w", st.Dir, withoutOperation(gone))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; install it, or correct its command in dap.json", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; make it executable, or correct its command in dap.json", err)
	default:
		return err
	}
}

// withoutOperation strips the operation and the path or address from an error.
func withoutOperation(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	return err
}

// endpoint is the address at which gjc and an adapter that it starts connect.
type endpoint struct {
	goos  string
	stdio bool
	place Enclosure // nil for this process's surroundings
	// address is where the adapter listens; listener accepts the connection of an adapter that dials.
	address  string
	listener net.Listener
	dir      string // holds the Unix socket
}

// arguments chooses the endpoint and returns the adapter's arguments with it.
func (e *endpoint) arguments(ctx context.Context, spec *Spec) (args []string, err error) {
	var port, socket string
	switch spec.Connect {
	case ConnectStdio, "":
		e.stdio = true
		return spec.Args, nil
	case ConnectSocket:
		if e.goos == "windows" {
			if err := e.listen(ctx); err != nil {
				return nil, err
			}
			return append(spec.Args[:len(spec.Args):len(spec.Args)], "--client-addr="+e.listener.Addr().String()), nil
		}
		if err := e.socket(); err != nil {
			return nil, err
		}
		return append(spec.Args[:len(spec.Args):len(spec.Args)], "--listen="+e.address), nil
	case ConnectDial:
		if slices.ContainsFunc(spec.Args, func(a string) bool { return strings.Contains(a, "${socket}") }) {
			if err := e.socket(); err != nil {
				return nil, err
			}
			socket = strings.TrimPrefix(e.address, "unix:")
			break
		}
		// If another process takes the port before the adapter does, the adapter fails and reports it.
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		e.address = l.Addr().String()
		_ = l.Close()
		_, port, _ = net.SplitHostPort(e.address)
	case ConnectListen:
		if err := e.listen(ctx); err != nil {
			return nil, err
		}
		_, port, _ = net.SplitHostPort(e.listener.Addr().String())
	default:
		return nil, fmt.Errorf("unknown connect %q; use stdio, socket, dial or listen", spec.Connect)
	}
	args = make([]string, len(spec.Args))
	for i, a := range spec.Args {
		args[i] = strings.NewReplacer("${port}", port, "${socket}", socket).Replace(a)
	}
	return args, nil
}

func (e *endpoint) listen(ctx context.Context) (err error) {
	if e.place != nil {
		e.listener, err = e.place.Listen(ctx)
		return err
	}
	e.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	return err
}

// socket chooses a path for a Unix socket. The path is short: an address has room for about 100 bytes.
func (e *endpoint) socket() (err error) {
	parent := ""
	if e.place != nil {
		parent = e.place.TempDir()
	}
	if e.dir, err = os.MkdirTemp(parent, "dap-"); err != nil {
		return err
	}
	e.address = "unix:" + filepath.Join(e.dir, "s")
	return nil
}

// close removes the endpoint. The connection stays open.
func (e *endpoint) close() {
	if e.listener != nil {
		_ = e.listener.Close()
	}
	if e.dir != "" {
		_ = os.RemoveAll(e.dir)
	}
}

// connect waits for the adapter and returns the connection.
func (e *endpoint) connect(ctx context.Context, p *proc.Process) (net.Conn, error) {
	if e.listener == nil {
		return dial(ctx, e.place, e.address, p)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with this call
		select {
		case <-p.Done():
			cancel(exitedEarly(p))
		case <-ctx.Done():
		}
		_ = e.listener.Close()
	}()
	conn, err := e.listener.Accept()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return conn, nil
}

// dial dials an address at a place. If p is not nil, it retries until the adapter listens, p has ended or ctx ends.
func dial(ctx context.Context, place Enclosure, address string, p *proc.Process) (net.Conn, error) {
	connect := func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) }
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		connect = func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", path) }
	} else if place != nil {
		connect = func() (net.Conn, error) { return place.Dial(ctx, address) }
	}
	var gone <-chan struct{}
	if p != nil {
		gone = p.Done()
	}
	retry := time.NewTicker(dialInterval)
	defer retry.Stop()
	for {
		conn, err := connect()
		if err == nil {
			return conn, nil
		}
		if p == nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, err // the adapter should listen already
		}
		select {
		case <-retry.C:
		case <-gone:
			return nil, exitedEarly(p)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func exitedEarly(p *proc.Process) error {
	state, _ := p.Wait(context.Background()) // it has ended
	return fmt.Errorf("it ended during its start: %s", state)
}
