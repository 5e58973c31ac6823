package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Archive hides a session from [Store.List] until [Store.Unarchive]; it stays what it is otherwise and can be opened.
// One that is archived already stays so. An unknown id gives an [ErrNotFound].
//
// The mark is an empty file beside the session's. So it needs no lock, works while the session is open
// here or in another process, and leaves the time of the last activity alone.
func (s *Store) Archive(ctx context.Context, id string) error {
	at, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	path := at.path
	mark, err := s.fs.OpenFile(archivedMark(path), os.O_CREATE|os.O_WRONLY, filePerm)
	if err == nil {
		err = mark.Close()
	}
	if _, gone := s.fs.Lstat(path); errors.Is(gone, fs.ErrNotExist) {
		// Deleted in the meantime: nothing of it must stay.
		_ = s.fs.Remove(archivedMark(path))
		return fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil {
		return fmt.Errorf("archiving session %s: %w", id, err)
	}
	return nil
}

// Unarchive takes back [Store.Archive]. A session that is not archived stays so.
func (s *Store) Unarchive(ctx context.Context, id string) error {
	at, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	path := at.path
	err = s.fs.Remove(archivedMark(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unarchiving session %s: %w", id, err)
	}
	return nil
}

const archivedSuffix = ".archived"

// archivedMark is the file whose presence says that a session is archived.
func archivedMark(path string) string { return artifactDir(path) + archivedSuffix }
