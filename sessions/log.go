package sessions

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/providers"
)

// Log is an open session. It is safe for concurrent use. Close it so that others can open the session.
//
// In memory it keeps the entries that [Log.Messages] and [Log.State] need, and the file positions of all others. A
// compacted session therefore takes no more memory than what its model receives.
type Log struct {
	mu       sync.Mutex // guards logState; held while a line is written
	logState            // header, path and store are immutable
}

// logState is the state of a [Log]. Callers of its methods hold the log's mutex.
type logState struct {
	entryTree
	logFile
	store    *Store
	unlock   func()
	writeErr error // error of the last write, if it failed
	closed   bool
}

func newLog(s *Store, path string) *Log {
	return &Log{logState: logState{store: s, logFile: logFile{fs: s.fs, dir: s.dir, path: path}}}
}

// Header returns the file's first line.
func (l *Log) Header() Header { return l.header }

// ID returns the session's ID.
func (l *Log) ID() string { return l.header.ID }

// Path returns the path of the session file.
func (l *Log) Path() string { return l.path }

// ArtifactDir returns the directory of the session's artifacts, which may not exist yet.
func (l *Log) ArtifactDir() string { return artifactDir(l.path) }

func artifactDir(path string) string { return strings.TrimSuffix(path, fileSuffix) }

// Notices returns messages for the user about problems with reading the file: what a crash cut off and what was omitted.
func (l *Log) Notices() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.notices)
}

// AppendMessage appends m and returns the ID of its entry. A zero m.Time becomes the current time. The log keeps m's
// parts; do not modify them.
func (l *Log) AppendMessage(m *providers.Message) (entryID string, err error) {
	kept := *m
	if kept.Time.IsZero() {
		kept.Time = l.store.now()
	}
	return l.Append(MessageEntry{Message: kept})
}

// Append appends e after the last entry and returns its new ID; it ignores e's own place in the tree. When Append
// returns nil, the line is in the file, and on the disk as far as [StoreOptions].Sync requires.
//
// After a failed write, whose error wraps [ErrReadOnly], the next Append reopens the file, checks that it ends with the
// last acknowledged line, and continues there. While that fails, so does every Append, and the file stays valid.
func (l *Log) Append(e Entry) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(e, l.leaf())
}

// append appends e as a child of the entry parent, or as a root if parent is empty.
func (l *logState) append(e Entry, parent string) (string, error) {
	if err := l.checkWritable(); err != nil {
		return "", err
	}
	// If the clock was set back, an entry must not precede its parent.
	l.latest = later(l.latest, l.store.now())
	ref := Base{ID: l.newID(), Time: l.latest, ParentID: parent}
	if m, ok := e.(MessageEntry); ok {
		m.Role = fileRole(m.Message.Role)
		e = m
	}
	e = e.withRef(ref)
	sync := l.store.opts.Sync.covers(e.Kind())
	text, err := l.store.encode(e, sync)
	if err != nil {
		return "", err
	}
	at := l.size
	if l.unended {
		text = append([]byte{'\n'}, text...)
		at++
	}
	text = append(text, '\n')
	if err := l.write(text, sync); err != nil {
		l.writeErr = fmt.Errorf("%w: %w", ErrReadOnly, err)
		return "", l.writeErr
	}
	l.unended = false
	l.link(e, span{at, int32(l.size - at - 1)}, l.readable())
	if movesContext(e) {
		l.trim()
	}
	return ref.ID, nil
}

func fileRole(r providers.Role) string {
	if r == providers.RoleTool {
		return roleToolResult
	}
	return string(r)
}

func (l *logState) checkWritable() error {
	switch {
	case l.closed:
		return ErrClosed
	case l.file == nil:
		return fmt.Errorf("%w: it was opened for reading", ErrReadOnly)
	case l.writeErr != nil:
		return l.recover()
	default:
		return nil
	}
}

// recover makes a log writable again after a failed write. It reopens the file, because the descriptor may be broken,
// and removes what the failed write left.
func (l *logState) recover() error {
	f, err := l.store.fs.OpenFile(l.path, os.O_RDWR|os.O_APPEND, filePerm)
	if err == nil {
		if err = l.adopt(f); err != nil {
			_ = f.Close() // nothing was written
		}
	}
	if err != nil {
		l.writeErr = fmt.Errorf("%w: %w", ErrReadOnly, err)
		return l.writeErr
	}
	l.writeErr, l.torn = nil, nil
	return nil
}

// adopt switches to another descriptor of the log's file, if the file has the content that this log has written.
func (l *logState) adopt(f File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := l.checkSame(info); err != nil {
		return err
	}
	if left := info.Size() - l.size; left < 0 || left > int64(len(l.torn)) {
		return errChanged(l.path)
	} else if left > 0 {
		tail := make([]byte, left)
		if _, err := f.ReadAt(tail, l.size); err != nil {
			return err
		}
		if !bytes.HasPrefix(l.torn, tail) {
			return errChanged(l.path)
		}
		if err := f.Truncate(l.size); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	old := l.file
	l.file = f
	if last := len(l.nodes) - 1; last >= 0 {
		if _, err := l.read([]int32{int32(last)}); err != nil {
			l.file = old
			return err
		}
	}
	_ = old.Close() // its writes are synced or undone
	return nil
}

// Err returns the error of the last write, if it failed.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writeErr
}

// Close closes the file and releases the session's lock. It is idempotent.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.unlock()
	return err
}

func (s *Store) now() time.Time {
	// Use the precision of the file, so that memory and file agree.
	return s.opts.Clock().UTC().Truncate(time.Millisecond)
}
