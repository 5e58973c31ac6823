//go:build unix

package main

import "golang.org/x/sys/unix"

// hideInput stops a terminal's echo until show is called. A terminal without that ability stays unchanged.
func hideInput(fd int) (show func()) {
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return func() {}
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	_ = unix.IoctlSetTermios(fd, setTermios, &hidden)
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }
}
