//go:build unix

package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// handle is an open directory.
type handle struct {
	path string
	fd   int
}

// listed is a name in a directory.
type listed struct {
	name string
	dir  bool
	// recorded says that it is a file or a link.
	recorded bool
}

// openDirectory opens a directory, which must not be a link.
func openDirectory(path string) (*handle, stamp, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, stamp{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return nil, stamp{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	s := stampOf(&st)
	s.size = 0 // it says nothing that the times do not
	return &handle{path, fd}, s, nil
}

func (h *handle) close() { _ = unix.Close(h.fd) } // read only

// stat returns the stamp of an entry, of a link itself.
func (h *handle) stat(name string) (stamp, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(h.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stamp{}, err
	}
	return stampOf(&st), nil
}

// list returns the names in the directory.
func (h *handle) list() ([]listed, error) {
	fd, err := unix.FcntlInt(uintptr(h.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), h.path)
	defer func() { _ = f.Close() }() // read only
	if _, err := f.Seek(0, 0); err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	names := make([]listed, len(entries))
	for i, e := range entries {
		names[i] = listed{e.Name(), e.IsDir(), e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0}
	}
	return names, err
}

func stampOf(st *unix.Stat_t) stamp {
	s := stamp{
		ino: st.Ino, size: st.Size, mtime: unix.TimespecToNsec(st.Mtim), ctime: unix.TimespecToNsec(st.Ctim),
		perm: uint32(st.Mode) & 0o777, //nolint:unconvert // 16 bits elsewhere
	}
	switch uint32(st.Mode) & unix.S_IFMT { //nolint:unconvert // 16 bits elsewhere
	case unix.S_IFREG:
		s.typ = fileEntry
	case unix.S_IFLNK:
		s.typ, s.perm = linkEntry, 0
	case unix.S_IFDIR:
		s.typ = dirEntry
	default:
	}
	return s
}

// openFile opens a regular file for reading. It follows no link and waits for no other program.
func openFile(path string) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// stampOfFile returns the stamp of an open file.
func stampOfFile(f *os.File) (stamp, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return stamp{}, err
	}
	var st unix.Stat_t
	var statErr error
	if err := raw.Control(func(fd uintptr) { statErr = unix.Fstat(int(fd), &st) }); err != nil {
		return stamp{}, err
	}
	return stampOf(&st), statErr
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR { //nolint:errorlint // a plain number from the kernel
			return n, err
		}
	}
}

// workers returns how many goroutines walk and read a tree.
func workers() int { return max(1, runtime.GOMAXPROCS(0)) }

// isLoop reports that a link was found where there was a file.
func isLoop(err error) bool { return errors.Is(err, unix.ELOOP) }
