//go:build unix

package proc

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// leader is the child that leads the group. The caller of kill and terminate must make sure that it is not reaped.
type leader struct {
	cmd  *exec.Cmd
	pty  bool
	send func(pid int, sig syscall.Signal) error // [unix.Kill], except in tests
}

func (l *leader) prepare(cmd *exec.Cmd, pty bool) {
	// Setsid also makes the child the leader of a new group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !pty, Setsid: pty, Setctty: pty}
	dieWithParent(cmd.SysProcAttr)
	l.cmd, l.pty, l.send = cmd, pty, unix.Kill
}

// become makes the child run as a user.
func (l *leader) become(u *User) error {
	l.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
	return nil
}

func (l *leader) start() error { return l.cmd.Start() }

func (l *leader) pid() int {
	if l.cmd.Process == nil {
		return 0
	}
	return l.cmd.Process.Pid
}

// wait waits for the end of the leader and leaves it a zombie, so that its process ID, which is also that of the group, is not used again
// before the rest of the group is killed.
func (l *leader) wait() ExitState {
	state, err := waitNoReap(l.pid())
	if err != nil {
		// Not known to happen. The group ID is not reserved from here to the kill, for microseconds.
		_ = l.cmd.Wait()
		return exitState(l.cmd.ProcessState)
	}
	return state
}

// reap reaps the zombie and returns its state.
func (l *leader) reap(seen ExitState) ExitState {
	if l.cmd.ProcessState == nil {
		_ = l.cmd.Wait()
	}
	if l.cmd.ProcessState == nil {
		return seen
	}
	return exitState(l.cmd.ProcessState)
}

func (l *leader) kill() error { return l.signal(unix.SIGKILL) }

func (l *leader) terminate() error {
	if l.pty {
		// Interactive shells ignore SIGTERM but not the loss of their terminal.
		_ = l.signal(unix.SIGHUP)
	}
	if err := l.signal(unix.SIGTERM); err != nil {
		return err
	}
	// A stopped process handles its signals only after SIGCONT.
	return l.signal(unix.SIGCONT)
}

// terminateMarked sends SIGTERM to the processes marked with entry, and reports whether there are any.
func terminateMarked(entry string) bool {
	if signalMarked(entry, unix.SIGTERM) == 0 {
		return false
	}
	signalMarked(entry, unix.SIGCONT) // a stopped process handles its signals only then
	return true
}

func (l *leader) signal(sig unix.Signal) error {
	if err := l.send(-l.pid(), sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("sending %s to process group %d: %w", unix.SignalName(sig), l.pid(), err)
	}
	return nil
}

// awaitGroupEnd waits for a bounded time until the killed rest of the group has ended. There is no event for that: the rest are
// not children of this process. In a container without an init, its zombies are never reaped.
func (l *leader) awaitGroupEnd() {
	const step, limit = time.Millisecond, 50 * time.Millisecond
	var waited time.Duration
	tick := time.NewTicker(step)
	defer tick.Stop()
	// Signal 0 has no effect, even if the ID belongs to another group.
	for unix.Kill(-l.pid(), 0) == nil && waited < limit {
		<-tick.C
		waited += step
	}
}

func exitState(s *os.ProcessState) ExitState {
	if s == nil {
		return ExitState{Code: -1}
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return signaled(w.Signal())
	}
	return ExitState{Code: s.ExitCode()}
}

func signaled(sig syscall.Signal) ExitState {
	name := cmp.Or(unix.SignalName(sig), sig.String())
	return ExitState{Code: -1, Signal: name}
}

func openPTY(cols, rows int) (master, tty *os.File, err error) {
	master, tty, err = pty.Open()
	if err != nil {
		return nil, nil, err
	}
	if err := pty.Setsize(master, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		_ = master.Close()
		_ = tty.Close()
		return nil, nil, err
	}
	waiting := master
	if master, err = withDeadlines(waiting); err != nil {
		_ = tty.Close()
	}
	_ = waiting.Close()
	return master, tty, err
}

// withDeadlines returns a file that supports read deadlines. A file loses them when its descriptor is requested, as package pty does.
// Without them, a process that has left the group and holds the terminal open would block a reader without end.
func withDeadlines(f *os.File) (*os.File, error) {
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
