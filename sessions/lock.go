package sessions

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

const lockSuffix = ".lock"

// lock takes the right to write a session file: an advisory lock on a file beside it, because the session file itself
// can be replaced. The system frees it when the process dies, however it dies. The lock file holds the owner's process
// id behind its first byte, which on Windows nobody else may read while it is locked.
//
// The lock file goes away with the lock. So whoever gets the lock makes sure that its file still has its name.
func lock(path string) (unlock func(), err error) {
	name := path + lockSuffix
	for range 100 {
		f := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(filePerm))
		ok, err := f.TryLock()
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return func() {}, nil // a file system without locks: better a session than none
		case err != nil:
			return nil, fmt.Errorf("locking the session: %w", err)
		case !ok:
			_ = f.Close()
			return nil, &LockedError{Path: path, PID: lockOwner(name)}
		}
		if stillThere(f, name) {
			_ = writeOwner(name)
			return func() { release(f, name) }, nil
		}
		_ = f.Close()
	}
	return nil, &LockedError{Path: path}
}

func stillThere(f *flock.Flock, name string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(name)
	return err == nil && os.SameFile(held, named)
}

func release(f *flock.Flock, name string) {
	if runtime.GOOS == "windows" {
		_ = f.Close() // an open file can not be removed there, nor one that a new owner has opened
		_ = os.Remove(name)
		return
	}
	_ = os.Remove(name)
	_ = f.Close()
}

func writeOwner(name string) error {
	w, err := os.OpenFile(name, os.O_WRONLY, filePerm)
	if err != nil {
		return err
	}
	_, err = w.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 1)
	return errors.Join(err, w.Close())
}

func lockOwner(name string) int {
	r, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer func() { _ = r.Close() }()
	var b [32]byte
	n, _ := r.ReadAt(b[:], 1)
	pid, _, _ := strings.Cut(string(b[:n]), "\n")
	id, _ := strconv.Atoi(pid)
	return id
}
