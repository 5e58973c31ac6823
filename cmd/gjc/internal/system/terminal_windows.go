package system

import (
	"os"

	"golang.org/x/sys/windows"
)

// Resizes does nothing: the size is read whenever a line is shown.
func Resizes(chan<- os.Signal) {}

// Consoles says whether terminals are consoles of the system, without TERM and a locale in the environment.
const Consoles = true

// CanSuspend says whether [Suspend] does something.
const CanSuspend = false

// Suspend does nothing: this system has no jobs.
func Suspend() {}

// EscapeSequences makes a console understand escape sequences, given the descriptor of its output.
func EscapeSequences(fd int) error {
	var mode uint32
	if err := windows.GetConsoleMode(windows.Handle(fd), &mode); err != nil {
		return err
	}
	return windows.SetConsoleMode(windows.Handle(fd), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING|windows.ENABLE_PROCESSED_OUTPUT)
}
