//go:build unix

package system

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// HideInput stops a terminal's echo until show is called. A terminal without that ability stays unchanged.
func HideInput(fd int) (show func()) {
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return func() {}
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	_ = unix.IoctlSetTermios(fd, setTermios, &hidden)
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }
}

// DivertStdout returns a duplicate of stdout that no child inherits, and redirects stdout's descriptor to stderr.
func DivertStdout(stdout, stderr *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(stdout.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := dup2(int(stderr.Fd()), int(stdout.Fd())); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "protocol"), nil
}

// EndSignals are the signals that end the program in an orderly way.
var EndSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// SurviveBrokenPipes turns a write to a pipe without a reader into an error, also for stdout and stderr. An editor that
// dies takes stderr with it, and the next line of the log must not kill gjc before its children have ended. Children do
// not inherit a notified signal, unlike an ignored one.
func SurviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
