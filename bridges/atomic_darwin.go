package bridges

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// publish gives a file its final name, which must be free.
func publish(dir *os.Root, temp, name string) error {
	at, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = at.Close() }() // read only
	fd := int(at.Fd())
	switch err := unix.RenameatxNp(fd, temp, fd, name, unix.RENAME_EXCL); {
	case err == nil:
		return nil
	case errors.Is(err, unix.EEXIST):
		return fs.ErrExist
	}
	return publishByLink(dir, temp, name) // a file system that does not support it
}
