package system

import "golang.org/x/sys/unix"

const getTermios, setTermios = unix.TCGETS, unix.TCSETS

func dup2(from, to int) error { return unix.Dup3(from, to, 0) }

// HideEnviron hides this process's memory and environment, which may contain keys, from other processes of the same
// user, such as its own commands. A process that may trace any other (root) still sees them. Programs that this process
// executes or starts are not hidden.
func HideEnviron() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
