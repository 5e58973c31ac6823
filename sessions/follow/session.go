package follow

import (
	"context"
	"time"

	"github.com/gajae-code/gjc/sessions"
)

// Session is a session that is followed. One goroutine uses it at a time. Close it.
type Session struct {
	*File
	store  *sessions.Store
	header sessions.Header
	rest   [][]byte // lines after the header that were read with it
	read   int      // the number of lines that were decoded
}

// Start follows a session of a store from its start. It returns [sessions.ErrNotFound] for an unknown one, and a [*sessions.CorruptError]
// for a file that is damaged or has an older version.
func Start(ctx context.Context, store *sessions.Store, id string) (*Session, error) {
	fsys, path, err := sessions.Locate(ctx, store, id)
	if err != nil {
		return nil, err
	}
	s := &Session{File: Open(fsys, path), store: store}
	lines, err := s.Read()
	switch {
	case err != nil:
	case len(lines) == 0:
		err = &sessions.CorruptError{Path: path, Line: 1, Reason: "the session header is cut off"}
	default:
		s.header, err = sessions.DecodeHeader(path, lines[0])
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.rest, s.read = lines[1:], 1
	return s, nil
}

// Header returns the first line of the session.
func (s *Session) Header() sessions.Header { return s.header }

// Holder describes the process that has the session open, and returns the time for which it keeps the session without renewing its lock;
// zero if that is not known. It returns nil if no process has the session open.
func (s *Session) Holder() (*sessions.LockedError, time.Duration, error) { return s.fs.Holder(s.name) }

// Entries returns entries that it has not returned, oldest first, of all branches; not always all. None are left when it returns none.
// Errors are those of [File.Read], and a [*sessions.CorruptError].
func (s *Session) Entries() ([]sessions.Entry, error) {
	for {
		lines := s.rest
		if s.rest = nil; len(lines) == 0 {
			var err error
			if lines, err = s.Read(); err != nil || len(lines) == 0 {
				return nil, err
			}
		}
		entries, err := sessions.DecodeLines(s.store, s.name, s.read+1, lines)
		if err != nil {
			s.rest = lines
			return nil, err
		}
		if s.read += len(lines); len(entries) > 0 {
			return entries, nil
		}
	}
}
