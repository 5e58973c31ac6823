package sessions

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/providers"
)

// Log is an open session. It is safe for concurrent use. Close it, so that others may open it.
//
// It keeps in memory what [Log.Messages] and [Log.State] need, and of all else only where it stands in the file: a
// session that was compacted costs no more than what its model sees.
type Log struct {
	store  *Store
	path   string
	header Header
	unlock func()

	mu       sync.Mutex  // guards what follows; held across the write of one line
	file     File        // nil for a view
	opening  fs.FileInfo // of file, from before the first write; nil until then
	size     int64       // of the file, as far as this log knows
	newIn    string      // the directory whose new entry is not synced yet; empty for none
	unended  bool        // the last line lacks its newline
	nodes    []node
	byID     map[string]int32 // the last entry of that id
	about    about
	uses     []Use
	calls    callIDs
	labels   map[string]string // by entry id
	latest   time.Time         // of the entries
	notices  []string
	writeErr error  // of the last write, if it failed
	torn     []byte // what that write may have left after size
	closed   bool
}

// Header returns the file's first line.
func (l *Log) Header() Header { return l.header }

// ID returns the session's id.
func (l *Log) ID() string { return l.header.ID }

// Path returns the session file.
func (l *Log) Path() string { return l.path }

// ArtifactDir returns the directory for files that belong to the session. It need not exist yet.
func (l *Log) ArtifactDir() string { return artifactDir(l.path) }

func artifactDir(path string) string { return strings.TrimSuffix(path, fileSuffix) }

// Notices returns what the user should know about how the file was read: what a crash cut off, what was left out.
func (l *Log) Notices() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.notices)
}

// AppendMessage appends m and returns the id of its entry. A zero m.Time becomes now in the file. The log keeps m's
// parts: they must not be changed any more.
func (l *Log) AppendMessage(m *providers.Message) (entryID string, err error) {
	kept := *m
	if kept.Time.IsZero() {
		kept.Time = l.store.now()
	}
	return l.Append(MessageEntry{Message: kept})
}

// Append appends e behind the last entry and returns the id that it got; e's own place in the tree is ignored. When
// Append returns nil the line is in the file, and on the disk as [StoreOptions].Sync says.
//
// After a failed write, whose error wraps [ErrReadOnly], the next Append opens the file again, makes sure that it ends with
// the last acknowledged line, and goes on from there. As long as that fails, so does every Append, and what is in the file
// stays whole.
func (l *Log) Append(e Entry) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.appendLocked(e, l.leafLocked())
}

func (l *Log) leafLocked() string {
	if n := len(l.nodes); n > 0 {
		return l.nodes[n-1].id
	}
	return ""
}

// appendLocked appends e as a child of the entry called parent; empty for a root.
func (l *Log) appendLocked(e Entry, parent string) (string, error) {
	if err := l.writableLocked(); err != nil {
		return "", err
	}
	// A clock that was set back must not put an entry before the one that it follows.
	l.latest = later(l.latest, l.store.now())
	ref := Base{ID: l.newIDLocked(), Time: l.latest, ParentID: parent}
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
	if err := l.writeLocked(text, sync); err != nil {
		l.writeErr = fmt.Errorf("%w: %w", ErrReadOnly, err)
		return "", l.writeErr
	}
	l.unended = false
	l.link(e, span{at, int32(l.size - at - 1)})
	if movesContext(e) {
		l.trimLocked()
	}
	return ref.ID, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func fileRole(r providers.Role) string {
	if r == providers.RoleTool {
		return roleToolResult
	}
	return string(r)
}

func (l *Log) writableLocked() error {
	switch {
	case l.closed:
		return ErrClosed
	case l.file == nil:
		return fmt.Errorf("%w: it was opened for reading", ErrReadOnly)
	case l.writeErr != nil:
		return l.recoverLocked()
	default:
		return nil
	}
}

// recoverLocked makes a log writable again whose last write failed. It opens the file again, because the old descriptor may be
// what is broken, and removes what the failed write left.
func (l *Log) recoverLocked() error {
	f, err := l.store.fs.OpenFile(l.path, os.O_RDWR|os.O_APPEND, filePerm)
	if err == nil {
		if err = l.adoptLocked(f); err != nil {
			_ = f.Close() // nothing was written through it
		}
	}
	if err != nil {
		l.writeErr = fmt.Errorf("%w: %w", ErrReadOnly, err)
		return l.writeErr
	}
	l.writeErr, l.torn = nil, nil
	return nil
}

// adoptLocked goes over to another descriptor of the log's file, if the file is what this log has made of it.
func (l *Log) adoptLocked(f File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := l.sameFileLocked(info); err != nil {
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
		if _, err := l.readLocked([]int32{int32(last)}); err != nil {
			l.file = old
			return err
		}
	}
	_ = old.Close() // what it has written is synced, or was taken back
	return nil
}

// errForeign is wrapped by the errors about a session file that another program has changed, removed or replaced.
var errForeign = errors.New("open the session again")

func errChanged(path string) error {
	return fmt.Errorf("%s was changed by another program; %w", path, errForeign)
}

// writeLocked appends text in one write.
func (l *Log) writeLocked(text []byte, sync bool) error {
	info, err := l.statLocked()
	if err != nil {
		return err
	}
	if info.Size() != l.size {
		return errChanged(l.path)
	}
	n, err := l.file.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	l.torn = text[:n]
	if err != nil {
		l.takeBackLocked(n, &err)
		return err
	}
	if sync {
		if err := l.syncLocked(); err != nil {
			// Nobody may count on a line of which the disk has said that it may not have it.
			l.takeBackLocked(n, &err)
			return err
		}
	}
	l.size, l.torn = l.size+int64(n), nil
	return nil
}

// statLocked looks at the file by its name, and makes sure that it still is the one that is open: nobody would find what
// is written to another. Windows does not let anybody remove or replace an open file.
func (l *Log) statLocked() (fs.FileInfo, error) {
	if l.opening == nil {
		var err error
		if l.opening, err = l.file.Stat(); err != nil {
			return nil, err
		}
	}
	if runtime.GOOS == "windows" {
		return l.file.Stat()
	}
	info, err := l.store.fs.Lstat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errReplaced(l.path)
	case err != nil:
		return nil, err
	}
	return info, l.sameFileLocked(info)
}

// sameFileLocked reports a file that is not the one that the log has opened.
func (l *Log) sameFileLocked(info fs.FileInfo) error {
	isReal := l.opening != nil && os.SameFile(l.opening, l.opening) // a file system of tests cannot tell
	if isReal && !os.SameFile(l.opening, info) {
		return errReplaced(l.path)
	}
	return nil
}

func errReplaced(path string) error {
	return fmt.Errorf("%s was removed or replaced by another program; %w", path, errForeign)
}

func (l *Log) syncLocked() error {
	if err := l.file.Sync(); err != nil {
		return err
	}
	if l.newIn == "" {
		return nil
	}
	// The directory itself may be new too.
	for _, dir := range []string{l.newIn, l.store.dir} {
		if err := l.store.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	l.newIn = ""
	return nil
}

// takeBackLocked removes the n bytes that a failed write left. Should that fail too, the torn line is dropped when the
// file is opened again.
func (l *Log) takeBackLocked(n int, err *error) {
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

// newIDLocked returns an entry id that the file does not have.
func (l *Log) newIDLocked() string {
	for {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		id := hex.EncodeToString(b[:])
		if _, taken := l.byID[id]; !taken {
			return id
		}
	}
}

// Err returns the error of the last write, if it failed; then the log takes entries again only once it can.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writeErr
}

// Close closes the file and lets others open the session. It may be called twice.
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
	// Files hold milliseconds; memory should hold the same.
	return s.opts.Clock().UTC().Truncate(time.Millisecond)
}
