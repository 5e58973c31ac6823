// Package engines runs the engines of the users of "gjc serve": one process for each user, under a user of the operating system of its own or
// in bubblewrap, so that no user reaches the files, keys and processes of another one.
package engines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
)

// Operator is the user of the server's own token: the one who has started the server. Its engine has the rights, settings and sessions of
// that user of the operating system.
const Operator = ""

// Options configures [Pool]. All fields but Places, Secrets, Open, Stderr and Idle are required.
type Options struct {
	// Program is gjc, Args the arguments that begin the engine's command line. The socket and the agent directory follow.
	Program string
	Args    []string
	// Dir has the directories of the users.
	Dir string
	// Env is the environment of the server. The operator's engine gets it as it is, the others only what a program needs.
	Env []string
	// Places returns the arguments that say where sessions may work, for a user with a home directory, which is empty for the operator. Optional.
	Places func(home string) []string
	// Boundary keeps the users apart.
	Boundary Boundary
	// Secrets returns the variables that only the engine of one user gets. Optional.
	Secrets func(ctx context.Context, user string) ([]string, error)
	// Open opens what only the engine of one user can reach, in a directory that only the user and the server can enter, and returns variables
	// for the engine. end is called when the engine has ended, also if it did not start. Optional.
	Open func(user, dir string) (env []string, end func(), err error)
	// Children owns the processes.
	Children *proc.Group
	// Stderr receives what the engines log. Optional.
	Stderr io.Writer
	// Idle is the time after which an engine without a connection ends; if zero, ten minutes.
	Idle time.Duration
}

// Pool has the engines that run. It is safe for concurrent use.
type Pool struct {
	opts Options
	run  string // the directory of the sockets

	mu     sync.Mutex // guards the fields below
	users  map[string]*engine
	last   int // numbers the directories of sockets
	closed bool
}

// engine is the process of a user.
type engine struct {
	home   string
	socket string
	ready  chan struct{} // closed when process and err are set
	err    error
	child  *proc.Process
	end    func() // closes what is open for the engine

	// The pool's mutex guards these.
	connections int
	idle        *time.Timer
}

// ErrAnotherUser is wrapped by the error for a second user where users cannot be kept apart.
var ErrAnotherUser = errors.New("this server serves only one user")

// startTime bounds the start of an engine.
const startTime = 20 * time.Second

// New returns a pool without engines. The caller closes it.
func New(opts Options) (*Pool, error) {
	if opts.Idle == 0 {
		opts.Idle = 10 * time.Minute
	}
	// The path of a socket has at most about 100 bytes.
	run, err := os.MkdirTemp("", "gjc-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(run, 0o711); err != nil { //nolint:gosec // each user has a directory in it
		return nil, err
	}
	return &Pool{opts: opts, run: run, users: make(map[string]*engine)}, nil
}

// Running returns the number of engines.
func (p *Pool) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.users)
}

// Connect connects a client to the engine of a user, which it starts if necessary. The caller reads the connection to its end and closes it. The error wraps
// [ErrAnotherUser] if there is no boundary and another user has an engine.
func (p *Pool) Connect(ctx context.Context, user string) (io.ReadWriteCloser, error) {
	e, err := p.enter(user)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.ready:
	case <-ctx.Done():
		p.leave(user, e)
		return nil, context.Cause(ctx)
	}
	if e.err != nil {
		p.leave(user, e)
		return nil, e.err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", e.socket)
	if err != nil {
		p.leave(user, e)
		return nil, fmt.Errorf("the engine does not answer: %w", err)
	}
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		p.leave(user, e)
		return nil, errors.Join(fmt.Errorf("%T is not a Unix socket", conn), conn.Close())
	}
	return &connection{UnixConn: unix, ended: make(chan struct{}), leave: sync.OnceFunc(func() { p.leave(user, e) })}, nil
}

// connection is one to an engine.
type connection struct {
	*net.UnixConn
	leave func()
	once  sync.Once
	ended chan struct{} // closed when the engine has ended the connection
}

// endTime bounds the end of an engine's connection: its turns are cancelled and its sessions stored.
const endTime = 5 * time.Second

// Read implements [io.Reader]. One goroutine reads until the end, also during Close.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.UnixConn.Read(p)
	if err != nil {
		c.once.Do(func() { close(c.ended) })
	}
	return n, err
}

// Close implements [io.Closer]. The engine has released the connection's sessions when it returns.
func (c *connection) Close() error {
	defer c.leave()
	_ = c.CloseWrite() // the engine may have ended already
	limit := time.NewTimer(endTime)
	defer limit.Stop()
	select {
	case <-c.ended:
	case <-limit.C:
	}
	return c.UnixConn.Close()
}

// enter returns the engine of a user, with a connection more.
func (p *Pool) enter(user string) (*engine, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the server is closing")
	}
	e := p.users[user]
	if e == nil {
		if p.opts.Boundary.None() && len(p.users) > 0 {
			return nil, fmt.Errorf("%w: it cannot keep the files of several apart: run it as root with --uids, or install bubblewrap", ErrAnotherUser)
		}
		p.last++
		e = &engine{ready: make(chan struct{}), end: func() {}, home: filepath.Join(p.opts.Dir, "users", user), socket: filepath.Join(p.run, strconv.Itoa(p.last), "s")}
		p.users[user] = e
		go func() { // ends with the engine, which ends with the pool
			e.err = p.start(e, user)
			close(e.ready)
			if e.err == nil {
				<-e.child.Done()
			}
			e.end()
			p.forget(user, e)
		}()
	}
	e.connections++
	if e.idle != nil {
		e.idle.Stop()
		e.idle = nil
	}
	return e, nil
}

// leave is the end of a connection.
func (p *Pool) leave(user string, e *engine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.connections--; e.connections > 0 || p.users[user] != e || p.closed {
		return
	}
	e.idle = time.AfterFunc(p.opts.Idle, func() { p.retire(user, e) })
}

// retire ends an engine that no client has used for a while.
func (p *Pool) retire(user string, e *engine) {
	p.mu.Lock()
	if e.connections > 0 || p.users[user] != e || p.closed {
		p.mu.Unlock()
		return
	}
	delete(p.users, user)
	p.mu.Unlock()
	<-e.ready
	if e.err == nil {
		_ = e.child.Stdin().Close() // it ends
	}
}

// forget removes an engine that has ended, so that the next connection starts another one.
func (p *Pool) forget(user string, e *engine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users[user] == e {
		delete(p.users, user)
	}
	_ = os.RemoveAll(filepath.Dir(e.socket)) // what is left is in the directory that Close removes
}

// start starts the process of a user and waits until it accepts connections.
func (p *Pool) start(e *engine, user string) error {
	dir := filepath.Dir(e.socket)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	args := append(append([]string(nil), p.opts.Args...), "--socket", e.socket)
	if p.opts.Places != nil {
		home := e.home
		if user == Operator {
			home = ""
		}
		args = append(args, p.opts.Places(home)...)
	}
	// Without its stdin an engine ends: it does not outlive the server.
	o := &proc.Options{Path: p.opts.Program, Args: args, Env: p.opts.Env, Stdin: true, Stderr: p.opts.Stderr}
	ctx, cancel := context.WithTimeoutCause(context.Background(), startTime, fmt.Errorf("the engine did not start within %s", startTime))
	defer cancel()
	if user != Operator {
		if err := p.enclose(ctx, o, e, user); err != nil {
			return fmt.Errorf("starting the engine of %s: %w", user, err)
		}
	}
	started := &firstLine{done: make(chan struct{})}
	o.Stdout = started
	child, err := p.opts.Children.Start(ctx, o)
	if errors.Is(err, fs.ErrPermission) && user != Operator {
		return fmt.Errorf("starting the engine of %s: %w; install gjc where all users can run it", user, err)
	}
	if err != nil {
		return fmt.Errorf("starting the engine: %w", err)
	}
	e.child = child
	select {
	case <-started.done:
		return nil
	case <-child.Done():
		return fmt.Errorf("the engine has ended: %s", bytes.TrimSpace([]byte(child.StderrTail())))
	case <-ctx.Done():
		child.Kill()
		return context.Cause(ctx)
	}
}

// enclose prepares the process of a user who is not the operator.
func (p *Pool) enclose(ctx context.Context, o *proc.Options, e *engine, user string) error {
	for _, dir := range []string{p.opts.Dir, filepath.Join(p.opts.Dir, "users")} {
		if err := os.MkdirAll(dir, 0o711); err != nil { //nolint:gosec // the users pass through, and cannot list it
			return err
		}
	}
	if err := os.Mkdir(e.home, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	o.Dir = e.home
	o.Args = append(o.Args, "--agent-dir", filepath.Join(e.home, ".gjc", "agent"), "--user", user)
	o.Env = userEnv(p.opts.Env, e.home, user)
	if p.opts.Secrets != nil {
		secrets, err := p.opts.Secrets(ctx, user)
		if err != nil {
			return err
		}
		o.Env = append(o.Env, secrets...)
	}
	if p.opts.Open != nil {
		env, end, err := p.opts.Open(user, filepath.Dir(e.socket))
		if err != nil {
			return err
		}
		e.end = end
		o.Env = append(o.Env, env...)
	}
	return p.opts.Boundary.enclose(o, e.home, filepath.Dir(e.socket), user)
}

// firstLine is an output of which only the first line matters: the engine is ready.
type firstLine struct {
	done chan struct{}
	seen bool
}

// Write implements [io.Writer].
func (f *firstLine) Write(p []byte) (int, error) {
	if !f.seen && bytes.IndexByte(p, '\n') >= 0 {
		f.seen = true
		close(f.done)
	}
	return len(p), nil
}

// Close ends all engines. Their processes have ended when it returns, or ctx has.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	var all []*engine
	for _, e := range p.users {
		if e.idle != nil {
			e.idle.Stop()
		}
		all = append(all, e)
	}
	p.mu.Unlock()
	for _, e := range all {
		<-e.ready
		if e.err == nil {
			_ = e.child.Stdin().Close()
		}
	}
	var err error
	for _, e := range all {
		if e.err != nil {
			continue
		}
		select {
		case <-e.child.Done():
		case <-ctx.Done():
			e.child.Kill()
			err = context.Cause(ctx)
		}
	}
	return errors.Join(err, os.RemoveAll(p.run))
}
