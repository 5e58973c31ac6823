package sessions

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

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
