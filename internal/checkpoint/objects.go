package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
)

// hash names an object.
type hash [sha256.Size]byte

// objectKind says what an object holds.
type objectKind byte

const (
	blobObject objectKind = 'b' // the content of a file, or a part of it; the target of a link
	listObject objectKind = 'l' // the hashes of the parts of a large file
	treeObject objectKind = 't' // the entries of a directory, or some of them
	dirsObject objectKind = 'g' // the hashes of the parts of a large directory
)

// hashOf returns the name of an object. The kind is part of it, so that a file cannot pass for a directory.
func hashOf(k objectKind, data []byte) hash {
	h := sha256.New()
	h.Write([]byte{byte(k)})
	h.Write(data)
	var sum hash
	h.Sum(sum[:0])
	return sum
}

// entryType is the type of an entry of a directory.
type entryType byte

const (
	fileEntry    entryType = 'f'
	linkEntry    entryType = 'l'
	dirEntry     entryType = 'd'
	skippedEntry entryType = 's' // only noted: too large, left out, or not readable
)

// entry is an entry of a recorded directory.
type entry struct {
	name string
	typ  entryType
	// perm has the permission bits as in [fs.FileMode]; none for a link.
	perm uint32
	size int64
	hash hash // of the content, the target or the directory; none for a skipped entry
}

// Directories with more entries are stored in parts, so that a change in a large one costs one part. Parts end at names whose hashes
// end in a number of zero bits; so an added name changes one part.
const (
	maxWhole = 256
	partBits = 0x7f
)

// encodeEntries appends the encoded entries to b.
func encodeEntries(b []byte, entries []entry) []byte {
	for i := range entries {
		e := &entries[i]
		b = append(b, byte(e.typ))
		b = binary.AppendUvarint(b, uint64(e.perm))
		b = binary.AppendUvarint(b, uint64(len(e.name)))
		b = append(b, e.name...)
		b = binary.AppendUvarint(b, uint64(e.size))
		if e.typ != skippedEntry {
			b = append(b, e.hash[:]...)
		}
	}
	return b
}

// decodeEntries returns the entries of a tree object.
func decodeEntries(data []byte) ([]entry, error) {
	var entries []entry
	d := decoder{data}
	for len(d.rest) > 0 {
		e := d.entry()
		switch e.typ {
		case fileEntry, linkEntry, dirEntry, skippedEntry:
		default:
			return nil, fmt.Errorf("%w: an entry of the type %q", errDamaged, e.typ)
		}
		if d.rest == nil || !validName(e.name) {
			return nil, fmt.Errorf("%w: an entry is cut off or has no name", errDamaged)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// validName reports whether a name is that of an entry of a directory, and leads nowhere else.
func validName(name string) bool {
	if name == "" || name == "." || name == ".." || name == ".git" {
		return false
	}
	for i := range len(name) {
		if name[i] == '/' || name[i] == 0 {
			return false
		}
	}
	return true
}

// decoder reads encoded values. After an error, rest is nil.
type decoder struct{ rest []byte }

// entry reads an entry, which may be invalid.
func (d *decoder) entry() entry {
	var e entry
	e.typ = entryType(d.byte())
	e.perm = uint32(d.uvarint())
	e.name = string(d.bytes(d.uvarint()))
	e.size = int64(d.uvarint())
	if e.typ != skippedEntry {
		copy(e.hash[:], d.bytes(uint64(len(e.hash))))
	}
	return e
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.rest = nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.rest = nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// decodeHashes returns the hashes of a list.
func decodeHashes(data []byte) ([]hash, error) {
	if len(data)%sha256.Size != 0 {
		return nil, fmt.Errorf("%w: a list is cut off", errDamaged)
	}
	all := make([]hash, len(data)/sha256.Size)
	for i := range all {
		copy(all[i][:], data[i*sha256.Size:])
	}
	return all, nil
}

// partsOf splits the entries of a large directory.
func partsOf(entries []entry) [][]entry {
	var parts [][]entry
	start := 0
	for i := range entries {
		if sum := sha256.Sum256([]byte(entries[i].name)); sum[0]&partBits == 0 {
			parts = append(parts, entries[start:i+1])
			start = i + 1
		}
	}
	if start < len(entries) {
		parts = append(parts, entries[start:])
	}
	return parts
}

// Files are split where their content says, so that a change in a large one costs a part or two: at the end of a text that is appended
// to, or where a line is inserted.
const (
	minPart = 32 << 10
	maxPart = 256 << 10
	// partMask gives parts of 64 KiB on average after the least size.
	partMask = uint64(0xffff) << 24
)

// gear holds a random number for each byte. They never change: what is recorded once is found again by the same splits.
type gear [256]uint64

func newGear() *gear {
	var g gear
	for i := range g {
		sum := sha256.Sum256([]byte{byte(i)})
		g[i] = binary.LittleEndian.Uint64(sum[:])
	}
	return &g
}

// cut returns the length of the first part of data.
func (g *gear) cut(data []byte) int {
	if len(data) <= minPart {
		return len(data)
	}
	var sum uint64
	end := min(len(data), maxPart)
	for i := minPart; i < end; i++ {
		sum = sum<<1 + g[data[i]]
		if sum&partMask == 0 {
			return i + 1
		}
	}
	return end
}

// splitFile reads a file and passes its parts to store. It returns the hash of the object that holds it, and its length.
func (g *gear) splitFile(r io.Reader, buf []byte, store func(objectKind, []byte) (hash, error)) (hash, int64, error) {
	var list []byte
	var total int64
	have := 0
	for eof := false; !eof; {
		n, err := io.ReadFull(r, buf[have:])
		have += n
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			eof = true
		case err != nil:
			return hash{}, 0, err
		}
		if eof && total == 0 && have <= maxPart {
			h, err := store(blobObject, buf[:have])
			return h, int64(have), err
		}
		at := 0
		for have-at >= maxPart || eof && at < have {
			n := g.cut(buf[at:have])
			h, err := store(blobObject, buf[at:at+n])
			if err != nil {
				return hash{}, 0, err
			}
			list = append(list, h[:]...)
			at, total = at+n, total+int64(n)
		}
		have = copy(buf, buf[at:have])
	}
	h, err := store(listObject, list)
	return h, total, err
}

func (d *decoder) varint() int64 {
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.rest = nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}
