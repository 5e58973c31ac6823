package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// keep starts the programs of a box. It runs inside, below the guard, so that whatever it starts is inside too. It returns when the box
// cannot go on; bubblewrap ends it otherwise.
func keep() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := install(boxFilter(), unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	listener, err := unixListener(keeperFD)
	if err != nil {
		return err
	}
	k := new(keeper)
	for {
		c, err := listener.AcceptUnix()
		if err != nil {
			return err
		}
		go k.serve(c) // ends with the connection, at the latest with the box
	}
}

// keeper knows the programs of a box.
type keeper struct {
	mu sync.Mutex // guards running, and the start of programs
	// running has the process groups of the programs that have not ended, by ID.
	running map[int]*group
}

// serve answers one connection.
func (k *keeper) serve(c *net.UnixConn) {
	defer func() { _ = c.Close() }()
	var req request
	files, err := receive(c, &req)
	if err != nil {
		return
	}
	defer closeAll(files)
	switch {
	case req.Run != nil:
		err = k.start(c, req.Run, files)
	case req.Dial != "":
		err = dial(c, req.Dial)
	case req.Listen:
		err = forward(c)
	case req.EndRest:
		if err = k.endRest(); err == nil {
			err = send(c, answer{})
		}
	case req.Look != nil:
		var a answer
		if a, err = look(req.Look); err == nil {
			err = send(c, a)
		}
	default:
		err = errors.New("unknown request")
	}
	if err != nil {
		_ = send(c, answer{Error: err.Error()}) // the other side may have gone
	}
}

// start starts a program, passes signals on to its process group, and reports its end, once what is left of the group has ended, too: what
// it does is the program's doing, for which the starter answers.
func (k *keeper) start(c *net.UnixConn, req *runRequest, files []*os.File) error {
	cmd := &exec.Cmd{
		Path: req.Path, Args: append([]string{req.Path}, req.Args...), Env: req.Env, Dir: req.Dir,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	std, master, err := standard(req, files)
	if err != nil {
		return err
	}
	defer closeAll(std)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std[0], std[1], std[2]
	if master != nil {
		defer func() { _ = master.Close() }()
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: req.Terminal[0]}
	}
	group, err := k.run(cmd)
	if err != nil {
		return startError(err)
	}
	defer k.end(group)
	closeAll(std)
	closeAll(files)
	var terminal []*os.File
	if master != nil {
		terminal = append(terminal, master)
	}
	if err := send(c, answer{}, terminal...); err != nil {
		group.end()
	}
	if master != nil {
		_ = master.Close() // the starter has it; only its end hangs up the terminal
	}
	go func() { // ends with the connection, which serve closes
		for {
			var s signalMessage
			if err := decode(c, &s); err != nil {
				group.abandon()
				return
			}
			group.signal(syscall.Signal(s.Signal))
		}
	}()
	err = cmd.Wait()
	var a answer
	switch status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); {
	case ok && status.Signaled():
		a.Signal = int(status.Signal())
	case err != nil && cmd.ProcessState.ExitCode() < 0:
		a.Code = Failed
	default:
		a.Code = cmd.ProcessState.ExitCode()
	}
	group.exited()
	group.linger(backgroundGrace)
	group.end()
	group.linger(endLimit) // until the kernel has ended it
	return send(c, a)
}

// run starts a program as the leader of a group, which the caller must end.
func (k *keeper) run(cmd *exec.Cmd) (*group, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &group{id: cmd.Process.Pid}
	if k.running == nil {
		k.running = make(map[int]*group)
	}
	k.running[g.id] = g
	return g, nil
}

// end kills the group of a program that has ended.
func (k *keeper) end(g *group) {
	g.end()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running[g.id] == g { // the kernel may have given its ID to another one
		delete(k.running, g.id)
	}
}

// backgroundGrace bounds the time in which the rest of a process group may go on after its leader has ended.
const backgroundGrace = 300 * time.Millisecond

// group is the process group of a program. Its ID may belong to others once all of its processes have ended; the keeper starts all
// process groups of the box, so that is again one that it started.
type group struct {
	id int

	mu         sync.Mutex // guards the fields below
	leaderless bool       // whether the leader has ended
	ended      bool
}

// exited notes that the leader has ended.
func (g *group) exited() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leaderless = true
}

// abandon kills the group if the starter has gone before the leader ended.
func (g *group) abandon() {
	g.mu.Lock()
	leaderless := g.leaderless
	g.mu.Unlock()
	if !leaderless {
		g.end()
	}
}

func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		_ = unix.Kill(-g.id, s) // it may have ended
	}
}

// end kills the group.
func (g *group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		g.ended = true
		_ = unix.Kill(-g.id, unix.SIGKILL) // it may have ended
	}
}

// linger waits until the group is empty, and not longer than a time.
func (g *group) linger(most time.Duration) {
	const step = 5 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	for begin := time.Now(); time.Since(begin) < most && unix.Kill(-g.id, 0) == nil; {
		<-tick.C
	}
}

// standard returns the standard files of a program, and the other side of its terminal.
func standard(req *runRequest, files []*os.File) (std []*os.File, master *os.File, err error) {
	if len(files)+len(req.Terminal) != 3 {
		return nil, nil, errors.New("a program has three standard files")
	}
	var tty *os.File
	if len(req.Terminal) > 0 {
		if master, tty, err = pty.Open(); err != nil {
			return nil, nil, fmt.Errorf("opening a terminal: %w", err)
		}
		if err := pty.Setsize(master, &pty.Winsize{Cols: req.Cols, Rows: req.Rows}); err != nil {
			closeAll([]*os.File{master, tty})
			return nil, nil, err
		}
	}
	for fd := range 3 {
		if slices.Contains(req.Terminal, fd) {
			std = append(std, tty)
			continue
		}
		std = append(std, files[0])
		files = files[1:]
	}
	return std, master, nil
}

// startError returns the reason why a program could not be started, without its path, which the starter knows.
func startError(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// dial answers with a connection to an address.
func dial(c *net.UnixConn, address string) error {
	conn, err := (&net.Dialer{Timeout: dialLimit}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // the other side has a copy
	return pass(c, conn, answer{})
}

// dialLimit bounds a connection to a server in the box.
const dialLimit = 10 * time.Second

// pass sends a connection.
func pass(c *net.UnixConn, conn net.Conn, a answer) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return errors.New("no TCP connection")
	}
	f, err := tcp.File()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return send(c, a, f)
}

// forward opens a port, and answers with each connection that a program makes to it. It closes the port with c.
func forward(c *net.UnixConn) error {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("opening a port in the box: %w", err)
	}
	defer func() { _ = l.Close() }()
	if err := send(c, answer{Address: l.Addr().String()}); err != nil {
		return err
	}
	go func() { // ends with the connection
		_, _ = io.Copy(io.Discard, c)
		_ = l.Close()
	}()
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		err = pass(c, conn, answer{})
		_ = conn.Close() // the other side has a copy
		if err != nil {
			return err
		}
	}
}
