package bridges

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gajae-code/gjc/agent/approval"
)

// An approved path is opened at the location to which it led when it was approved. It is opened directory by directory from the
// root of the file system, each checked before and after it is opened, so that a link created since then is not followed.

// moved returns the error for a path that no longer leads where it led when it was approved.
func moved(op, path string) error {
	return &fs.PathError{Op: op, Path: path, Err: approval.ErrMoved}
}

// openDirectory opens a directory whose path has no symbolic links. With create it creates the missing directories.
func openDirectory(op, path, dir string, create bool) (*os.Root, error) {
	volume, names := rootOf(dir)
	at, err := os.OpenRoot(volume)
	begun := volume
	for i, name := range names {
		if name == "" {
			continue
		}
		begun = filepath.Join(begun, name)
		if at == nil {
			// A parent directory cannot be read. The user cannot put links into it either.
			at, err = os.OpenRoot(begun)
			continue
		}
		next, oerr := openNext(at, name, create)
		_ = at.Close() // nothing was written through it
		at, err = next, oerr
		switch {
		case errors.Is(err, fs.ErrPermission) && i < len(names)-1:
			at = nil
		case errors.Is(err, approval.ErrMoved):
			return nil, moved(op, path)
		case err != nil:
			return nil, &fs.PathError{Op: op, Path: path, Err: underlying(err)}
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: path, Err: underlying(err)}
	}
	return at, nil
}

func openNext(at *os.Root, name string, create bool) (*os.Root, error) {
	before, err := at.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := at.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		before, err = at.Lstat(name)
	}
	if err != nil {
		return nil, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, approval.ErrMoved
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	now, err := next.Stat(".")
	if err == nil && !os.SameFile(before, now) {
		err = approval.ErrMoved
	}
	if err != nil {
		_ = next.Close() // nothing was done through it
		return nil, err
	}
	return next, nil
}

// underlying returns the cause of err without the part of the path that it names.
func underlying(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// readPinned reads the file at real, where path led when it was approved.
func readPinned(path, real string) ([]byte, error) {
	f, err := openPinned(path, real)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	info, err := f.Stat()
	var data bytes.Buffer
	if err == nil {
		data.Grow(int(min(max(info.Size(), 0), maxGrow)) + bytes.MinRead)
		_, err = data.ReadFrom(f)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: underlying(err)}
	}
	return data.Bytes(), nil
}

// maxGrow bounds the buffer that is allocated for a file before it is read, in bytes.
const maxGrow = 64 << 20

// openPinned opens the file at real for reading. It returns an error for path that wraps [approval.ErrMoved] if real is a symbolic
// link or is replaced while it is opened. The caller closes the file.
func openPinned(path, real string) (*os.File, error) {
	dir, err := openDirectory("open", path, filepath.Dir(real), false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // read only
	name := filepath.Base(real)
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: underlying(err)}
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, moved("open", path)
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|noBlock, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: underlying(err)}
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(before, now) {
		err = moved("open", path)
	}
	if err != nil {
		_ = f.Close() // nothing was read
		return nil, err
	}
	return f, nil
}

// removePinned removes the entry of path in the directory parent. It removes a link itself, not its target.
func removePinned(path, parent string) error {
	dir, err := openDirectory("remove", path, parent, false)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // nothing is open in it
	name := filepath.Base(path)
	if _, err := dir.Lstat(name); err != nil { // RemoveAll returns no error for a missing entry
		return &fs.PathError{Op: "remove", Path: path, Err: underlying(err)}
	}
	return dir.RemoveAll(name)
}
