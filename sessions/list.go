package sessions

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

const (
	// DefaultListLimit is how many sessions a page has.
	DefaultListLimit = 50
	// headSize is how much of a file the list reads as a rule; headMax is where it gives up to look for a prompt.
	headSize = 4 << 10
	headMax  = 256 << 10
	// listWorkers read heads side by side.
	listWorkers = 16
	titleRunes  = 80
)

// ListOptions selects sessions. Every field is optional.
type ListOptions struct {
	// Cwd selects the sessions of one working directory, compared lexically.
	Cwd string
	// Cursor continues behind a page: its [Page].Next.
	Cursor string
	// Limit is the size of a page. If zero, [DefaultListLimit].
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
	// Next is the cursor of the next page; empty behind the last one. It holds its place when sessions come and go.
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
	// Title is the last title that was set, else the header's, else the first line of the first prompt.
	Title     string
	UpdatedAt time.Time
	CreatedAt time.Time
	// Messages counts the messages of all branches; -1 for a file that is too large to be read for that.
	Messages int
	// Size is the file's, in bytes.
	Size int64
	Path string
}

// candidate is a file that may be a session.
type candidate struct {
	path    string
	updated time.Time
	size    int64
	beside  bool // there is an artifact directory, which may hold files about the session
}

// List returns the sessions that hold a message. It reads the beginnings of as many files as a page needs, and leaves
// out what is no session file.
func (s *Store) List(ctx context.Context, opts ListOptions) (Page, error) {
	if opts.Limit <= 0 {
		opts.Limit = DefaultListLimit
	}
	candidates, err := s.candidates(ctx, opts.Cwd)
	if err != nil {
		return Page{}, err
	}
	if opts.Cursor != "" {
		after, err := parseCursor(opts.Cursor)
		if err != nil {
			return Page{}, err
		}
		start, _ := slices.BinarySearchFunc(candidates, after, func(c, after candidate) int {
			return cmp.Or(compare(c, after), -1) // the one of the cursor was on the last page
		})
		candidates = candidates[start:]
	}
	var page Page
	for len(candidates) > 0 {
		if ctx.Err() != nil {
			return Page{}, context.Cause(ctx)
		}
		batch := candidates[:min(len(candidates), opts.Limit+1-len(page.Sessions))]
		candidates = candidates[len(batch):]
		for _, info := range readHeads(batch, opts.Archived) {
			if info == nil || opts.Cwd != "" && !samePath(info.Cwd, opts.Cwd) {
				continue
			}
			if len(page.Sessions) == opts.Limit {
				last := page.Sessions[opts.Limit-1]
				page.Next = formatCursor(candidate{path: last.Path, updated: last.UpdatedAt})
				return page, nil
			}
			page.Sessions = append(page.Sessions, *info)
		}
	}
	return page, nil
}

// candidates returns the session files, in the order of the list.
func (s *Store) candidates(ctx context.Context, cwd string) ([]candidate, error) {
	dirs, err := s.dirs()
	if err != nil {
		return nil, err
	}
	if cwd != "" {
		names := dirNames(filepath.Clean(cwd), s.opts.Home, s.opts.TempDir)
		dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !slices.Contains(names, filepath.Base(dir)) })
	}
	var all []candidate
	for _, dir := range dirs {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // gone since, or not ours to read
		}
		withDir := make(map[string]bool)
		for _, e := range entries {
			if e.IsDir() {
				withDir[e.Name()] = true
			}
		}
		for _, e := range entries {
			name := e.Name()
			if !strings.HasSuffix(name, fileSuffix) || strings.HasPrefix(name, ".") || !e.Type().IsRegular() {
				continue
			}
			if info, err := e.Info(); err == nil {
				all = append(all, candidate{
					path: filepath.Join(dir, name), updated: info.ModTime(), size: info.Size(),
					beside: withDir[strings.TrimSuffix(name, fileSuffix)],
				})
			}
		}
	}
	slices.SortFunc(all, compare)
	return all, nil
}

// compare orders by time, latest first, then by name.
func compare(a, b candidate) int {
	return cmp.Or(b.updated.Compare(a.updated), cmp.Compare(filepath.Base(a.path), filepath.Base(b.path)))
}

func samePath(a, b string) bool {
	a, b = filepath.Clean(a), filepath.Clean(b)
	if filepath.Separator == '\\' {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// readHeads reads each file's head; nil stands for one that the list leaves out.
func readHeads(batch []candidate, archived ArchivedFilter) []*Info {
	infos := make([]*Info, len(batch))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(listWorkers, len(batch)) {
		wg.Go(func() {
			for i := range next {
				c := &batch[i]
				if !archived.takes(c.archived()) {
					continue
				}
				if info, err := readHead(c); err == nil && info.Messages != 0 {
					infos[i] = info
				}
			}
		})
	}
	for i := range batch {
		next <- i
	}
	close(next)
	wg.Wait()
	return infos
}

// readHead reads what the list tells. Its errors are [*CorruptError] and those of the file system.
func readHead(c *candidate) (*Info, error) {
	f, err := os.Open(c.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info := &Info{UpdatedAt: c.updated, Size: c.size, Path: c.path}
	r := bufio.NewReaderSize(f, headSize)
	text, err := r.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	h, err := decodeHeader(text)
	if err != nil {
		return nil, &CorruptError{Path: c.path, Line: 1, Reason: err.Error()}
	}
	info.ID, info.Cwd, info.ParentSession, info.CreatedAt = h.ID, h.Cwd, h.ParentSession, h.Time
	about := aboutHeader(&h)
	prompt, _ := scanHead(r, info, len(text), &about)
	info.Archived = c.archived()
	info.Title, info.AdditionalDirectories = cmp.Or(about.title.Title, prompt), about.directories
	return info, nil
}

// scanHead reads entries behind a header of the given size: to the end of a small file, else until the first prompt is
// known. It sets info.Messages and adds to about what it comes by; whole reports that it has seen all.
func scanHead(r *bufio.Reader, info *Info, read int, about *about) (prompt string, whole bool) {
	d := &decoder{
		blob:   func(string) ([]byte, error) { return nil, os.ErrNotExist },
		notice: func(string, ...any) {},
	}
	for {
		text, err := r.ReadBytes('\n')
		read += len(text)
		if v, ok := peek(text); ok {
			switch v.Type {
			case KindMessage:
				info.Messages++
				if prompt == "" {
					prompt = promptOf(d.entry(&v, text))
				}
			case KindCustom:
				about.add(d.entry(&v, text))
			default:
			}
		}
		if err != nil {
			return prompt, true
		}
		if info.Size > headSize && info.Messages > 0 && (prompt != "" || read > headMax) {
			info.Messages = -1
			return prompt, false
		}
	}
}

// peek decodes what an entry begins with.
func peek(text []byte) (envelope, bool) {
	var v envelope
	text = bytes.TrimSpace(text)
	return v, len(text) > 0 && jsonx.Unmarshal(text, &v) == nil
}

// promptOf returns the first line of a user's message.
func promptOf(e Entry) string {
	m, ok := e.(MessageEntry)
	if !ok || m.Message.Role != providers.RoleUser {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(m.Message.Text()), "\n")
	first = strings.TrimSpace(first)
	if r := []rune(first); len(r) > titleRunes {
		return strings.TrimSpace(string(r[:titleRunes-1])) + "…"
	}
	return first
}

// formatCursor names the last session of a page.
func formatCursor(c candidate) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", c.updated.UnixNano(), filepath.Base(c.path)))
}

func parseCursor(s string) (candidate, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return candidate{}, ErrBadCursor
	}
	at, name, ok := strings.Cut(string(b), " ")
	nanos, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil || name == "" {
		return candidate{}, ErrBadCursor
	}
	return candidate{path: name, updated: time.Unix(0, nanos)}, nil
}

// Info returns what the list knows of one session, archived or not, with or without messages. Its errors are
// [ErrNotFound], [*CorruptError] and those of the file system.
func (s *Store) Info(ctx context.Context, id string) (Info, error) {
	at, err := s.find(ctx, id)
	if err != nil {
		return Info{}, err
	}
	path := at.path
	stat, err := os.Stat(path)
	if err != nil {
		return Info{}, fmt.Errorf("reading session %s: %w", id, err)
	}
	_, err = os.Stat(artifactDir(path))
	info, err := readHead(&candidate{path: path, updated: stat.ModTime(), size: stat.Size(), beside: err == nil})
	if err != nil {
		return Info{}, err
	}
	if info.ID != id {
		return Info{}, wrongHeader(path, info.ID)
	}
	return *info, nil
}
