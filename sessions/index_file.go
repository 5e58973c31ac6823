package sessions

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"
)

const (
	// indexName is the index file in the store's directory. Older installations read only directories there.
	indexName = "index"
	indexTemp = ".index.tmp" // a leftover of a crash is overwritten
	// indexMagic ends with the version of the format. Files of other versions are rebuilt.
	indexMagic = "gjc index\x00\x01"
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

// Flags of a record, in its first byte.
const (
	flagBad = 1 << iota
	flagLocked
	flagArchived
	flagSameCwd  // same as in the previous record
	flagIDInName // the ID is the last part of the file's name
	flagAbout    // it has a parent, directories or a title
	flagSaid     // the program added a message to the conversation
)

// encodeIndex encodes an index file: the magic, the directories with their files, and a CRC-32C of these. Numbers are
// varints; strings are preceded by their length.
func encodeIndex(dirs map[string]*indexDir) []byte {
	size := 64
	for _, d := range dirs {
		size += 64 + 224*len(d.files)
	}
	b := append(make([]byte, 0, size), indexMagic...)
	b = binary.AppendUvarint(b, uint64(len(dirs)))
	for _, d := range dirs {
		b = appendString(b, d.name)
		b = binary.AppendVarint(b, d.mtime)
		b = binary.AppendVarint(b, d.readAt)
		b = binary.AppendUvarint(b, uint64(len(d.files)))
		cwd := ""
		for _, f := range d.files {
			b = f.append(b, cwd)
			cwd = f.cwd
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
}

func (f *indexFile) append(b []byte, cwd string) []byte {
	flags := byte(0)
	set := func(flag byte, on bool) {
		if on {
			flags |= flag
		}
	}
	set(flagBad, f.bad)
	set(flagLocked, f.locked)
	set(flagArchived, f.archived)
	set(flagSaid, f.said)
	set(flagSameCwd, f.cwd == cwd)
	set(flagIDInName, f.id != "" && strings.HasSuffix(strings.TrimSuffix(f.name, fileSuffix), "_"+f.id))
	set(flagAbout, f.parent != "" || f.title != titleData{} || len(f.directories) > 0)
	b = append(b, flags)
	b = appendString(b, f.name)
	b = binary.AppendVarint(b, f.size)
	b = binary.AppendVarint(b, f.mtime)
	if f.bad {
		return b
	}
	b = binary.AppendVarint(b, f.offset)
	b = binary.AppendVarint(b, f.headLen)
	b = binary.LittleEndian.AppendUint32(b, f.headSum)
	b = binary.LittleEndian.AppendUint32(b, f.tailSum)
	if flags&flagIDInName == 0 {
		b = appendString(b, f.id)
	} else {
		b = binary.AppendUvarint(b, uint64(len(f.id)))
	}
	if flags&flagSameCwd == 0 {
		b = appendString(b, f.cwd)
	}
	b = appendTime(b, f.created)
	b = appendTime(b, f.last)
	b = binary.AppendUvarint(b, uint64(f.messages))
	b = appendString(b, f.prompt)
	b = appendString(b, f.summary)
	if flags&flagAbout == 0 {
		return b
	}
	b = appendString(b, f.parent)
	b = appendString(b, f.title.Title)
	b = appendString(b, f.title.Source)
	b = binary.AppendUvarint(b, uint64(len(f.directories)))
	for _, dir := range f.directories {
		b = appendString(b, dir)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decodeIndex reads an index file of the store in root.
func decodeIndex(data []byte, root string) (map[string]*indexDir, error) {
	if len(data) < len(indexMagic)+4 || string(data[:len(indexMagic)]) != indexMagic {
		return nil, errBadIndex
	}
	body := data[:len(data)-4]
	if crc32.Checksum(body, castagnoli()) != binary.LittleEndian.Uint32(data[len(body):]) {
		return nil, errBadIndex
	}
	// The strings of records share the memory of this one.
	d := &indexDecoder{rest: string(body[len(indexMagic):])}
	n := d.count(4)
	dirs := make(map[string]*indexDir, n)
	for range n {
		dir := &indexDir{name: d.string(), mtime: d.varint(), readAt: d.varint()}
		dir.path = filepath.Join(root, dir.name)
		files := make([]indexFile, d.count(5))
		dir.files = make(map[string]*indexFile, len(files))
		cwd := ""
		for i := range files {
			f := &files[i]
			d.file(f, cwd)
			if d.failed {
				return nil, errBadIndex
			}
			f.dir = dir.path
			dir.files[f.name] = f
			cwd = f.cwd
		}
		dirs[dir.name] = dir
	}
	if d.failed || d.rest != "" {
		return nil, errBadIndex
	}
	return dirs, nil
}

// indexDecoder reads numbers and strings. Past the end it returns zero values and sets failed.
type indexDecoder struct {
	rest   string
	failed bool
}

func (d *indexDecoder) file(f *indexFile, cwd string) {
	flags := d.byte()
	f.bad, f.locked, f.archived = flags&flagBad != 0, flags&flagLocked != 0, flags&flagArchived != 0
	f.said = flags&flagSaid != 0
	f.name = d.string()
	f.size, f.mtime = d.varint(), d.varint()
	if f.name == "" || strings.ContainsAny(f.name, `/\`) {
		d.failed = true
	}
	if f.bad || d.failed {
		return
	}
	f.offset, f.headLen, f.headSum, f.tailSum = d.varint(), d.varint(), d.uint32(), d.uint32()
	if flags&flagIDInName == 0 {
		f.id = d.string()
	} else {
		base := strings.TrimSuffix(f.name, fileSuffix)
		if n := d.int(); n <= len(base) {
			f.id = base[len(base)-n:]
		} else {
			d.failed = true
		}
	}
	f.cwd = cwd
	if flags&flagSameCwd == 0 {
		f.cwd = d.string()
	}
	f.created, f.last = d.time(), d.time()
	f.messages = d.int()
	f.prompt, f.summary = d.string(), d.string()
	if flags&flagAbout == 0 {
		return
	}
	f.parent = d.string()
	f.title = titleData{Title: d.string(), Source: d.string()}
	if n := d.count(1); n > 0 {
		f.directories = make([]string, n)
		for i := range f.directories {
			f.directories[i] = d.string()
		}
	}
}

func (d *indexDecoder) bytes(n int) string {
	if n < 0 || n > len(d.rest) {
		d.failed, d.rest = true, ""
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

func (d *indexDecoder) byte() byte {
	if s := d.bytes(1); s != "" {
		return s[0]
	}
	return 0
}

func (d *indexDecoder) uint32() uint32 {
	if s := d.bytes(4); s != "" {
		return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
	}
	return 0
}

func (d *indexDecoder) uvarint() (v uint64) {
	for i := range len(d.rest) {
		b := d.rest[i]
		if i == binary.MaxVarintLen64 {
			break
		}
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			d.rest = d.rest[i+1:]
			return v
		}
	}
	d.failed, d.rest = true, ""
	return 0
}

func (d *indexDecoder) varint() int64 {
	v := d.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// int reads a number that is not negative.
func (d *indexDecoder) int() int {
	v := d.uvarint()
	if v > 1<<31-1 {
		d.failed = true
		return 0
	}
	return int(v)
}

// count reads the number of items, each of which takes at least size bytes.
func (d *indexDecoder) count(size int) int {
	n := d.int()
	if n > len(d.rest)/size {
		d.failed = true
		return 0
	}
	return n
}

func (d *indexDecoder) string() string { return d.bytes(d.int()) }

func (d *indexDecoder) time() time.Time {
	sec, nsec := d.varint(), d.int()
	return time.Unix(sec, int64(nsec)).UTC()
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

// parseCursor parses the result of String. It returns [ErrBadCursor] for anything else.
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
	if i := slices.IndexFunc(x.snapshots, func(s snapshot) bool { return s.token == c.token }); i >= 0 {
		if c.row < 0 || c.row >= len(x.snapshots[i].ids) {
			return listWalk{}, ErrBadCursor
		}
		return listWalk{snapshot: x.useLocked(i), next: c.row + 1}, nil
	}
	return listWalk{next: sort.Search(len(x.rows), func(i int) bool { return x.rows[i].place().compare(c.place) > 0 })}, nil
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
	return (&cursor{token: p.snapshot.token, row: row, place: last}).String()
}

func appendTime(b []byte, t time.Time) []byte {
	b = binary.AppendVarint(b, t.Unix())
	return binary.AppendUvarint(b, uint64(t.Nanosecond()))
}
