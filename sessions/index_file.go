package sessions

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"time"
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
	// A few changes are cheap to find again.
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

// encodeIndex encodes an index file: the magic, the directories with their files, and a CRC-32C of all that.
// JSON takes three times as long and twice the memory to read, which shows in the first list of a process.
func encodeIndex(dirs map[string]*indexDir) []byte {
	size := 64
	for _, d := range dirs {
		size += 64 + 256*len(d.files)
	}
	c := &indexCodec{out: append(make([]byte, 0, size), indexMagic...)}
	c.count(len(dirs))
	for _, d := range dirs {
		c.dir(d)
		c.count(len(d.files))
		for _, f := range d.files {
			c.file(f)
		}
	}
	return appendSum(c.out)
}

// decodeIndex reads an index file of the store in root.
func decodeIndex(data []byte, root string) (map[string]*indexDir, error) {
	body, ok := cutSum(data)
	rest, magic := strings.CutPrefix(string(body), indexMagic)
	if !ok || !magic {
		return nil, errBadIndex
	}
	c := &indexCodec{reading: true, rest: rest}
	n := c.count(0)
	dirs := make(map[string]*indexDir, n)
	for range n {
		d := new(indexDir)
		c.dir(d)
		d.path = filepath.Join(root, d.name)
		files := make([]indexFile, c.count(0))
		d.files = make(map[string]*indexFile, len(files))
		for i := range files {
			f := &files[i]
			c.file(f)
			if c.failed || f.name == "" || strings.ContainsAny(f.name, `/\`) {
				return nil, errBadIndex
			}
			f.dir = d.path
			d.files[f.name] = f
		}
		dirs[d.name] = d
	}
	if c.failed || c.rest != "" {
		return nil, errBadIndex
	}
	return dirs, nil
}

func appendSum(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
}

// cutSum returns data without the checksum at its end, if the checksum is correct.
func cutSum(data []byte) (body []byte, ok bool) {
	if len(data) < 4 {
		return nil, false
	}
	body = data[:len(data)-4]
	return body, crc32.Checksum(body, castagnoli()) == binary.LittleEndian.Uint32(data[len(body):])
}

// indexCodec writes values, or reads them in the same order: numbers as varints, strings after their length.
type indexCodec struct {
	out []byte

	reading bool
	rest    string // what is left to read; the strings that are read share its memory
	failed  bool   // rest was too short or invalid

	cwd string // the working directory of the file before
}

func (c *indexCodec) dir(d *indexDir) {
	c.string(&d.name)
	c.int(&d.mtime)
	c.int(&d.readAt)
}

// file leaves out a working directory that the file before it has too, and an ID at the end of the file's name.
func (c *indexCodec) file(f *indexFile) {
	sameCwd, base := f.cwd == c.cwd, strings.TrimSuffix(f.name, fileSuffix)
	idInName := strings.HasSuffix(base, f.id)
	flags := int64(0)
	bools := [...]*bool{&f.locked, &f.archived, &f.bad, &f.said, &sameCwd, &idInName}
	for i, b := range bools {
		if *b {
			flags |= 1 << i
		}
	}
	c.int(&flags)
	for i, b := range bools {
		*b = flags&(1<<i) != 0
	}
	c.string(&f.name)
	idLen, head, tail, messages := int64(len(f.id)), int64(f.headSum), int64(f.tailSum), int64(f.messages)
	for _, n := range [...]*int64{&idLen, &f.size, &f.mtime, &f.offset, &f.headLen, &head, &tail, &messages} {
		c.int(n)
	}
	f.headSum, f.tailSum, f.messages = uint32(head), uint32(tail), int(messages)
	if !idInName {
		c.string(&f.id)
	} else if base = strings.TrimSuffix(f.name, fileSuffix); idLen < 0 || idLen > int64(len(base)) {
		c.fail()
	} else {
		f.id = base[len(base)-int(idLen):]
	}
	if sameCwd {
		f.cwd = c.cwd
	} else {
		c.string(&f.cwd)
	}
	c.cwd = f.cwd
	for _, s := range [...]*string{&f.parent, &f.title.Title, &f.title.Source, &f.prompt, &f.summary} {
		c.string(s)
	}
	c.time(&f.created)
	c.time(&f.last)
	if n := c.count(len(f.directories)); c.reading && n > 0 {
		f.directories = make([]string, n)
	}
	for i := range f.directories {
		c.string(&f.directories[i])
	}
}

func (c *indexCodec) fail() { c.failed, c.rest = true, "" }

func (c *indexCodec) int(v *int64) {
	if !c.reading {
		c.out = binary.AppendVarint(c.out, *v)
		return
	}
	var u uint64
	for i := range min(len(c.rest), binary.MaxVarintLen64) {
		b := c.rest[i]
		u |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			c.rest = c.rest[i+1:]
			*v = int64(u>>1) ^ -int64(u&1)
			return
		}
	}
	*v = 0
	c.fail()
}

// count returns n, or the number that it reads. That is at most the number of bytes left, as each item takes at least one.
func (c *indexCodec) count(n int) int {
	v := int64(n)
	c.int(&v)
	if c.reading && (v < 0 || v > int64(len(c.rest))) {
		v = 0
		c.fail()
	}
	return int(v)
}

func (c *indexCodec) string(s *string) {
	n := c.count(len(*s))
	if !c.reading {
		c.out = append(c.out, *s...)
		return
	}
	*s, c.rest = c.rest[:n], c.rest[n:]
}

func (c *indexCodec) time(t *time.Time) {
	sec, nsec := t.Unix(), int64(t.Nanosecond())
	c.int(&sec)
	c.int(&nsec)
	if c.reading {
		*t = time.Unix(sec, nsec).UTC()
	}
}
