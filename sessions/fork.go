package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// ForkOptions says where a fork works.
type ForkOptions struct {
	// Cwd is the absolute working directory. Required.
	Cwd string
	// AdditionalDirectories are the complete further roots; the source's are not taken over.
	AdditionalDirectories []string
	// NewID names the fork. If empty, one is made.
	NewID string
}

// Fork begins a session with the history of another one, and returns it open; the caller closes the log.
//
// All entries of the file are taken over with their ids, those of left branches too, so that every entry which names
// another one still finds it; title, mode and the rest of the [State] come along. Artifacts are taken over, blobs are
// shared, the mark of [Store.Archive] is not. The header's ParentSession is the source's id.
//
// The source may be open, here or in another process: what counts is the whole lines that its file has now. It is
// only read. The fork appears in one step, when all that belongs to it is there; a crash before that leaves at most
// files that no session names. Errors: [ErrNotFound],
// [ErrNothingToFork] for a source without a message, [*CorruptError], and those of the file system.
func (s *Store) Fork(ctx context.Context, id string, opts ForkOptions) (*Log, error) {
	if !filepath.IsAbs(opts.Cwd) {
		return nil, fmt.Errorf("a session's working directory must be an absolute path, not %q", opts.Cwd)
	}
	if opts.NewID == "" {
		opts.NewID = s.opts.NewID()
	}
	if err := checkID(opts.NewID); err != nil {
		return nil, err
	}
	source, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(source)
	if err != nil {
		return nil, fmt.Errorf("reading session %s: %w", id, err)
	}
	l, c, err := s.parse(source, id, data)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(l.entries, func(e Entry) bool { return e.Kind() == KindMessage }) {
		return nil, fmt.Errorf("%w: %s", ErrNothingToFork, id)
	}
	body := data[:c.keep]
	if c.migrated != nil {
		body, l.unended = c.migrated, false
	}
	body = afterHeader(body)
	l.header = Header{
		Version: Version, ID: opts.NewID, Time: s.now(), Cwd: opts.Cwd, AdditionalDirectories: opts.AdditionalDirectories,
		Title: l.header.Title, TitleSource: l.header.TitleSource, ParentSession: id,
	}
	l.notices = nil // of the source
	if err := s.beginFork(ctx, l, source, body); err != nil {
		return nil, fmt.Errorf("forking session %s: %w", id, err)
	}
	return l, nil
}

// afterHeader returns the lines behind the first one that is not empty.
func afterHeader(data []byte) []byte {
	for {
		line, rest, found := bytes.Cut(data, []byte{'\n'})
		if len(bytes.TrimSpace(line)) > 0 || !found {
			return rest
		}
		data = rest
	}
}

// beginFork brings the fork to disk and opens it. On an error nothing is left.
func (s *Store) beginFork(ctx context.Context, l *Log, source string, body []byte) (err error) {
	dir := filepath.Join(s.dir, dirName(filepath.Clean(l.header.Cwd), s.opts.Home, s.opts.TempDir))
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		return err
	}
	l.path = filepath.Join(dir, fileName(l.header.Time, l.header.ID))
	unlock, err := s.fs.Lock(l.path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	if _, err := os.Lstat(l.path); err == nil {
		return fmt.Errorf("%s: %w", l.path, fs.ErrExist)
	}
	text, err := l.forkText(body)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(artifactDir(l.path)))
		}
	}()
	if err := copyArtifacts(ctx, artifactDir(source), artifactDir(l.path)); err != nil {
		return err
	}
	l.repairBeside()
	if err := s.place(l.path, text); err != nil {
		return err
	}
	l.file, err = s.fs.OpenFile(l.path, os.O_WRONLY|os.O_APPEND, filePerm)
	if err != nil {
		return errors.Join(err, os.Remove(l.path))
	}
	l.size, l.unlock = int64(len(text)), unlock
	return nil
}

// forkText returns the file of a fork, with the entry that its directories need.
func (l *Log) forkText(body []byte) ([]byte, error) {
	text, err := l.header.encode()
	if err != nil {
		return nil, err
	}
	text = slices.Concat(text, []byte{'\n'}, body)
	if l.unended {
		text, l.unended = append(text, '\n'), false
	}
	if slices.Equal(l.aboutLocked().directories, l.header.AdditionalDirectories) {
		return text, nil
	}
	data, err := jsonx.Marshal(directoriesData{l.header.AdditionalDirectories})
	if err != nil {
		return nil, err
	}
	e := Custom{CustomType: CustomDirectories, Data: data}.withRef(
		Base{ID: l.newIDLocked(), ParentID: l.leafLocked(), Time: l.store.now()},
	)
	line, err := encodeEntry(e)
	if err != nil {
		return nil, err
	}
	l.link(e)
	return append(append(text, line...), '\n'), nil
}

// place puts a file that is not there yet on the disk in one step. The caller has its lock.
func (s *Store) place(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	name := filepath.Join(dir, "."+filepath.Base(path)+".tmp")
	temp, err := s.fs.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, filePerm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
			_ = os.Remove(name)
		}
	}()
	if n, err := temp.Write(data); err != nil {
		return err
	} else if n < len(data) {
		return io.ErrShortWrite
	}
	if s.opts.Sync != SyncNever {
		if err := temp.Sync(); err != nil {
			return err
		}
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err := os.Rename(name, path); err != nil {
		return err
	}
	if s.opts.Sync == SyncNever {
		return nil
	}
	return syncDir(dir)
}

// copyArtifacts takes over what [Artifacts] keeps. An artifact never changes once it is named in a session, so a
// second name for the same file will do where the file system has such.
func copyArtifacts(ctx context.Context, from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !e.Type().IsRegular() || filepath.Ext(e.Name()) != ".log" {
			continue
		}
		if err := os.MkdirAll(to, dirPerm); err != nil {
			return err
		}
		if err := linkOrCopy(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // not one that was deleted just now
		}
	}
	return nil
}

func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, filePerm)
}
