package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Archive hides a session from [Store.List] until [Store.Unarchive]; it stays what it is otherwise and can be opened.
// One that is archived already stays so. An unknown id gives an [ErrNotFound].
//
// The mark is an empty file in the session's artifact directory. So it needs no lock, works while the session is open
// here or in another process, and leaves the time of the last activity alone.
func (s *Store) Archive(ctx context.Context, id string) error {
	path, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	if (&candidate{path: path, beside: true}).archived() {
		return nil
	}
	marked := writeBeside(path, archivedFile, nil)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		// Deleted in the meantime: nothing of it must stay.
		return errors.Join(fmt.Errorf("%w: %s", ErrNotFound, id), os.RemoveAll(artifactDir(path)))
	}
	if marked != nil {
		return fmt.Errorf("archiving session %s: %w", id, marked)
	}
	return nil
}

// Unarchive takes back [Store.Archive]. A session that is not archived stays so.
func (s *Store) Unarchive(ctx context.Context, id string) error {
	path, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	err = os.Remove(filepath.Join(artifactDir(path), archivedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unarchiving session %s: %w", id, err)
	}
	return nil
}

func (c *candidate) archived() bool {
	if !c.beside {
		return false
	}
	_, err := os.Lstat(filepath.Join(artifactDir(c.path), archivedFile))
	return err == nil
}
