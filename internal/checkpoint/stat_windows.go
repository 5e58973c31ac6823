package checkpoint

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// handle is a directory.
type handle struct{ path string }

// listed is a name in a directory.
type listed struct {
	name string
	dir  bool
	// recorded says that it is a file or a link.
	recorded bool
}

// openDirectory returns a directory, which must not be a link. Its stamp is always another one, because not all file systems of Windows
// set the times of a directory in which a name is added.
func openDirectory(path string) (*handle, stamp, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, stamp{}, err
	}
	if !info.IsDir() {
		return nil, stamp{}, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	s := stampOf(info)
	s.mtime = 1<<63 - 1
	return &handle{path}, s, nil
}

func (*handle) close() {}

// stat returns the stamp of an entry, of a link itself.
func (h *handle) stat(name string) (stamp, error) {
	info, err := os.Lstat(filepath.Join(h.path, name))
	if err != nil {
		return stamp{}, err
	}
	return stampOf(info), nil
}

// list returns the names in the directory.
func (h *handle) list() ([]listed, error) {
	entries, err := os.ReadDir(h.path)
	names := make([]listed, len(entries))
	for i, e := range entries {
		names[i] = listed{e.Name(), e.IsDir(), e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0}
	}
	return names, err
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), mtime: info.ModTime().UnixNano(), perm: uint32(info.Mode().Perm())}
	if data, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
		s.ctime = data.CreationTime.Nanoseconds()
	}
	switch {
	case info.Mode().IsRegular():
		s.typ = fileEntry
	case info.Mode()&fs.ModeSymlink != 0:
		s.typ, s.perm = linkEntry, 0
	case info.IsDir():
		s.typ = dirEntry
	default:
	}
	return s
}

// openFile opens a file for reading.
func openFile(path string) (*os.File, error) { return os.Open(path) }

// stampOfFile returns the stamp of an open file.
func stampOfFile(f *os.File) (stamp, error) {
	info, err := f.Stat()
	if err != nil {
		return stamp{}, err
	}
	return stampOf(info), nil
}

// workers returns how many goroutines walk and read a tree.
func workers() int { return max(1, runtime.GOMAXPROCS(0)) }

func isLoop(error) bool { return false }
