package sessions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
)

// logFile is the open file of a session. Every write first checks that the file is as this log has written it.
type logFile struct {
	fs      FileSystem
	path    string
	dir     string      // the store's directory
	file    File        // nil for a view
	opening fs.FileInfo // information about file before the first write; nil until then
	size    int64       // size of file, without what a failed write left
	newIn   string      // the directory whose new entry is not synced yet; empty for none
	unended bool        // the last line lacks its newline
	torn    []byte      // what the last failed write may have left after size
}

// errForeign is wrapped by errors about a session file that another program has changed, removed or replaced.
var errForeign = errors.New("open the session again")

func errChanged(path string) error {
	return fmt.Errorf("%s was changed by another program; %w", path, errForeign)
}

// write appends text in one write.
func (l *logFile) write(text []byte, sync bool) error {
	info, err := l.stat()
	if err != nil {
		return err
	}
	if info.Size() != l.size {
		return l.changed()
	}
	n, err := l.file.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	l.torn = text[:n]
	if err != nil {
		l.takeBack(n, &err)
		return err
	}
	if sync {
		if err := l.sync(); err != nil {
			// A line whose sync failed must not be acknowledged.
			l.takeBack(n, &err)
			return err
		}
	}
	l.size, l.torn = l.size+int64(n), nil
	return nil
}

// changed returns the error about a file that has another size than this log has left. Where locks are leases, only the next holder of this
// log's lease can have written to it.
func (l *logFile) changed() error {
	if leases, ok := l.fs.(leaseHolder); ok && leases.Lost(l.path) != nil {
		return fmt.Errorf("%s: %w", l.path, ErrTakenOver)
	}
	return errChanged(l.path)
}

// stat returns the file's information by name and checks that the name still refers to the open file. Windows does not allow an
// open file to be removed or replaced.
func (l *logFile) stat() (fs.FileInfo, error) {
	if l.opening == nil {
		var err error
		if l.opening, err = l.file.Stat(); err != nil {
			return nil, err
		}
	}
	if runtime.GOOS == "windows" {
		return l.file.Stat()
	}
	info, err := l.fs.Lstat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errReplaced(l.path)
	case err != nil:
		return nil, err
	}
	return info, l.checkSame(info)
}

// checkSame returns an error unless info describes the file that the log has opened.
func (l *logFile) checkSame(info fs.FileInfo) error {
	hasIdentity := l.opening != nil && SameFile(l.opening, l.opening) // files of some tests have none
	if hasIdentity && !SameFile(l.opening, info) {
		return errReplaced(l.path)
	}
	return nil
}

func errReplaced(path string) error {
	return fmt.Errorf("%s was removed or replaced by another program; %w", path, errForeign)
}

func (l *logFile) sync() error {
	if err := l.file.Sync(); err != nil {
		return err
	}
	if l.newIn == "" {
		return nil
	}
	// The directory itself may be new.
	for _, dir := range []string{l.newIn, l.dir} {
		if err := l.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	l.newIn = ""
	return nil
}

// takeBack removes the n bytes that a failed write left. If that fails too, the torn line is dropped when the file is next opened.
func (l *logFile) takeBack(n int, err *error) {
	if n <= 0 {
		return
	}
	info, statErr := l.file.Stat()
	if statErr != nil || info.Size() != l.size+int64(n) {
		return
	}
	if cut := l.file.Truncate(l.size); cut != nil {
		*err = errors.Join(*err, cut)
	}
}

// readable reports whether entries can be read from the file.
func (l *logFile) readable() bool { return l.file != nil }

// cutTo truncates the file after the complete lines, unless the file has changed since it was read.
func (l *logFile) cutTo(keep int64) error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != l.size {
		return errors.New("another program writes to it; try again")
	}
	if err := l.file.Truncate(keep); err != nil {
		return err
	}
	l.size = keep
	return nil
}
