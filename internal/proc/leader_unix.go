//go:build unix

package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// leader is the child that leads the group. Who calls kill and terminate makes sure that it is not reaped.
type leader struct {
	cmd  *exec.Cmd
	pty  bool
	send func(pid int, sig syscall.Signal) error // [unix.Kill], but for tests
}

func (l *leader) prepare(cmd *exec.Cmd, pty bool) {
	// A session of its own makes the child lead a new group too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !pty, Setsid: pty, Setctty: pty}
	dieWithParent(cmd.SysProcAttr)
	l.cmd, l.pty, l.send = cmd, pty, unix.Kill
}

func (l *leader) start() error { return l.cmd.Start() }

func (l *leader) pid() int {
	if l.cmd.Process == nil {
		return 0
	}
	return l.cmd.Process.Pid
}

// wait blocks until the leader has ended and leaves it a zombie, so that its process id, which names the group, can
// not be given to another process before the rest of the group is killed.
func (l *leader) wait() ExitState {
	state, err := waitNoReap(l.pid())
	if err != nil {
		// Not seen to happen. The group id is unprotected from here to the kill, a matter of microseconds.
		_ = l.cmd.Wait()
		return exitState(l.cmd.ProcessState)
	}
	return state
}

// reap frees the zombie. It returns the state as the reaping tells it.
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
	// A stopped process gets to its signals only when it is continued.
	return l.signal(unix.SIGCONT)
}

// terminateMarked asks what carries a mark to end, and reports whether there is anything.
func terminateMarked(entry string) bool {
	if signalMarked(entry, unix.SIGTERM) == 0 {
		return false
	}
	signalMarked(entry, unix.SIGCONT) // a stopped process gets its signals only then
	return true
}

func (l *leader) signal(sig unix.Signal) error {
	if err := l.send(-l.pid(), sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("sending %s to process group %d: %w", unix.SignalName(sig), l.pid(), err)
	}
	return nil
}

// awaitGroupEnd waits for a bounded time until the killed rest of the group has ended. There is no event for that: the rest are
// not our children. Zombies that nobody reaps, as in containers without an init, are not waited for much longer.
func (l *leader) awaitGroupEnd() {
	const step, limit = time.Millisecond, 50 * time.Millisecond
	var waited time.Duration
	tick := time.NewTicker(step)
	defer tick.Stop()
	// Signal 0 reaches nobody, so it does no harm should the id be another group's by now.
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
	name := unix.SignalName(sig)
	if name == "" {
		name = sig.String()
	}
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

// withDeadlines returns a file whose reads can be ended. Asking for the descriptor of the one that it is made of, as package pty
// does, has taken that from it: who has left the group and holds the terminal open would keep a reader for ever.
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
