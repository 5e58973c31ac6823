package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// run starts a program in the box with the given socket, as if it were this process: with its standard files, signals, directory
// and exit status. A terminal is replaced by one of the box's own, so that nothing inside can type into the user's.
func run(socket, dir string, command []string, in *Invocation) (code int, err error) {
	conn, err := new(net.Dialer).DialContext(context.Background(), "unix", socket)
	if err != nil {
		return Failed, fmt.Errorf("the session's box has ended: %w", err)
	}
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return Failed, errors.New("no Unix socket")
	}
	defer func() { _ = c.Close() }()
	// Before the program starts, so that no signal is lost.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT, unix.SIGWINCH)

	r := &runRequest{Path: command[0], Args: command[1:], Env: in.Env, Dir: dir}
	var files []*os.File
	for fd, f := range in.files() {
		if term.IsTerminal(int(f.Fd())) {
			r.Terminal = append(r.Terminal, fd)
		} else {
			files = append(files, f)
		}
	}
	if len(r.Terminal) > 0 {
		r.Cols, r.Rows = size(r.Terminal[0])
	}
	if err := send(c, request{Run: r}, files...); err != nil {
		return Failed, err
	}
	var a answer
	masters, err := receive(c, &a)
	if err != nil {
		return Failed, fmt.Errorf("the session's box has ended: %w", err)
	}
	if a.Error != "" {
		return Failed, fmt.Errorf("%s: %s", command[0], a.Error)
	}
	var relayed func()
	if len(masters) > 0 {
		relayed = relay(masters[0], r.Terminal, in)
	}
	go func() { // ends with this process
		for s := range signals {
			if number, ok := s.(syscall.Signal); ok && number == unix.SIGWINCH && len(masters) > 0 {
				cols, rows := size(r.Terminal[0])
				_ = pty.Setsize(masters[0], &pty.Winsize{Cols: cols, Rows: rows}) // the program may have ended
			} else if ok {
				_ = send(c, signalMessage{int(number)}) // the program may have ended
			}
		}
	}()
	_, err = receive(c, &a)
	if relayed != nil {
		relayed()
	}
	if err != nil {
		return Failed, fmt.Errorf("the session's box has ended: %w", err)
	}
	if a.Signal != 0 {
		dieOf(syscall.Signal(a.Signal))
	}
	return a.Code, nil
}

// files returns the standard files.
func (in *Invocation) files() []*os.File { return []*os.File{in.Stdin, in.Stdout, in.Stderr} }

// size returns the size of the terminal at a descriptor.
func size(fd int) (cols, rows uint16) {
	w, h, err := term.GetSize(fd)
	if err != nil {
		return 80, 24
	}
	return uint16(w), uint16(h)
}

// relay connects the terminal of this process with that of the program. The returned function waits for the last output and
// restores the terminal.
func relay(master *os.File, terminal []int, in *Invocation) func() {
	restore := func() {}
	if terminal[0] == 0 {
		if state, err := term.MakeRaw(0); err == nil {
			restore = func() { _ = term.Restore(0, state) } // it may have hung up
		}
		go func() { _, _ = io.Copy(master, in.Stdin) }() // ends with this process
	}
	out := in.Stdout
	if terminal[len(terminal)-1] == 2 && len(terminal) == 1 {
		out = in.Stderr
	}
	copied := make(chan struct{})
	if f, err := deadlines(master); err == nil {
		master = f
	}
	go func() { // ends with the terminal, or at the deadline
		defer close(copied)
		_, _ = io.Copy(out, master)
	}()
	return func() {
		// Background processes may hold the terminal open.
		_ = master.SetReadDeadline(time.Now().Add(backgroundGrace))
		<-copied
		restore()
	}
}

// deadlines returns a copy of a file that supports deadlines.
func deadlines(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// dieOf ends this process by a signal, as the program was ended. It returns if that is one that does not end processes.
func dieOf(s syscall.Signal) {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // the program has left its own
	runtime.LockOSThread()
	var standard [4]uint64 // a zero sigaction; the runtime's own handler would print its stacks
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&standard)), 0, 8, 0, 0)
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), s)
}
