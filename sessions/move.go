package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Move changes a session's working directory and moves its artifacts. It returns a [*LockedError] while the session is open. After
// an error the session is unchanged. If a crash interrupts a move, the next open repairs it.
func (s *Store) Move(ctx context.Context, id, cwd string) error {
	if !filepath.IsAbs(cwd) {
		return fmt.Errorf("a session's working directory must be an absolute path, not %q", cwd)
	}
	at, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	unlock, err := s.fs.Lock(at.path)
	if err != nil {
		return err
	}
	defer unlock()
	l, c, _, err := s.read(at.path, id)
	if err != nil {
		return err
	}
	if l.header.Cwd == cwd {
		return nil
	}
	if err := s.move(l, c, filepath.Clean(cwd)); err != nil {
		return fmt.Errorf("moving session %s: %w", id, err)
	}
	return nil
}

func (s *Store) move(l *Log, c *content, cwd string) (err error) {
	lines, err := s.linesOf(l.path, c)
	if err != nil {
		return err
	}
	header := l.header
	header.Cwd = cwd
	text, err := header.encode()
	if err != nil {
		return err
	}
	text = append(append(text, '\n'), lines...)
	dir := filepath.Join(s.dir, dirName(cwd, s.opts.Home, s.opts.TempDir))
	to := filepath.Join(dir, filepath.Base(l.path))
	if to == l.path {
		return s.rewrite(to, text)
	}
	if err := s.fs.MkdirAll(dir, dirPerm); err != nil {
		return err
	}
	unlock, err := s.fs.Lock(to)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := s.fs.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s: %w", to, fs.ErrExist), err)
	}
	if err := s.replace(to, text, true); err != nil {
		if e := s.fs.Remove(to); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
		return err
	}
	if err := s.moveAttachments(l.path, to); err != nil {
		return errors.Join(err, s.fs.Remove(to))
	}
	if err := s.fs.Remove(l.path); err != nil {
		return errors.Join(err, s.moveAttachments(to, l.path), s.fs.Remove(to))
	}
	return nil
}

// linesOf returns the complete lines after the header of a session file.
func (s *Store) linesOf(path string, c *content) ([]byte, error) {
	data := c.migrated
	if data == nil {
		all, err := s.fs.ReadFile(path)
		if err != nil {
			return nil, err
		}
		data = all[:min(c.keep, int64(len(all)))]
	}
	if len(c.spans) == 0 {
		return nil, nil
	}
	lines := bytes.Clone(data[c.spans[0].at:])
	if !bytes.HasSuffix(lines, []byte{'\n'}) {
		lines = append(lines, '\n')
	}
	return lines, nil
}

// moveAttachments moves a session's artifacts and archived mark. On an error it moves them back.
func (s *Store) moveAttachments(from, to string) error {
	var done [][2]string
	for _, pair := range [][2]string{{artifactDir(from), artifactDir(to)}, {archivedMark(from), archivedMark(to)}} {
		err := s.fs.Rename(pair[0], pair[1])
		if err == nil {
			done = append(done, pair)
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		errs := []error{err}
		for _, pair := range done {
			errs = append(errs, s.fs.Rename(pair[1], pair[0]))
		}
		return errors.Join(errs...)
	}
	return nil
}

// finishMoves repairs a [Store.Move] that a crash interrupted: it removes the other file with the same entries and moves its
// artifacts. It keeps a file with different entries.
func (s *Store) finishMoves(l *Log, others []string) {
	if len(others) == 0 {
		return
	}
	mine, err := s.fs.ReadFile(l.path)
	if err != nil {
		return
	}
	for _, path := range others {
		if filepath.Base(path) != filepath.Base(l.path) {
			continue
		}
		unlock, err := s.fs.Lock(path)
		if err != nil {
			continue // it is in use
		}
		if theirs, err := s.fs.ReadFile(path); err == nil && bytes.HasPrefix(afterHeader(mine), afterHeader(theirs)) {
			if s.moveAttachments(path, l.path) == nil {
				_ = s.fs.Remove(path)
			}
		}
		unlock()
	}
}

// afterHeader returns the lines after the first one that is not empty.
func afterHeader(data []byte) []byte {
	for {
		line, rest, found := bytes.Cut(data, []byte{'\n'})
		if len(bytes.TrimSpace(line)) > 0 || !found {
			return rest
		}
		data = rest
	}
}
