//go:build unix

package serve

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// private returns an error for a file that others can read.
func private(info fs.FileInfo) error {
	if info.Mode().Perm()&0o077 != 0 {
		return errors.New("other users can read it; use chmod 600")
	}
	return nil
}

// reloadSignals are the signals for the server to read its files again.
func reloadSignals() []os.Signal { return []os.Signal{syscall.SIGHUP} }
