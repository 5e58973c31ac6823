// Package follow reads sessions that another process may be writing: every line once, in order, as soon as it is complete. It takes no
// lock.
package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/gajae-code/gjc/sessions"
)

// Interval is the longest time between two looks at a file. Usually its writer wakes its readers at once.
const Interval = time.Second

// A Change is what has happened to a file that cannot be followed any more.
type Change string

// The changes.
const (
	// Removed: the file has no name any more.
	Removed Change = "removed"
	// Replaced: another file has the name.
	Replaced Change = "replaced"
	// Cut: lines that were read are not in the file any more.
	Cut Change = "cut"
)

// A ChangedError reports a file whose lines that were read are not all there any more. What it has now must be read from its start.
type ChangedError struct {
	Path   string
	Change Change
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s was %s while it was followed; open the session again", e.Path, e.Change)
}

// File is a file that is followed. One goroutine uses it at a time. Close it.
type File struct {
	fs   sessions.FileSystem
	name string
	stop func()
	wake chan struct{} // holds a token after something may have changed

	at   int64       // after the last line that was read
	last fs.FileInfo // of the file, at the last look that has read all of it; nil for none
	is   fs.FileInfo // identifies the file; nil before the first look
	// The last line that was read, from headAt, begins with head. It shows whether the file was cut and has grown again.
	head   []byte
	headAt int64
}

// maxHead bounds what is compared of a line, which has an ID and a time at its beginning.
const maxHead = 512

// maxRead is the number of bytes that are read at once. A longer line is read as a whole.
const maxRead = 4 << 20

// Open follows a file from its start. It does no I/O.
func Open(fsys sessions.FileSystem, name string) *File {
	f := &File{fs: fsys, name: name, wake: make(chan struct{}, 1)}
	f.stop = fsys.Watch(name, func() {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	})
	return f
}

// Close ends the following. It is idempotent.
func (f *File) Close() { f.stop() }

// Wait waits until the file may have changed, at most for the given time or [Interval]. It returns the cause of ctx if that ends before.
func (f *File) Wait(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(min(limit, Interval))
	defer timer.Stop()
	select {
	case <-f.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// Next waits until the file has lines that were not read, and returns them without their newlines. See [File.Read] and [File.Wait] for its
// errors.
func (f *File) Next(ctx context.Context) ([][]byte, error) {
	for {
		lines, err := f.Read()
		if err != nil || len(lines) > 0 {
			return lines, err
		}
		if err := f.Wait(ctx, Interval); err != nil {
			return nil, err
		}
	}
}

// Read returns complete lines that were not read, without their newlines; not always all. None are left when it returns none. Errors are
// of type [*ChangedError], or those of the file system, after which it can be called again.
func (f *File) Read() ([][]byte, error) {
	info, err := f.fs.Lstat(f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, f.changed(Removed)
	case err != nil:
		return nil, fmt.Errorf("following %s: %w", f.name, err)
	}
	switch {
	case f.is == nil:
		f.is = info
	case sessions.SameFile(f.is, f.is) && !sessions.SameFile(f.is, info):
		return nil, f.changed(Replaced)
	}
	if info.Size() < f.at {
		return nil, f.changed(Cut)
	}
	if f.last != nil && f.last.Size() == info.Size() && f.last.ModTime().Equal(info.ModTime()) {
		return nil, nil
	}
	lines, err := f.read(info)
	if err == nil && len(lines) == 0 {
		f.last = info
	}
	return lines, err
}

func (f *File) changed(c Change) error { return &ChangedError{f.name, c} }

// read reads from a file with the given information.
func (f *File) read(info fs.FileInfo) (lines [][]byte, err error) {
	file, err := f.fs.OpenFile(f.name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.changed(Removed)
	}
	if err != nil {
		return nil, fmt.Errorf("following %s: %w", f.name, err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	opened, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("following %s: %w", f.name, err)
	}
	if sessions.SameFile(f.is, f.is) && !sessions.SameFile(f.is, opened) {
		return nil, f.changed(Replaced)
	}
	head := make([]byte, len(f.head))
	if n, err := file.ReadAt(head, f.headAt); n < len(head) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("following %s: %w", f.name, err)
	}
	if !bytes.Equal(head, f.head) {
		return nil, f.changed(Cut)
	}
	for size := int64(maxRead); ; size *= 2 {
		part := make([]byte, min(size, info.Size()-f.at))
		n, err := file.ReadAt(part, f.at)
		if n < len(part) && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("following %s: %w", f.name, err)
		}
		whole := bytes.LastIndexByte(part[:n], '\n') + 1
		if whole > 0 {
			return f.take(part[:whole]), nil
		}
		if n < len(part) || f.at+int64(len(part)) >= info.Size() {
			return nil, nil // the last line is not complete
		}
	}
}

// take splits complete lines, and moves the offset after them.
func (f *File) take(part []byte) (lines [][]byte) {
	for len(part) > 0 {
		line, rest, _ := bytes.Cut(part, []byte{'\n'})
		f.head, f.headAt = line, f.at
		f.at += int64(len(line)) + 1
		lines = append(lines, line)
		part = rest
	}
	f.head = bytes.Clone(f.head[:min(len(f.head), maxHead)])
	return lines
}
