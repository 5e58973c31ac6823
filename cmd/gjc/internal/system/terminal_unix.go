//go:build unix

package system

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Resizes gives to ch the signals that the terminal has another size.
func Resizes(ch chan<- os.Signal) { signal.Notify(ch, syscall.SIGWINCH) }

// Consoles says whether terminals are consoles of the system, without TERM and a locale in the environment.
const Consoles = false

// CanSuspend says whether [Suspend] does something.
const CanSuspend = true

// Suspend stops the processes of this job, as the terminal does at Ctrl-Z, until the shell continues them. Without a shell that could, it
// does nothing.
func Suspend() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return
	}
	// The process may run on for a moment before it stops. The system ignores the signal if no shell controls the job; then nothing
	// continues it either.
	select {
	case <-continued:
	case <-time.After(100 * time.Millisecond):
	}
}

// EscapeSequences does nothing: terminals understand them.
func EscapeSequences(int) error { return nil }
