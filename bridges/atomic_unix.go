//go:build unix

package bridges

import (
	"os"

	"golang.org/x/sys/unix"
)

// renamesOpenFiles reports whether a file can be renamed and removed while it is open.
const renamesOpenFiles = true

// claim marks a temporary file as one that a process writes. On a file system without locks the file is never removed as a
// leftover.
func claim(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// isAbandoned reports whether no living process has claimed a temporary file.
func isAbandoned(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
