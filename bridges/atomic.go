package bridges

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent"
)

// A file is written under a temporary name in its directory, synced, and then renamed to its final name in one step. No reader
// sees half of it, and a process that is killed leaves either the old file or the new one. It may also leave the temporary
// file, which is removed later.

// writePinned replaces the file at real in one step, or creates it with its directories. It keeps the permissions of the file; a
// new file has those that the umask allows.
func (l LocalFS) writePinned(path, real string, data []byte) error {
	fail := func(err error) error { return &fs.PathError{Op: "write", Path: path, Err: underlying(err)} }
	dir, err := openDirectory("write", path, filepath.Dir(real), true)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // its files are already closed
	name := filepath.Base(real)
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info = nil
	case err != nil:
		return fail(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return moved("write", path)
	case !info.Mode().IsRegular():
		return fail(fs.ErrInvalid)
	case info.Mode().Perm()&0o222 == 0:
		return fail(fs.ErrPermission)
	}
	l.leftovers.removeOnce(dir, filepath.Dir(real))
	if err := writeAtomic(dir, name, data, info); err != nil {
		return fail(err)
	}
	return nil
}

// writeAtomic writes a file that replaces the one that old describes. If old is nil, the file must not exist yet.
func writeAtomic(dir *os.Root, name string, data []byte, old fs.FileInfo) (err error) {
	perm := fs.FileMode(0o666)
	if old != nil {
		perm = old.Mode().Perm()
	}
	temp := temporaryName(name)
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	closed := false
	defer func() {
		if !closed {
			_ = f.Close() // its content is synced
		}
		if err != nil {
			_ = dir.Remove(temp) // the first error is returned
		}
	}()
	claim(f)
	if _, err := f.Write(data); err != nil {
		return err
	}
	if old != nil {
		if err := f.Chmod(perm); err != nil { // undoes the umask
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if !renamesOpenFiles {
		closed = true
		if err := f.Close(); err != nil {
			return err
		}
	}
	if old != nil {
		return dir.Rename(temp, name)
	}
	return publish(dir, temp, name)
}

// publishByLink gives a file its final name, which must be free, if the system has no rename that never replaces a file.
func publishByLink(dir *os.Root, temp, name string) error {
	switch err := dir.Link(temp, name); {
	case err == nil:
		_ = dir.Remove(temp) // a leftover is removed later
		return nil
	case errors.Is(err, fs.ErrExist):
		return fs.ErrExist
	}
	// The file system has no links. A file that appears at this moment is overwritten.
	if _, err := dir.Lstat(name); err == nil {
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return dir.Rename(temp, name)
}

func temporaryName(name string) string {
	return fmt.Sprintf(".%.40s.gjc-%s", name, rand.Text()[:8])
}

// isTemporaryName reports whether temporaryName can return name.
func isTemporaryName(name string) bool {
	const mark, random = ".gjc-", 8
	at := len(name) - len(mark) - random
	if at < 1 || name[0] != '.' || name[at:at+len(mark)] != mark || utf8.RuneCountInString(name[1:at]) > 40 {
		return false
	}
	for _, c := range []byte(name[at+len(mark):]) {
		if (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

var _ agent.LeftoverRemover = LocalFS{}

// RemoveLeftovers implements [agent.LeftoverRemover].
func (l LocalFS) RemoveLeftovers(ctx context.Context, dirs []string) {
	for _, path := range dirs {
		if ctx.Err() != nil {
			return
		}
		dir, err := os.OpenRoot(path)
		if err != nil {
			continue // no file can have been written there
		}
		l.leftovers.removeOnce(dir, path)
		_ = dir.Close() // its files are already closed
	}
}

// leftovers removes the temporary files of processes that have ended, once in each directory. A nil value removes none. It is
// safe for concurrent use.
type leftovers struct {
	mu   sync.Mutex
	done map[string]bool // by the path of a directory
}

func (l *leftovers) removeOnce(dir *os.Root, path string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	done := l.done[path]
	if !done {
		if l.done == nil {
			l.done = make(map[string]bool)
		}
		l.done[path] = true
	}
	l.mu.Unlock()
	if !done {
		removeLeftovers(dir)
	}
}

// removeLeftovers removes the temporary files in a directory that no process writes. It is best effort.
func removeLeftovers(dir *os.Root) {
	list, err := dir.Open(".")
	if err != nil {
		return
	}
	defer func() { _ = list.Close() }() // read only
	for {
		names, err := list.Readdirnames(1000)
		for _, name := range names {
			if isTemporaryName(name) {
				removeLeftover(dir, name)
			}
		}
		if err != nil || len(names) == 0 {
			return
		}
	}
}

func removeLeftover(dir *os.Root, name string) {
	if info, err := dir.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|noBlock, 0)
	if err != nil {
		return
	}
	abandoned := isAbandoned(f)
	if !renamesOpenFiles {
		_ = f.Close() // read only
	}
	if abandoned {
		_ = dir.Remove(name) // a remaining leftover is harmless
	}
	if renamesOpenFiles {
		_ = f.Close() // read only
	}
}
