package sessions

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/gajae-code/gjc/internal/jsonx"
)

const (
	// indexName is the index file in the store's directory. Older installations read only directories there.
	indexName = "index"
	indexTemp = ".index.tmp" // a leftover of a crash is overwritten
	// indexMagic ends with the version of the format. Files of other versions are rebuilt.
	indexMagic = "gjc index\x00\x03"
	// maxIndexSize is the maximum size of the index file, enough for a few million sessions.
	maxIndexSize = 1 << 30
)

var errBadIndex = errors.New("damaged session index")

// loadLocked reads the index file, once.
func (x *index) loadLocked(s *Store) {
	if x.loaded {
		return
	}
	x.loaded, x.changed = true, otherRows
	x.dirs = make(map[string]*indexDir)
	name := filepath.Join(s.dir, indexName)
	info, err := s.fs.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIndexSize {
		return
	}
	data, err := s.fs.ReadFile(name)
	if err != nil {
		return
	}
	dirs, err := decodeIndex(data, s.dir)
	if err != nil {
		x.unsaved = 1
		return
	}
	x.dirs = dirs
}

// saveLocked writes the index file if enough has changed. It is best effort, and other processes may do the same
// concurrently: the index is a cache with a checksum, and its readers check it against the disk.
func (x *index) saveLocked(s *Store) {
	files := 0
	for _, d := range x.dirs {
		files += len(d.files)
	}
	// A process can afford to find a few changes again.
	if few := x.unsaved*64 < files && x.unsavedBytes < 1<<20; x.unsaved == 0 || few && !x.forget {
		return
	}
	x.unsaved, x.unsavedBytes, x.forget = 0, 0, false // also after a failure, so that not every list retries
	name := filepath.Join(s.dir, indexName)
	unlock, err := s.fs.Lock(name)
	if err != nil {
		return // another process writes it, or it is not writable
	}
	defer unlock()
	temp := filepath.Join(s.dir, indexTemp)
	f, err := s.fs.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, filePerm)
	if err != nil {
		return
	}
	data := encodeIndex(x.dirs)
	n, err := f.Write(data)
	if closeErr := f.Close(); err != nil || closeErr != nil || n < len(data) {
		_ = s.fs.Remove(temp)
		return
	}
	if err := s.fs.Rename(temp, name); err != nil {
		_ = s.fs.Remove(temp)
	}
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
