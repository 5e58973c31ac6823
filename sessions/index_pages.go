package sessions

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sort"
	"time"
)

// maxSnapshots is how many lists are remembered for the cursors into them.
const maxSnapshots = 16

type snapshotToken [8]byte

// snapshot is the order of the sessions at one moment.
type snapshot struct {
	token snapshotToken
	ids   []string
	// rows is what ids was made from, to tell whether that is still the order.
	rows []*indexFile
}

// cursor is the last row of a page: its place in a snapshot, and where it stood in the list, for those who do not have
// the snapshot.
type cursor struct {
	token snapshotToken
	row   int
	place listPlace
}

const cursorVersion = 1

func (c *cursor) String() string {
	b := append([]byte{cursorVersion}, c.token[:]...)
	b = binary.AppendUvarint(b, uint64(c.row))
	b = appendTime(b, c.place.updated)
	b = append(b, c.place.name...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor returns [ErrBadCursor] for what String has not made.
func parseCursor(s string) (*cursor, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) < 4 {
		return nil, ErrBadCursor
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	d := indexDecoder{rest: string(body)}
	if crc32.Checksum(body, castagnoli()) != sum || d.byte() != cursorVersion {
		return nil, ErrBadCursor
	}
	c := new(cursor)
	copy(c.token[:], d.bytes(len(c.token)))
	c.row = d.int()
	c.place.updated = d.time()
	c.place.name = d.rest
	if d.failed || c.place.name == "" {
		return nil, ErrBadCursor
	}
	return c, nil
}

// listWalk is a walk over the rows of the list.
type listWalk struct {
	snapshot *snapshot // nil for the list as it is now
	next     int       // the row to go on with
}

// beginLocked returns where the page behind c begins; c is nil for the first page.
func (x *index) beginLocked(c *cursor) (listWalk, error) {
	if c == nil {
		return listWalk{}, nil
	}
	if i := slices.IndexFunc(x.snapshots, func(s snapshot) bool { return s.token == c.token }); i >= 0 {
		if c.row < 0 || c.row >= len(x.snapshots[i].ids) {
			return listWalk{}, ErrBadCursor
		}
		return listWalk{snapshot: x.useLocked(i), next: c.row + 1}, nil
	}
	return listWalk{next: sort.Search(len(x.rows), func(i int) bool { return x.rows[i].place().compare(c.place) > 0 })}, nil
}

// useLocked moves a snapshot to the end, where it is kept for the longest.
func (x *index) useLocked(i int) *snapshot {
	used := x.snapshots[i]
	x.snapshots = append(slices.Delete(x.snapshots, i, i+1), used)
	return &x.snapshots[len(x.snapshots)-1]
}

// snapshotLocked remembers the list as it is now.
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

// nextLocked returns the next session of the walk as it is now, and its row; false behind the last one.
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

// cursorLocked returns the cursor behind the given row.
func (x *index) cursorLocked(p *listWalk, row int, last listPlace) string {
	if p.snapshot == nil {
		p.snapshot = x.snapshotLocked()
	}
	return (&cursor{token: p.snapshot.token, row: row, place: last}).String()
}

func appendTime(b []byte, t time.Time) []byte {
	b = binary.AppendVarint(b, t.Unix())
	return binary.AppendUvarint(b, uint64(t.Nanosecond()))
}
