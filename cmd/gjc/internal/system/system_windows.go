package system

import (
	"os"

	"golang.org/x/sys/windows"
)

// HideInput does nothing: reading a key hides the input from the start.
func HideInput(int) (show func()) { return func() {} }

// DivertStdout returns a handle of stdout that no child inherits, and redirects the standard handle to stderr.
func DivertStdout(stdout, stderr *os.File) (*os.File, error) {
	self := windows.CurrentProcess()
	var protocol windows.Handle
	if err := windows.DuplicateHandle(self, windows.Handle(stdout.Fd()), self, &protocol, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return nil, err
	}
	if err := windows.SetStdHandle(windows.STD_OUTPUT_HANDLE, windows.Handle(stderr.Fd())); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(protocol), "protocol"), nil
}

// EndSignals are the signals that end the program in an orderly way.
var EndSignals = []os.Signal{os.Interrupt}

// SurviveBrokenPipes does nothing: a write to a pipe without a reader is an error on Windows.
func SurviveBrokenPipes() {}

// HideEnviron is a no-op: this system cannot hide a process from others of its user.
func HideEnviron() error { return nil }
