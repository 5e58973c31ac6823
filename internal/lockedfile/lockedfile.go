// Package lockedfile reads and replaces small files that several processes of gjc share.
package lockedfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// File is a file that is replaced as a whole, by one process at a time. It is safe for concurrent use and caches nothing.
type File struct{ path string }

// New returns the file with a path, which need not exist. It does no I/O.
func New(path string) *File { return &File{path} }

// Path returns the file's path.
func (f *File) Path() string { return f.path }

// Read returns the file's content; nil if there is none.
func (f *File) Read() ([]byte, error) {
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Stamp returns a value that changes with the file. It only reads the file's metadata.
func (f *File) Stamp() string {
	info, err := os.Stat(f.path)
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%d %d", info.ModTime().UnixNano(), info.Size())
}

// lockWait bounds the wait for the lock, which is held for milliseconds.
const lockWait = 5 * time.Second

// Change replaces the content by what fn makes of it, under a lock. If fn returns nil, the file stays as it is. The file gets mode 0600.
func (f *File) Change(ctx context.Context, fn func(data []byte) ([]byte, error)) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	data, err := f.Read()
	if err != nil {
		return err
	}
	data, err = fn(data)
	if err != nil || data == nil {
		return err
	}
	return f.write(data)
}

// lock acquires an advisory lock on a file next to this one. The lock file is never removed, because removing it would be a race.
func (f *File) lock(ctx context.Context) (unlock func(), err error) {
	l := flock.New(f.path+".lock", flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, errors.New("timed out waiting for the lock of another process"))
	defer cancel()
	switch _, err := l.TryLockContext(ctx, 5*time.Millisecond); {
	case err == nil:
		return func() { _ = l.Close() }, nil
	case errors.Is(err, errors.ErrUnsupported):
		return func() {}, nil // a file system without locks
	case ctx.Err() != nil:
		return nil, fmt.Errorf("locking %s.lock: %w", f.path, context.Cause(ctx))
	default:
		return nil, err
	}
}

func (f *File) write(data []byte) error {
	// CreateTemp creates the file with mode 0600.
	tmp, err := os.CreateTemp(filepath.Dir(f.path), ".new-*"+filepath.Ext(f.path))
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // fails after a successful rename
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), f.path)
}
