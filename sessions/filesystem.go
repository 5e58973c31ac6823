package sessions

import (
	"io"
	"io/fs"
	"os"
)

// FileSystem is all that a [Store] does to the disk, so that tests can break it at any step. Names are absolute. Errors
// are those of package os: [fs.ErrNotExist] and [fs.ErrExist] must be told apart. It is safe for concurrent use.
type FileSystem interface {
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	ReadFile(name string) ([]byte, error)
	// ReadDir lists a directory in any order.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Stat follows links, Lstat does not.
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	MkdirAll(name string, perm fs.FileMode) error
	Rename(from, to string) error
	// Link gives a file a second name. It may fail with [errors.ErrUnsupported] where there are no hard links.
	Link(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	// SyncDir makes the names in a directory survive a power cut.
	SyncDir(name string) error
	// Lock takes the right to write the file called name; a file beside it stands for that. It fails with a
	// [*LockedError] where somebody else has it. Whatever way the process ends, the right ends with it.
	Lock(name string) (unlock func(), err error)
}

// File is an open file. [*os.File] is one.
type File interface {
	io.Writer
	io.ReaderAt
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Disk returns the file system that there is.
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
