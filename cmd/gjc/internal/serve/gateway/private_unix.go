//go:build unix

package gateway

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private returns an error for a file that another user can read.
func private(info fs.FileInfo) error {
	if info.Mode().Perm()&0o077 != 0 {
		return errors.New("other users can read it; use chmod 600")
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to the user %d, and the server runs as %d; use chown", stat.Uid, os.Geteuid())
	}
	return nil
}
