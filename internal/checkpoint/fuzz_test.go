package checkpoint

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzEntries decodes directories that are damaged or forged: no name leads out of its directory, and what is decoded is what would be
// encoded.
func FuzzEntries(f *testing.F) {
	entries := []entry{
		{name: "a.go", typ: fileEntry, perm: 0o644, size: 7, hash: hash{1}},
		{name: "d", typ: dirEntry, perm: 0o755, hash: hash{2}},
		{name: "large", typ: skippedEntry, size: 1 << 40},
		{name: "link", typ: linkEntry, size: 3, hash: hash{3}},
	}
	whole := encodeEntries(nil, entries)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(bytes.ReplaceAll(whole, []byte("a.go"), []byte("../x")))
	f.Add(bytes.ReplaceAll(whole, []byte("a.go"), []byte(".git")))
	f.Add([]byte{'f', 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := decodeEntries(data)
		if err != nil {
			return
		}
		for i := range entries {
			if !validName(entries[i].name) {
				t.Errorf("the name %q", entries[i].name)
			}
		}
		again, err := decodeEntries(encodeEntries(nil, entries))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(entries, again, cmp.AllowUnexported(entry{})); diff != "" {
			t.Error(diff)
		}
		files, err := decodeIndex(data)
		if err == nil && len(files) > len(data) {
			t.Errorf("%d files in %d bytes", len(files), len(data))
		}
	})
}

// split splits content, and returns the names of the parts and the content that they have together.
func split(t *testing.T, data []byte) (parts map[hash]bool, whole []byte) {
	t.Helper()
	parts = make(map[hash]bool)
	_, n, err := newGear().splitFile(bytes.NewReader(data), make([]byte, 2*maxPart), func(k objectKind, b []byte) (hash, error) {
		if k == blobObject {
			whole = append(whole, b...)
			parts[hashOf(k, b)] = true
		}
		return hashOf(k, b), nil
	})
	if err != nil || n != int64(len(data)) {
		t.Fatalf("%d bytes of %d, %v", n, len(data), err)
	}
	return parts, whole
}

// FuzzSplit splits content into parts that are its content.
func FuzzSplit(f *testing.F) {
	f.Add(bytes.Repeat([]byte("0123456789\n"), 60_000))
	f.Add([]byte("small"))
	f.Add(make([]byte, 3*maxPart))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, whole := split(t, data); !bytes.Equal(whole, data) {
			t.Error("the parts are not the content")
		}
	})
}

// A byte that is inserted in a large file, and a line that is added to it, change a part or two.
func TestSplit_Changes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var data []byte
	for len(data) < 4<<20 {
		data = fmt.Appendf(data, "line %x %d\n", r.Uint64(), r.IntN(100))
	}
	before, _ := split(t, data)
	for _, at := range []int{0, len(data) / 3, len(data)} {
		after, _ := split(t, slices.Concat(data[:at], []byte("x"), data[at:]))
		added := 0
		for h := range after {
			if !before[h] {
				added++
			}
		}
		if len(before) < 20 || added > 2 {
			t.Errorf("a byte at %d makes %d of %d parts", at, added, len(before))
		}
	}
}
