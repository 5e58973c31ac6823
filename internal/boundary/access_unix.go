//go:build unix

package boundary

import "golang.org/x/sys/unix"

// mayWrite reports whether the user may change an existing file or directory.
func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }
