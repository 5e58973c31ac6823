package sessions

import (
	"io"
	"io/fs"
	"os"
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

// sameFile reports whether a and b describe the same file. It is false if the file system does not identify its files.
func sameFile(a, b fs.FileInfo) bool {
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

func (diskFS) ReadDir(name string) ([]fs.DirEntry, error) {
	d, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	return d.ReadDir(-1) // unsorted: there may be thousands
}
