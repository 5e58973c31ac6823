// Package sessions keeps conversations on disk: one JSON Lines file for each session, a header line and then a tree
// of entries, in the format of the product's version 3, so that older installations and this one read each other's
// files.
//
// A file is only ever appended to, one write for each line, so that a crash between any two bytes costs at most the
// last line. A [Store] is a directory of them, a [Log] is one that is open.
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

// Errors of this package. More may be known of them: see [CorruptError] and [LockedError].
var (
	// ErrNotFound: there is no session, or no entry, with that id.
	ErrNotFound = errors.New("session not found")
	// ErrLocked: another process has the session open for writing.
	ErrLocked = errors.New("session is in use")
	// ErrReadOnly: the log takes no entries, because it cannot be written at present or was opened by [Store.View].
	ErrReadOnly = errors.New("session cannot be written")
	// ErrClosed: the log is closed.
	ErrClosed = errors.New("session is closed")
	// ErrNothingToFork: the session that was to be forked holds no message.
	ErrNothingToFork = errors.New("session has no message yet, so there is nothing to fork")
	// ErrUserTitle: an automatic title was refused, because the user has given the session one.
	ErrUserTitle = errors.New("session was named by the user, so an automatic title is not taken")
	// ErrBadCursor: the cursor does not come from [Store.List].
	ErrBadCursor = errors.New("unknown list cursor; start again without one")
)

// A CorruptError is a file that is not a session file, or is damaged elsewhere than at its very end. It is left as it
// is: nothing here writes to it.
type CorruptError struct {
	Path string
	// Line is 1-based.
	Line   int
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s, line %d: %s; the file was left as it is, repair it or move it away", e.Path, e.Line, e.Reason)
}

// A LockedError names who has a session open. It is an [ErrLocked].
type LockedError struct {
	Path string
	// PID is the owner's process id; zero where it could not be found out.
	PID int
	// Host is the owner's machine; empty for this one.
	Host string
	// Since is when the owner has opened it; zero where it could not be found out.
	Since time.Time
	// LockFile is set where nobody here can tell whether the owner still lives: the user may delete that file.
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

// WriteAdvice returns why a log could not be written and what the user can do about it, in one sentence without paths:
// "the disk is full; make room, then send the prompt again". err is an error of [Log.Append].
func WriteAdvice(err error) string {
	const again = ", then send the prompt again"
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case errors.Is(err, errForeign):
		return "another program has changed its file; open the session again"
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
