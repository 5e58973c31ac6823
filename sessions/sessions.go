// Package sessions stores conversations on disk: one JSON Lines file for each session, with a header line and a tree of
// entries, in version 3 of the product's format, so that older installations and this one read each other's files.
//
// A file is only appended to, with one write for each line, so a crash at any point loses at most the last line. A
// [Store] is a directory of sessions, a [Log] an open session.
package sessions

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Errors of this package. [CorruptError] and [LockedError] have details.
var (
	// ErrNotFound reports an unknown session ID or entry ID.
	ErrNotFound = errors.New("session not found")
	// ErrLocked reports that another process has the session open for writing.
	ErrLocked = errors.New("session is in use")
	// ErrReadOnly reports that the log is currently not writable, or was opened by [Store.View].
	ErrReadOnly = errors.New("session cannot be written")
	// ErrClosed reports a closed log.
	ErrClosed = errors.New("session is closed")
	// ErrNothingToFork reports that the source of a fork has no message.
	ErrNothingToFork = errors.New("session has no message yet, so there is nothing to fork")
	// ErrUserTitle reports that an automatic title was refused because the user has set one.
	ErrUserTitle = errors.New("the user has named the session; ignoring an automatic title")
	// ErrBadCursor reports a cursor that does not come from [Store.List].
	ErrBadCursor = errors.New("unknown list cursor; start again without one")
	// ErrTakenOver reports a write by a process whose lock has expired. A [FileSystem] of several servers returns it.
	ErrTakenOver = errors.New("another server has taken the session over")
	// ErrUnavailable reports that a [FileSystem] cannot be reached, or refuses to work. It is not known whether a write was done.
	ErrUnavailable = errors.New("the session store is not available")
	// ErrTooLarge reports a file that would exceed a limit of the [FileSystem].
	ErrTooLarge = errors.New("the file is too large for the session store")
)

// A CorruptError reports a file that is not a session file, or that is damaged elsewhere than at its end. The package
// does not write to such a file.
type CorruptError struct {
	Path string
	// Line is 1-based.
	Line   int
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s, line %d: %s; the file was not changed; repair it or move it away", e.Path, e.Line, e.Reason)
}

// A LockedError describes the owner of a locked session. It matches [ErrLocked].
type LockedError struct {
	Path string
	// PID is the owner's process ID; zero if unknown.
	PID int
	// Host is the owner's machine; empty for this one.
	Host string
	// Since is the time at which the owner opened the session; zero if unknown.
	Since time.Time
	// LockFile is set if it is unknown whether the owner is alive. The user may delete this file.
	LockFile string
}

func (e *LockedError) Error() string {
	owner := "another process"
	if e.PID != 0 {
		owner = fmt.Sprintf("process %d", e.PID)
	}
	if e.Host != "" {
		owner += " on " + e.Host
	}
	if !e.Since.IsZero() {
		owner += " since " + formatTime(e.Since)
	}
	text := fmt.Sprintf("%s: %v by %s; close it there first", e.Path, ErrLocked, owner)
	if e.LockFile != "" {
		text += ", or delete " + e.LockFile + " if that process is gone"
	}
	return text
}

// Is reports whether target is [ErrLocked].
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// WriteAdvice returns the cause of a failed write and what the user can do, in one sentence without paths: "the disk is
// full; make room, then send the prompt again". err is an error of [Log.Append].
func WriteAdvice(err error) string {
	const again = ", then send the prompt again"
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case errors.Is(err, errForeign):
		return "another program has changed its file; reopen the session"
	case is(ErrTakenOver):
		return ErrTakenOver.Error() + "; reopen the session"
	case is(ErrTooLarge):
		return "the session is too large for its store; start a new one, or fork this one after a compaction"
	case is(ErrUnavailable):
		return "the session store is not available; wait until its database works" + again
	case slices.ContainsFunc(diskFull, is):
		return "the disk is full; make room" + again
	case is(syscall.EMFILE), is(syscall.ENFILE):
		return "too many files are open; close some" + again
	case is(syscall.EROFS):
		return "the disk is read-only; make it writable" + again
	case is(fs.ErrPermission):
		return "the sessions directory is not writable; correct its permissions" + again
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return strings.TrimPrefix(err.Error(), ErrReadOnly.Error()+": ") + "; correct the cause" + again
}
