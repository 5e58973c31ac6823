package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// divertStdout returns a handle of stdout that no child inherits, and redirects the standard handle to stderr.
func divertStdout(stdout, stderr *os.File) (*os.File, error) {
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
