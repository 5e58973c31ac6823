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
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// defaultConnect bounds the time until an adapter listens, or has dialled.
	defaultConnect = 10 * time.Second
	// dialEvery is how often an adapter that does not listen yet is tried. There is nothing to wait for instead: adapters
	// tell in words of their own, or not at all.
	dialEvery = 20 * time.Millisecond
	// adapterGrace bounds each step of the end of an adapter's process.
	adapterGrace = 250 * time.Millisecond
	// stderrInError is how much of an adapter's complaints an error quotes, in bytes.
	stderrInError = 2 << 10
)

// link is a way to an adapter: its process, unless it was there before, and the streams.
type link struct {
	reader io.Reader
	writer io.Writer
	closer io.Closer
	// proc is nil for an adapter that somebody else has started.
	proc *proc.Process
	// address is where the adapter listens, for child sessions; empty where it does not.
	address string
}

// connectError is why there is no way to an adapter.
type connectError struct {
	adapter, text string
	cause         error
}

func (e *connectError) Error() string { return e.text }
func (e *connectError) Unwrap() error { return e.cause }

// printer gets what an adapter prints where that is not the protocol: its own words, and the program's when that has inherited
// the streams.
type printer func(category string) io.Writer

// connect starts an adapter and connects to it, or connects to one that is there. On an error nothing is left. mark is what
// the adapter and all it starts are known by (see [proc.Options]).
func (d *Debugger) connect(ctx context.Context, st *Start, mark string, prints printer) (*link, error) {
	if st.Address != "" {
		ctx, cancel := context.WithTimeoutCause(ctx, defaultConnect, errors.New("nobody answered in time"))
		defer cancel()
		conn, err := dial(ctx, st.Address, nil)
		if err != nil {
			return nil, &connectError{cause: err, text: fmt.Sprintf("no debug adapter could be reached at %s: %v. Check that it listens there, for a debug adapter and not for another protocol", st.Address, reason(err))}
		}
		return &link{reader: conn, writer: conn, closer: conn, address: st.Address}, nil
	}
	spec := st.Adapter
	slow := spec.Slow
	if slow <= 0 {
		slow = defaultConnect
	}
	ctx, cancel := context.WithTimeoutCause(ctx, slow, fmt.Errorf("it was not ready within %s", slow))
	defer cancel()
	l, err := d.launch(ctx, st, mark, prints)
	if err != nil {
		return nil, &connectError{adapter: spec.Name, cause: err, text: fmt.Sprintf("the debug adapter %s (%s) could not be started: %v", spec.Name, spec.Path, err)}
	}
	return l, nil
}

func (d *Debugger) launch(ctx context.Context, st *Start, mark string, prints printer) (*link, error) {
	spec := st.Adapter
	w := &waiting{goos: runtime.GOOS}
	defer w.tidy()
	args, err := w.prepare(ctx, spec)
	if err != nil {
		return nil, err
	}
	o := &proc.Options{
		Path: spec.Path, Args: args, Dir: st.Dir, Env: proc.Environ(d.environ(ctx), append(quiet(), spec.Env...)...), Mark: mark, Grace: adapterGrace,
	}
	if w.stdio {
		o.Stdin = true
	} else {
		o.Stdout, o.Stderr = prints("stdout"), prints("stderr")
	}
	// A start that is cut off would leave a child that nobody waits for.
	p, err := d.opts.Children.Start(context.WithoutCancel(ctx), o)
	if err != nil {
		return nil, startHint(err, st)
	}
	l := &link{proc: p}
	if w.stdio {
		l.reader, l.writer, l.closer = p.Stdout(), p.Stdin(), streams{p.Stdin(), p.Stdout()}
		return l, nil
	}
	conn, err := w.connection(ctx, p)
	if err != nil {
		p.Kill()
		<-p.Done()
		if complaints := complaints(p); complaints != "" {
			err = fmt.Errorf("%w; it printed:\n%s", err, complaints)
		}
		return nil, err
	}
	l.reader, l.writer, l.closer = conn, conn, conn
	if w.listener == nil {
		l.address = w.address
	}
	return l, nil
}

// quiet keeps what adapters start from waiting for a person, or painting for one.
func quiet() []string {
	return []string{"PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "PYTHONUNBUFFERED=1"}
}

func (d *Debugger) environ(ctx context.Context) []string {
	if d.opts.Env == nil {
		return nil
	}
	return d.opts.Env(ctx)
}

// startHint adds to the failure of a start what the user can do about it.
func startHint(err error, st *Start) error {
	if _, gone := os.Stat(st.Dir); gone != nil {
		return fmt.Errorf("the directory %s can not be used: %w", st.Dir, reason(gone))
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

// reason is an error without the operation and the path or address that its text has.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	return err
}

// waiting is how gjc and an adapter that has been started find each other.
type waiting struct {
	goos  string
	stdio bool
	// address is what is dialled; listener is where the adapter dials.
	address  string
	listener net.Listener
	dir      string // holds the Unix socket
}

// prepare makes the arguments of the adapter.
func (w *waiting) prepare(ctx context.Context, spec *Spec) (args []string, err error) {
	var port, socket string
	switch spec.Connect {
	case ConnectStdio, "":
		w.stdio = true
		return spec.Args, nil
	case ConnectSocket:
		if w.goos == "windows" {
			if err := w.listen(ctx); err != nil {
				return nil, err
			}
			return append(spec.Args[:len(spec.Args):len(spec.Args)], "--client-addr="+w.listener.Addr().String()), nil
		}
		if err := w.socket(); err != nil {
			return nil, err
		}
		return append(spec.Args[:len(spec.Args):len(spec.Args)], "--listen="+w.address), nil
	case ConnectDial:
		if uses(spec.Args, "${socket}") {
			if err := w.socket(); err != nil {
				return nil, err
			}
			socket = strings.TrimPrefix(w.address, "unix:")
			break
		}
		// The port is free now. Who takes it before the adapter does makes that fail, and tell so.
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		w.address = l.Addr().String()
		_ = l.Close()
		_, port, _ = net.SplitHostPort(w.address)
	case ConnectListen:
		if err := w.listen(ctx); err != nil {
			return nil, err
		}
		_, port, _ = net.SplitHostPort(w.listener.Addr().String())
	default:
		return nil, fmt.Errorf("connect is %q; it can be stdio, socket, dial or listen", spec.Connect)
	}
	args = make([]string, len(spec.Args))
	for i, a := range spec.Args {
		args[i] = strings.NewReplacer("${port}", port, "${socket}", socket, "${pid}", strconv.Itoa(os.Getpid())).Replace(a)
	}
	return args, nil
}

func uses(args []string, token string) bool {
	for _, a := range args {
		if strings.Contains(a, token) {
			return true
		}
	}
	return false
}

func (w *waiting) listen(ctx context.Context) (err error) {
	w.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	return err
}

// socket chooses a path for a Unix socket. It is short: there is room for about 100 bytes in an address.
func (w *waiting) socket() (err error) {
	if w.dir, err = os.MkdirTemp("", "dap-"); err != nil {
		return err
	}
	w.address = "unix:" + filepath.Join(w.dir, "s")
	return nil
}

// tidy removes what was only needed to find each other.
func (w *waiting) tidy() {
	if w.listener != nil {
		_ = w.listener.Close()
	}
	if w.dir != "" {
		_ = os.RemoveAll(w.dir)
	}
}

// connection waits for the adapter.
func (w *waiting) connection(ctx context.Context, p *proc.Process) (net.Conn, error) {
	if w.listener == nil {
		return dial(ctx, w.address, p)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with this call
		select {
		case <-p.Done():
			cancel(ended(p))
		case <-ctx.Done():
		}
		_ = w.listener.Close()
	}()
	conn, err := w.listener.Accept()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return conn, nil
}

// dial tries an address until somebody listens there, the process p (if not nil) has ended, or ctx ends.
func dial(ctx context.Context, address string, p *proc.Process) (net.Conn, error) {
	network, addr := "tcp", address
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, addr = "unix", path
	}
	var gone <-chan struct{}
	if p != nil {
		gone = p.Done()
	}
	again := time.NewTicker(dialEvery)
	defer again.Stop()
	for {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, addr)
		if err == nil {
			return conn, nil
		}
		if p == nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, err // it was said to be there
		}
		select {
		case <-again.C:
		case <-gone:
			return nil, ended(p)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func ended(p *proc.Process) error {
	state, _ := p.Wait(context.Background()) // it has ended
	return fmt.Errorf("it ended during the start: %s", state)
}

// complaints is the end of what an adapter printed on stderr.
func complaints(p *proc.Process) string {
	return strings.ToValidUTF8(text.Tail(strings.TrimSpace(p.Stderr().String()), stderrInError), "\uFFFD")
}

// streams closes several.
type streams []io.Closer

func (s streams) Close() error {
	var errs []error
	for _, c := range s {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
