package sessions

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// FileSystem has the file operations of a [Store]: those of [Disk], or of a database that several servers share. Names are absolute.
// Errors match [fs.ErrNotExist] and [fs.ErrExist] like those of package os. It is safe for concurrent use.
type FileSystem interface {
	// OpenFile opens a file with the flags of package os. The caller closes it.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// ReadFile returns the whole content of a file.
	ReadFile(name string) ([]byte, error)
	// ReadDir lists a directory, in no particular order. The Info of an entry is that of Lstat, at the time of one of the calls.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Stat follows symbolic links.
	Stat(name string) (fs.FileInfo, error)
	// Lstat does not follow a symbolic link.
	Lstat(name string) (fs.FileInfo, error)
	// MkdirAll creates a directory and its parents. An existing directory is not an error.
	MkdirAll(name string, perm fs.FileMode) error
	// Rename renames a file, replacing any file at to.
	Rename(from, to string) error
	// Link creates a hard link. It may return [errors.ErrUnsupported].
	Link(from, to string) error
	// Remove deletes a file or an empty directory.
	Remove(name string) error
	// RemoveAll deletes name and what it contains. It is no error if name does not exist.
	RemoveAll(name string) error
	// SyncDir makes the names in a directory survive a power cut.
	SyncDir(name string) error
	// Lock acquires the right to write the named file, represented by a lock file next to it. It returns a
	// [*LockedError] if another owner has it. The lock ends with the process, however the process ends.
	Lock(name string) (unlock func(), err error)
	// Holder describes the process that has the lock of the named file, and returns the time for which that process keeps it without
	// renewing it; zero if that is not known. It returns nil if no process has the lock.
	Holder(name string) (*LockedError, time.Duration, error)
	// Watch calls wake, from any goroutine, after the named file was changed or its lock was released, until stop is called. Calls may
	// be missing or needless, so the caller also looks at the file now and then. wake must not block.
	Watch(name string, wake func()) (stop func())
}

// leaseHolder is implemented by a [FileSystem] whose locks other processes can take over.
type leaseHolder interface {
	// Lost returns a channel that is closed when this process notices that another one has taken over the lock of the named file.
	// It returns nil if this process does not have that lock.
	Lost(name string) <-chan struct{}
	// Renew returns the time between two renewals of a lock.
	Renew() time.Duration
}

// finder is implemented by a [FileSystem] on which a call for each directory is slow.
type finder interface {
	// Find lists what is in the directories of dir, and has part in its name, by the paths of those directories. The entries are those of
	// ReadDir. It is no error if dir does not exist.
	Find(dir, part string) (map[string][]fs.DirEntry, error)
}

// Lost returns a channel that is closed when another process takes over the session of an open log, which cannot be written then; nil if
// no other process can.
func Lost(l *Log) <-chan struct{} {
	if f, ok := l.fs.(leaseHolder); ok {
		return f.Lost(l.path)
	}
	return nil
}

// File is an open file. [*os.File] implements it.
type File interface {
	io.Writer
	io.ReaderAt
	// Stat describes the open file, even if its name now refers to another one.
	Stat() (fs.FileInfo, error)
	// Truncate sets the size of the file, in bytes.
	Truncate(size int64) error
	// Sync makes what was written survive a power cut.
	Sync() error
	// Close closes the file. It does not sync it.
	Close() error
}

// FileID identifies a file of a [FileSystem] that is not the operating system's. It is the Sys of the [fs.FileInfo] of such a file, and
// distinguishes the file from another one with its name.
type FileID int64

// SameFile reports whether a and b describe the same file. It is false if the file system does not identify its files.
func SameFile(a, b fs.FileInfo) bool {
	if id, ok := a.Sys().(FileID); ok {
		return b.Sys() == id
	}
	return os.SameFile(a, b)
}

// Disk returns the file system of the operating system.
func Disk() FileSystem { return diskFS{} }

type diskFS struct{}

func (diskFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	return os.OpenFile(name, flag, perm)
}
func (diskFS) ReadFile(name string) ([]byte, error)         { return os.ReadFile(name) }
func (diskFS) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (diskFS) Lstat(name string) (fs.FileInfo, error)       { return os.Lstat(name) }
func (diskFS) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (diskFS) Rename(from, to string) error                 { return os.Rename(from, to) }
func (diskFS) Link(from, to string) error                   { return os.Link(from, to) }
func (diskFS) Remove(name string) error                     { return os.Remove(name) }
func (diskFS) RemoveAll(name string) error                  { return os.RemoveAll(name) }
func (diskFS) SyncDir(name string) error                    { return syncDir(name) }
func (diskFS) Lock(name string) (func(), error)             { return lock(name) }

// Holder implements [FileSystem]. A lock file of a process that is certainly dead counts as none.
func (diskFS) Holder(name string) (*LockedError, time.Duration, error) {
	switch owner, err := readOwner(name + lockSuffix); {
	case errors.Is(err, fs.ErrNotExist), err == nil && owner.stale():
		return nil, 0, nil
	default:
		return lockedError(name), 0, nil
	}
}

// watchEvery is the time between two looks at a file that is watched.
const watchEvery = 100 * time.Millisecond

// Watch implements [FileSystem]: it looks at the file and at its lock file.
func (diskFS) Watch(name string, wake func()) (stop func()) {
	type seen struct {
		size     int64
		modified time.Time
		locked   bool
	}
	look := func() (s seen) {
		if info, err := os.Lstat(name); err == nil {
			s.size, s.modified = info.Size(), info.ModTime()
		}
		_, err := os.Lstat(name + lockSuffix)
		s.locked = err == nil
		return s
	}
	done := make(chan struct{})
	var watcher sync.WaitGroup
	last := look()
	watcher.Go(func() {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			if now := look(); now != last {
				last = now
				wake()
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		watcher.Wait()
	})
}

func (diskFS) ReadDir(name string) ([]fs.DirEntry, error) {
	d, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	return d.ReadDir(-1) // unsorted: there may be thousands
}
