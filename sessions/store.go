package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	fileSuffix = ".jsonl"
	filePerm   = 0o600
	dirPerm    = 0o700
)

// SyncPolicy selects which lines are synced to disk before an append returns. A killed process loses nothing with any
// policy; a power cut can lose lines that were not synced.
type SyncPolicy int

// The policies.
const (
	// SyncMessages syncs every message, together with all lines before it. A session without a message has nothing to
	// lose.
	SyncMessages SyncPolicy = iota
	// SyncAll syncs every line.
	SyncAll
	// SyncNever leaves syncing to the operating system.
	SyncNever
)

func (p SyncPolicy) covers(k Kind) bool {
	return p == SyncAll || p == SyncMessages && (k == KindMessage || k == KindCustomMessage || k == KindCompaction)
}

// StoreOptions adjusts a [Store]. Every field is optional.
type StoreOptions struct {
	// Home and TempDir are absolute. They shorten the names of session directories. Optional.
	Home    string
	TempDir string
	// BlobDir is the directory for images. If empty, "blobs" next to the store's directory.
	BlobDir string
	// Sync selects what is synced when an append returns. If zero, [SyncMessages].
	Sync SyncPolicy
	// Clock returns the current time. If nil, [time.Now].
	Clock func() time.Time
	// NewID generates session IDs. If nil, they are version 7 UUIDs, which sort by time.
	NewID func() string
	// FS is the file system. If nil, [Disk].
	FS FileSystem
}

// Store is a directory of sessions. Several processes may use the same one. It is safe for concurrent use.
type Store struct {
	dir  string
	opts StoreOptions
	fs   FileSystem

	index index
}

// NewStore returns the store in dir, which need not exist. It does no I/O.
func NewStore(dir string, opts *StoreOptions) *Store {
	s := &Store{dir: dir}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.BlobDir == "" {
		s.opts.BlobDir = filepath.Join(filepath.Dir(dir), "blobs")
	}
	if s.opts.Clock == nil {
		s.opts.Clock = time.Now
	}
	if s.opts.NewID == nil {
		s.opts.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if s.opts.FS == nil {
		s.opts.FS = diskFS{}
	}
	s.fs = s.opts.FS
	return s
}

// Dir returns the store's directory.
func (s *Store) Dir() string { return s.dir }

// Create creates a session. Its file, which contains the header, exists when Create returns. The caller closes the log.
func (s *Store) Create(ctx context.Context, h Header) (*Log, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !filepath.IsAbs(h.Cwd) {
		return nil, fmt.Errorf("a session's working directory must be an absolute path, not %q", h.Cwd)
	}
	h.Version = Version
	if h.ID == "" {
		h.ID = s.opts.NewID()
	}
	if err := checkID(h.ID); err != nil {
		return nil, err
	}
	if h.Time.IsZero() {
		h.Time = s.now()
	}
	dir := filepath.Join(s.dir, dirName(filepath.Clean(h.Cwd), s.opts.Home, s.opts.TempDir))
	if err := s.fs.MkdirAll(dir, dirPerm); err != nil {
		return nil, fmt.Errorf("creating the session directory: %w", err)
	}
	l := newLog(s, filepath.Join(dir, fileName(h.Time, h.ID)))
	l.fill(&content{header: h})
	if err := s.begin(l, dir); err != nil {
		return nil, fmt.Errorf("creating session %s: %w", h.ID, err)
	}
	return l, nil
}

// begin creates the session file and writes the header. On an error it removes what it has written.
func (s *Store) begin(l *Log, dir string) (err error) {
	text, err := l.header.encode()
	if err != nil {
		return err
	}
	if l.unlock, err = s.fs.Lock(l.path); err != nil {
		return err
	}
	l.file, err = s.fs.OpenFile(l.path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, filePerm)
	if err != nil {
		l.unlock()
		return err
	}
	defer func() {
		if err != nil {
			_ = l.file.Close()
			_ = s.fs.Remove(l.path)
			l.unlock()
		}
	}()
	l.newIn = dir
	return l.write(append(text, '\n'), s.opts.Sync == SyncAll)
}

func fileName(t time.Time, id string) string {
	return strings.NewReplacer(":", "-", ".", "-").Replace(formatTime(t)) + "_" + id + fileSuffix
}

// checkID rejects IDs that could escape the store's directory.
func checkID(id string) error {
	if id == "" || len(id) > 128 || strings.Trim(id, ".") == "" || strings.ContainsAny(id, "/\\:*?\"<>|\x00\n") {
		return fmt.Errorf("%w: %.140q is not a session ID", ErrNotFound, id)
	}
	return nil
}

// Open opens a session for writing, whatever its working directory. The caller closes the log. Open truncates an incomplete last
// line that a crash left, and rewrites a file of an older version. It returns [ErrNotFound], a [*CorruptError], a [*LockedError],
// or an error of the file system.
func (s *Store) Open(ctx context.Context, id string) (*Log, error) {
	at, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	unlock, err := s.fs.Lock(at.path)
	if err != nil {
		return nil, err
	}
	l, err := s.open(at.path, id)
	if err != nil {
		unlock()
		return nil, err
	}
	l.unlock = unlock
	s.finishMoves(l, at.others)
	for _, backup := range at.backups {
		_ = s.fs.Remove(backup) // of an interrupted rewrite; the next opening tries again
	}
	return l, nil
}

// open opens a session file; any session's if id is empty.
func (s *Store) open(path, id string) (_ *Log, err error) {
	l, c, err := s.stream(path, id)
	if err != nil {
		return nil, err
	}
	size := l.size
	if l.file == nil { // an older version
		if l, c, size, err = s.read(path, id); err != nil {
			return nil, err
		}
		if c.migrated != nil {
			if err := s.rewrite(path, c.migrated); err != nil {
				return nil, fmt.Errorf("bringing %s to version %d: %w", path, Version, err)
			}
			l.notices = append(l.notices, fmt.Sprintf("the session was upgraded from version %d to version %d", c.header.Version, Version))
			size, c.keep, l.unended = int64(len(c.migrated)), int64(len(c.migrated)), false
		}
		file, err := s.fs.OpenFile(path, os.O_RDWR|os.O_APPEND, filePerm)
		if err != nil {
			return nil, fmt.Errorf("opening session %s: %w", id, err)
		}
		l.file = file
	}
	l.setFile(l.file, size)
	if !slices.ContainsFunc(l.nodes, func(n node) bool { return SyncMessages.covers(n.kind) }) {
		l.newIn = filepath.Dir(path) // its directory entry may not be synced yet
	}
	if c.keep < size {
		if err := l.cutTo(c.keep); err != nil {
			_ = l.file.Close()
			return nil, fmt.Errorf("cutting off the torn end of %s: %w", path, err)
		}
	}
	return l, nil
}

// stream opens a session of the current version and links its entries part by part, so that it needs no more memory than the log.
// For a session of an older version, the log has no file.
func (s *Store) stream(path, id string) (_ *Log, _ *content, err error) {
	file, err := s.fs.OpenFile(path, os.O_RDWR|os.O_APPEND, filePerm)
	if err != nil {
		return nil, nil, fmt.Errorf("opening session %s: %w", id, err)
	}
	l, c := newLog(s, path), new(content)
	defer func() {
		if err != nil || l.file == nil {
			_ = file.Close() // nothing was written
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("opening session %s: %w", id, err)
	}
	if err := checkSize(path, id, info.Size()); err != nil {
		return nil, nil, err
	}
	whole, err := c.stream(path, file, info.Size(), s.readBlob, func(entries []Entry, spans []span) error {
		if l.file == nil {
			if id != "" && c.header.ID != id {
				return wrongHeader(path, c.header.ID)
			}
			l.begin(c.header)
			l.file, l.size = file, info.Size()
		}
		l.take(entries, spans, l.readable())
		if slices.ContainsFunc(entries, movesContext) {
			l.trim() // no other goroutine has the log yet
		}
		return nil
	})
	if err != nil || !whole {
		l.file = nil
		return l, c, err
	}
	l.notices, l.unended = append(c.notices, l.notices...), c.unended
	return l, c, nil
}

// View opens a session for reading. It takes no lock, and its log cannot be appended to. It changes nothing on disk, except that it
// restores a file from the backup of an interrupted rewrite.
func (s *Store) View(ctx context.Context, id string) (*Log, error) {
	at, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	l, _, _, err := s.read(at.path, id)
	return l, err
}

// maxFile is the maximum size of a session file, in bytes: older versions are read as a whole.
const maxFile = 1 << 30

func checkSize(path, id string, size int64) error {
	if size > maxFile {
		return fmt.Errorf("reading session %s: %s has %d MiB, more than %d; move it away",
			id, path, size>>20, maxFile>>20)
	}
	return nil
}

func (s *Store) read(path, id string) (*Log, *content, int64, error) {
	info, err := s.fs.Stat(path)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("reading session %s: %w", id, err)
	}
	if err := checkSize(path, id, info.Size()); err != nil {
		return nil, nil, 0, err
	}
	data, err := s.fs.ReadFile(path)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("reading session %s: %w", id, err)
	}
	l, c, err := s.parse(path, id, data)
	return l, c, int64(len(data)), err
}

// parse returns a log of the session file at path, without a file. It writes nothing.
func (s *Store) parse(path, id string, data []byte) (*Log, *content, error) {
	c, err := load(path, data, s.readBlob)
	if err != nil {
		return nil, nil, err
	}
	if id != "" && c.header.ID != id {
		return nil, nil, wrongHeader(path, c.header.ID)
	}
	l := newLog(s, path)
	l.fill(c)
	return l, c, nil
}

func wrongHeader(path, id string) error {
	return &CorruptError{Path: path, Line: 1, Reason: fmt.Sprintf("the header belongs to session %.140q", id)}
}

// found is the location of a session.
type found struct {
	path string
	// others are other files of the session, from a copied directory or an interrupted move.
	others []string
	// backups are the backups of rewrites.
	backups []string
}

// find searches all directories for a session. If it has several files, the one written last wins.
func (s *Store) find(ctx context.Context, id string) (found, error) {
	if err := checkID(id); err != nil {
		return found{}, err
	}
	dirs, list, err := lists(s, id)
	if err != nil {
		return found{}, err
	}
	var at found
	var newest time.Time
	for _, dir := range dirs {
		if ctx.Err() != nil {
			return found{}, context.Cause(ctx)
		}
		files, err := list(dir)
		if err != nil {
			continue // removed meanwhile, or not readable
		}
		for _, f := range files {
			name := filepath.Join(dir, f.Name())
			if isBackupOf(f.Name(), id) {
				at.backups = append(at.backups, name)
			}
			if !strings.HasSuffix(f.Name(), "_"+id+fileSuffix) {
				continue
			}
			if !f.Type().IsRegular() {
				if f.Type()&fs.ModeSymlink != 0 {
					return found{}, &CorruptError{Path: name, Line: 1, Reason: "it is a symbolic link, which session files cannot be"}
				}
				continue
			}
			info, err := f.Info()
			switch {
			case err != nil:
			case at.path == "" || info.ModTime().After(newest):
				if at.path != "" {
					at.others = append(at.others, at.path)
				}
				at.path, newest = name, info.ModTime()
			default:
				at.others = append(at.others, name)
			}
		}
	}
	if at.path == "" && len(at.backups) > 0 {
		if at.path, err = s.restore(at.backups); err != nil {
			return found{}, err
		}
	}
	if at.path == "" {
		return found{}, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return at, nil
}

// lists returns the directories that may have files of a session, and a function that returns at least those files of one.
func lists(s *Store, id string) (dirs []string, list func(dir string) ([]fs.DirEntry, error), err error) {
	f, ok := s.fs.(finder)
	if !ok {
		dirs, err = s.dirs()
		return dirs, s.fs.ReadDir, err
	}
	all, err := f.Find(s.dir, "_"+id+fileSuffix)
	if err != nil {
		return nil, nil, fmt.Errorf("looking for session %s: %w", id, err)
	}
	return slices.Sorted(maps.Keys(all)), func(dir string) ([]fs.DirEntry, error) { return all[dir], nil }, nil
}

// isBackupOf reports whether a file is a backup that a rewrite of the session's file has left, by this or another program.
func isBackupOf(name, id string) bool {
	start, ok := strings.CutSuffix(name, backupSuffix)
	if !ok {
		return false
	}
	_, rest, ok := strings.Cut(start, "_"+id+fileSuffix)
	return ok && (rest == "" || rest[0] == '.' && !strings.Contains(rest[1:], "."))
}

// restore renames the last backup to the session file, since its rewrite was interrupted.
func (s *Store) restore(lost []string) (string, error) {
	last := slices.Max(lost)
	at := strings.Index(filepath.Base(last), fileSuffix) + len(fileSuffix)
	path := filepath.Join(filepath.Dir(last), filepath.Base(last)[:at])
	if err := s.fs.Rename(last, path); err != nil {
		return "", fmt.Errorf("restoring %s from %s: %w", path, last, err)
	}
	return path, nil
}

// dirs returns the directories that may hold session files.
func (s *Store) dirs() ([]string, error) {
	found, err := s.projectDirs()
	if err != nil {
		return nil, fmt.Errorf("reading the session directory: %w", err)
	}
	dirs := make([]string, len(found))
	for i := range found {
		dirs[i] = found[i].path
	}
	return dirs, nil
}

// SearchIndex is the name of a SQLite database in the store's directory that may have texts of any session: an index that another
// package keeps. [Store.Delete] removes it.
const SearchIndex = "search.db"

// Delete removes a session and everything that belongs to it. It returns [ErrNotFound], or a [*LockedError] while the
// session is open, in this process or another.
func (s *Store) Delete(ctx context.Context, id string) error {
	at, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	unlock, err := s.fs.Lock(at.path)
	if err != nil {
		return err
	}
	defer unlock()
	// Remove first the files from which the session could be restored, and last the session file.
	files := append(append(at.backups, at.others...), at.path)
	index := filepath.Join(s.dir, SearchIndex)
	files = append([]string{index, index + "-journal"}, append(files, archivedMark(at.path))...)
	var errs []error
	for _, path := range files {
		if err := s.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	for _, path := range append(at.others, at.path) {
		errs = append(errs, s.fs.RemoveAll(artifactDir(path)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("deleting session %s: %w", id, err)
	}
	return nil
}
