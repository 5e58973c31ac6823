package sessions

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// DefaultListLimit is the default size of the first page. Each later page doubles the number of sessions that the client has
// received, but holds at most maxListLimit, since a client that reads further pages usually wants all of them.
const (
	DefaultListLimit = 50
	maxListLimit     = 1000
)

// ListOptions selects sessions. Every field is optional.
type ListOptions struct {
	// Cwd selects the sessions of one working directory, compared lexically with the headers. The directory need not exist.
	Cwd string
	// Also are further working directories, if Cwd is set.
	Also []string
	// Cursor continues after a page. It is that page's [Page].Next.
	Cursor string
	// Limit is the size of the page. If zero, the size starts at [DefaultListLimit] and grows from page to page.
	Limit int
	// Archived selects by archived state. If zero, [ArchivedExclude].
	Archived ArchivedFilter
}

// ArchivedFilter selects sessions by their archived state.
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

// Page is a part of the list, in order of activity, latest first.
type Page struct {
	Sessions []Info
	// Next is the cursor of the next page; empty after the last one.
	//
	// All pages have the order of the time of the first one: no session is repeated or missed when sessions are
	// written, created, deleted or archived meanwhile. Sessions that were deleted or that no longer match the options
	// are left out, and the information is current. A store keeps the last 16 such orders. A cursor of an older one, or
	// of another process, continues after the place of its last session in the current order; a session that was
	// written to meanwhile may be missed.
	Next string
}

// Info describes a session in the list.
type Info struct {
	ID  string
	Cwd string
	// AdditionalDirectories are those that were set last, or else the header's.
	AdditionalDirectories []string
	// ParentSession is the header's: the ID or path of the session that this one was forked from.
	ParentSession string
	Archived      bool
	// Title is the last title that was set, or else the header's, or else the first line of the first prompt, or else the first
	// line of the last compaction's short summary. Automatic titles do not replace one that the user has set.
	Title string
	// UpdatedAt is the time of the last entry, or else the file's mtime.
	UpdatedAt time.Time
	CreatedAt time.Time
	// Messages counts the messages of all branches.
	Messages int
	// Size is the size of the file, in bytes.
	Size int64
	Path string
}

// List returns a page of the sessions that have a message or start with a handoff. It uses an index and reads only files that have
// changed. It omits files that are not session files.
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
			opts.Limit = min(max(after.Row+1, DefaultListLimit), maxListLimit)
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
			page.Next = x.cursorLocked(&walk, last, listPlace{Updated: shown.UpdatedAt, Name: filepath.Base(shown.Path)})
			return page, nil
		}
		page.Sessions = append(page.Sessions, f.info())
		last = row
	}
}

// filter returns a predicate for the options.
func (o *ListOptions) filter() func(*indexFile) bool {
	archived := o.Archived
	if o.Cwd == "" {
		return func(f *indexFile) bool { return archived.takes(f.archived) }
	}
	keys := []string{cwdKey(o.Cwd)}
	for _, dir := range o.Also {
		keys = append(keys, cwdKey(dir))
	}
	return func(f *indexFile) bool { return archived.takes(f.archived) && slices.Contains(keys, cwdKey(f.cwd)) }
}

// cwdKey returns a key that is equal for lexically equal directories.
func cwdKey(cwd string) string {
	cwd = filepath.Clean(cwd)
	if filepath.Separator == '\\' {
		return strings.ToLower(cwd)
	}
	return cwd
}

// Info returns the information about one session, archived or not, with or without messages. It returns [ErrNotFound],
// a [*CorruptError], or an error of the file system.
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

// Project is a working directory with sessions.
type Project struct {
	Cwd string
	// Sessions is the number of sessions.
	Sessions     int
	LastActivity time.Time
	// LastTitle is the title of the session with the latest activity.
	LastTitle string
}

// ListAll returns the sessions of all directories that have a message and are not archived, latest activity first, at
// most limit of them, or all if limit is zero. total is their number.
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

// Projects returns the working directories of the sessions of [Store.ListAll], latest activity first.
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

// all returns all sessions of the list.
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

// maxSnapshots is the number of lists that are kept for cursors.
const maxSnapshots = 16

type snapshotToken [8]byte

// snapshot is the order of the sessions at one time.
type snapshot struct {
	token snapshotToken
	ids   []string
	// rows are the rows that ids was made from, to check whether the order is still current.
	rows []*indexFile
}

// cursor identifies the last row of a page: its index in a snapshot, and its place in the list for a process that does
// not have the snapshot.
type cursor struct {
	Token snapshotToken `json:"token"`
	Row   int           `json:"row"`
	Place listPlace     `json:"place"`
}

func (c *cursor) String() string {
	b, _ := jsonx.Marshal(c) // every value can be encoded
	return base64.RawURLEncoding.EncodeToString(appendSum(b))
}

// parseCursor parses the result of String. It returns [ErrBadCursor] for anything else.
func parseCursor(s string) (*cursor, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	body, ok := cutSum(b)
	c := new(cursor)
	if err != nil || !ok || jsonx.Unmarshal(body, c) != nil || c.Place.Name == "" {
		return nil, ErrBadCursor
	}
	return c, nil
}

// listWalk is an iteration over the rows of the list.
type listWalk struct {
	snapshot *snapshot // nil for the current list
	next     int       // the next row
}

// beginLocked returns the start of the page after c; nil stands for the first page.
func (x *index) beginLocked(c *cursor) (listWalk, error) {
	if c == nil {
		return listWalk{}, nil
	}
	if i := slices.IndexFunc(x.snapshots, func(s snapshot) bool { return s.token == c.Token }); i >= 0 {
		if c.Row < 0 || c.Row >= len(x.snapshots[i].ids) {
			return listWalk{}, ErrBadCursor
		}
		return listWalk{snapshot: x.useLocked(i), next: c.Row + 1}, nil
	}
	return listWalk{next: sort.Search(len(x.rows), func(i int) bool { return x.rows[i].place().compare(c.Place) > 0 })}, nil
}

// useLocked marks a snapshot as the most recently used.
func (x *index) useLocked(i int) *snapshot {
	used := x.snapshots[i]
	x.snapshots = append(slices.Delete(x.snapshots, i, i+1), used)
	return &x.snapshots[len(x.snapshots)-1]
}

// snapshotLocked stores the current order.
func (x *index) snapshotLocked() *snapshot {
	for i := range x.snapshots {
		if rows := x.snapshots[i].rows; len(rows) == len(x.rows) && &rows[0] == &x.rows[0] {
			return x.useLocked(i)
		}
	}
	if len(x.snapshots) == maxSnapshots {
		x.snapshots = slices.Delete(x.snapshots, 0, 1)
	}
	s := snapshot{ids: make([]string, len(x.rows)), rows: x.rows}
	for i, f := range x.rows {
		s.ids[i] = f.id
	}
	_, _ = rand.Read(s.token[:]) // never fails
	x.snapshots = append(x.snapshots, s)
	return &x.snapshots[len(x.snapshots)-1]
}

// nextLocked returns the next session, with its current information, and its row; false after the last one.
func (x *index) nextLocked(p *listWalk) (f *indexFile, row int, ok bool) {
	for {
		row = p.next
		p.next++
		switch {
		case p.snapshot == nil:
			if row >= len(x.rows) {
				return nil, 0, false
			}
			return x.rows[row], row, true
		case row >= len(p.snapshot.ids):
			return nil, 0, false
		}
		if f := x.byID[p.snapshot.ids[row]]; f != nil {
			return f, row, true
		}
	}
}

// cursorLocked returns the cursor after a row.
func (x *index) cursorLocked(p *listWalk, row int, last listPlace) string {
	if p.snapshot == nil {
		p.snapshot = x.snapshotLocked()
	}
	return (&cursor{Token: p.snapshot.token, Row: row, Place: last}).String()
}
