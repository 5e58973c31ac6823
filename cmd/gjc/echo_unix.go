//go:build unix

package main

import "golang.org/x/sys/unix"

// hideInput keeps a terminal from showing what is typed, until show is called. A terminal that can not do that is left as
// it is.
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
