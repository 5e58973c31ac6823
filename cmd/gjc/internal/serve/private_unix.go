//go:build unix

package serve

import (
	"errors"
	"io/fs"
)

// private returns an error for a file that others can read.
func private(info fs.FileInfo) error {
	if info.Mode().Perm()&0o077 != 0 {
		return errors.New("other users can read it; use chmod 600")
	}
	return nil
}
