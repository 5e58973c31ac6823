package sessions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/gajae-code/gjc/internal/jsonx"
)

const lockSuffix = ".lock"

// lockOwner is the content of a lock file after its first byte, which on Windows other processes cannot read while the
// file is locked.
type lockOwner struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
	// Token distinguishes the locks of one process.
	Token string `json:"token"`
	Since string `json:"since"`
	// Held reports whether the existence of the file is the lock, because the file system does not support locks.
	Held bool `json:"held,omitzero"`
}

func newLockOwner() lockOwner {
	host, _ := os.Hostname() // a lock without a host never counts as stale
	return lockOwner{PID: os.Getpid(), Host: host, Token: randomHex(8), Since: formatTime(time.Now())}
}

// lock acquires the right to write a session file with an advisory lock on a file next to it, because the session file
// itself can be replaced. The system releases the lock when the process dies.
//
// The lock file is removed with the lock. After acquiring a lock, the new owner therefore checks that its file still
// has its name.
func lock(path string) (unlock func(), err error) {
	name := path + lockSuffix
	for range 100 {
		f := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(filePerm))
		ok, err := f.TryLock()
		switch {
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
			_ = f.Close()
			return lockByPresence(path)
		case err != nil:
			return nil, fmt.Errorf("locking the session: %w", err)
		case !ok:
			_ = f.Close()
			return nil, lockedError(path)
		}
		if !stillThere(f, name) {
			_ = f.Close()
			continue
		}
		if owner, err := readOwner(name); err == nil && owner.Held && !owner.stale() {
			_ = f.Close() // the lock belongs to a process that mounts the same files without lock support
			return nil, lockedError(path)
		}
		_ = writeOwner(name, newLockOwner()) // best effort: the lock is held without it
		return func() { release(f, name) }, nil
	}
	return nil, lockedError(path)
}

// lockByPresence implements lock on file systems without locks: the existence of the file is the lock. It takes over
// the file of a dead owner.
func lockByPresence(path string) (unlock func(), err error) {
	name := path + lockSuffix
	mine := newLockOwner()
	mine.Held = true
	for range 100 {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, filePerm)
		if err == nil {
			if err := errors.Join(f.Close(), writeOwner(name, mine)); err != nil {
				return nil, errors.Join(fmt.Errorf("locking the session: %w", err), os.Remove(name))
			}
			return func() {
				if is, err := readOwner(name); err == nil && is.Token == mine.Token {
					_ = os.Remove(name)
				}
			}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("locking the session: %w", err)
		}
		owner, err := readOwner(name)
		if err != nil || owner.Held && !owner.stale() {
			return nil, presenceError(path)
		}
		// Only one process succeeds in renaming a stale file.
		old := name + "." + mine.Token
		if os.Rename(name, old) != nil {
			continue
		}
		if is, err := readOwner(old); err == nil && is.Token != owner.Token {
			_ = os.Link(old, name) // restore it: a new lock has replaced the stale one
		}
		_ = os.Remove(old)
	}
	return nil, presenceError(path)
}

// stale reports whether the owner is certainly dead.
func (o lockOwner) stale() bool {
	host, err := os.Hostname()
	return err == nil && o.Host == host && o.PID > 0 && o.PID != os.Getpid() && !alive(o.PID)
}

func lockedError(path string) *LockedError {
	owner, err := readOwner(path + lockSuffix)
	if err != nil {
		return &LockedError{Path: path}
	}
	e := &LockedError{Path: path, PID: owner.PID, Since: parseTime(owner.Since)}
	if host, err := os.Hostname(); err != nil || host != owner.Host {
		e.Host = owner.Host
	}
	if owner.Held {
		e.LockFile = path + lockSuffix
	}
	return e
}

// presenceError returns the error for a lock by presence. The file may have outlived its owner: the owner died before it wrote its
// details, or another process now has its PID.
func presenceError(path string) *LockedError {
	e := lockedError(path)
	e.LockFile = path + lockSuffix
	return e
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
		_ = f.Close() // on Windows, an open file cannot be removed, nor one that a new owner has opened
		_ = os.Remove(name)
		return
	}
	_ = os.Remove(name)
	_ = f.Close()
}

func writeOwner(name string, owner lockOwner) error {
	text, err := jsonx.Marshal(owner)
	if err != nil {
		return err
	}
	w, err := os.OpenFile(name, os.O_WRONLY, filePerm)
	if err != nil {
		return err
	}
	_, err = w.WriteAt(append(text, '\n'), 1)
	return errors.Join(err, w.Truncate(int64(len(text))+2), w.Close())
}

func readOwner(name string) (lockOwner, error) {
	r, err := os.Open(name)
	if err != nil {
		return lockOwner{}, err
	}
	defer func() { _ = r.Close() }()
	var b [1024]byte
	n, _ := r.ReadAt(b[1:], 1)
	var owner lockOwner
	if err := jsonx.Unmarshal(b[1:1+n], &owner); err != nil {
		return lockOwner{}, err
	}
	return owner, nil
}
