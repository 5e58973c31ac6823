package sessions

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// DefaultListLimit is the size of the first page. A client that asks for more usually wants all of them, so each later page doubles the
// number of sessions that the client has, by at most maxListLimit.
const (
	DefaultListLimit = 50
	maxListLimit     = 1000
)

// ListOptions selects sessions. Every field is optional.
type ListOptions struct {
	// Cwd selects the sessions of one working directory, compared lexically with what their headers say. It need not
	// exist.
	Cwd string
	// Cursor continues behind a page: its [Page].Next.
	Cursor string
	// Limit is the size of a page. If zero, it begins with [DefaultListLimit] and grows from page to page.
	Limit int
	// Archived says what to do with archived sessions. If zero, [ArchivedExclude].
	Archived ArchivedFilter
}

// ArchivedFilter selects sessions by whether they are archived.
type ArchivedFilter int

// The filters.
const (
	ArchivedExclude ArchivedFilter = iota
	ArchivedInclude
	ArchivedOnly
)

func (f ArchivedFilter) takes(archived bool) bool {
	return f == ArchivedInclude || archived == (f == ArchivedOnly)
}

// Page is a part of the list, the session that was written last first.
type Page struct {
	Sessions []Info
	// Next is the cursor of the next page; empty behind the last one.
	//
	// The pages show the order of the moment when the first one was asked for: no session comes twice and none is left
	// out when sessions are written, created, deleted or archived in between. Those that are deleted are not shown any
	// more, nor those that the options do not take any more; what is shown is as it is now. A store remembers the
	// last 16 of such moments. A cursor of an older one, or of another process, goes on behind the place that its last
	// session had; there a session that was written in between has moved to the front and may be missed.
	Next string
}

// Info is what the list knows of a session.
type Info struct {
	ID  string
	Cwd string
	// AdditionalDirectories are those that were last set, else the header's.
	AdditionalDirectories []string
	// ParentSession is the header's: the id or the path of the session that this one was forked from.
	ParentSession string
	Archived      bool
	// Title is the last title that was set, else the header's, else the first line of the first prompt, else that of
	// the last compaction's short summary. An automatic title never replaces one of the user's.
	Title string
	// UpdatedAt is the last entry's time; the file's where there is none.
	UpdatedAt time.Time
	CreatedAt time.Time
	// Messages counts the messages of all branches.
	Messages int
	// Size is the file's, in bytes.
	Size int64
	Path string
}

// List returns the sessions that hold a message, or begin with what another one has handed over, from an index; it reads only files that have changed. What is no
// session file is left out.
func (s *Store) List(ctx context.Context, opts ListOptions) (Page, error) {
	var after *cursor
	if opts.Cursor != "" {
		var err error
		if after, err = parseCursor(opts.Cursor); err != nil {
			return Page{}, err
		}
	}
	if opts.Limit <= 0 {
		opts.Limit = DefaultListLimit
		if after != nil {
			opts.Limit = min(max(after.row+1, DefaultListLimit), maxListLimit)
		}
	}
	x := &s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.refreshLocked(ctx, s); err != nil {
		return Page{}, err
	}
	walk, err := x.beginLocked(after)
	if err != nil {
		return Page{}, err
	}
	takes := opts.filter()
	var page Page
	last := 0
	for {
		f, row, ok := x.nextLocked(&walk)
		if !ok {
			return page, nil
		}
		if !takes(f) {
			continue
		}
		if n := len(page.Sessions); n == opts.Limit {
			shown := &page.Sessions[n-1]
			page.Next = x.cursorLocked(&walk, last, listPlace{updated: shown.UpdatedAt, name: filepath.Base(shown.Path)})
			return page, nil
		}
		page.Sessions = append(page.Sessions, f.info())
		last = row
	}
}

// filter returns what tells whether a session is to be listed.
func (o *ListOptions) filter() func(*indexFile) bool {
	archived, cwd := o.Archived, o.Cwd
	if cwd == "" {
		return func(f *indexFile) bool { return archived.takes(f.archived) }
	}
	cwd = cwdKey(cwd)
	return func(f *indexFile) bool { return archived.takes(f.archived) && cwdKey(f.cwd) == cwd }
}

// cwdKey is the same for two names of a directory that are lexically the same.
func cwdKey(cwd string) string {
	cwd = filepath.Clean(cwd)
	if filepath.Separator == '\\' {
		return strings.ToLower(cwd)
	}
	return cwd
}

// Info returns what the list knows of one session, archived or not, with or without messages. Its errors are
// [ErrNotFound], [*CorruptError] and those of the file system.
func (s *Store) Info(ctx context.Context, id string) (Info, error) {
	at, err := s.find(ctx, id)
	if err != nil {
		return Info{}, err
	}
	path := at.path
	x := &s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	x.loadLocked(s)
	f := &indexFile{name: filepath.Base(path), dir: filepath.Dir(path)}
	if d := x.dirs[filepath.Base(filepath.Dir(path))]; d != nil && d.files[f.name] != nil {
		f = d.files[f.name]
	}
	r, line, reason, err := new(scanner).file(s.fs, path, &f.record)
	switch {
	case err != nil:
		return Info{}, fmt.Errorf("reading session %s: %w", id, err)
	case reason != nil:
		return Info{}, &CorruptError{Path: path, Line: max(line, 1), Reason: reason.Error()}
	case r.id != id:
		return Info{}, wrongHeader(path, r.id)
	}
	if r.size != f.size || r.mtime != f.mtime {
		x.setLocked(f, r)
	}
	info := f.info()
	_, err = s.fs.Lstat(archivedMark(path))
	info.Archived = err == nil
	return info, nil
}

// Project is a working directory that has sessions.
type Project struct {
	Cwd string
	// Sessions is how many it has.
	Sessions     int
	LastActivity time.Time
	// LastTitle is the title of the session that was written last.
	LastTitle string
}

// ListAll returns the sessions of all directories that hold a message and are not archived, the one that was written
// last first, at most limit of them; all if limit is zero. total is how many there are.
func (s *Store) ListAll(ctx context.Context, limit int) (list []Info, total int, err error) {
	list, err = s.all(ctx)
	if err != nil {
		return nil, 0, err
	}
	total = len(list)
	if limit > 0 && limit < total {
		list = list[:limit]
	}
	return list, total, nil
}

// Projects returns the working directories of the sessions that [Store.ListAll] returns, the one with the latest
// activity first.
func (s *Store) Projects(ctx context.Context) ([]Project, error) {
	list, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	projects := []Project{}
	at := make(map[string]int)
	for i := range list {
		info := &list[i]
		cwd := filepath.Clean(info.Cwd)
		key := cwdKey(cwd)
		place, ok := at[key]
		if !ok {
			place = len(projects)
			at[key] = place
			projects = append(projects, Project{Cwd: cwd, LastActivity: info.UpdatedAt, LastTitle: info.Title})
		}
		projects[place].Sessions++
	}
	return projects, nil
}

// all returns all sessions that the list shows.
func (s *Store) all(ctx context.Context) ([]Info, error) {
	x := &s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.refreshLocked(ctx, s); err != nil {
		return nil, err
	}
	list := make([]Info, 0, len(x.rows))
	for _, f := range x.rows {
		if ArchivedExclude.takes(f.archived) {
			list = append(list, f.info())
		}
	}
	return list, nil
}
