package archive

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"
	"time"
)

// Any bytes are listed and read within the limits, and listed members can be read.
func FuzzArchive(f *testing.F) {
	f.Add([]byte("PK\x05\x06" + string(make([]byte, 18))))
	f.Add([]byte("PK\x03\x04\x14\x00\x08\x00\x08\x00"))
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"))
	block := make([]byte, 1536)
	copy(block, "name")
	copy(block[257:], "ustar\x0000")
	f.Add(block)
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		start := time.Now()
		entries, total, _ := a.List(t.Context(), "", 5)
		if len(entries) > 5 || total < len(entries) {
			t.Errorf("%d entries of %d", len(entries), total)
		}
		for _, e := range entries {
			got, err := a.ReadFile(t.Context(), e.Name, 1000)
			if err == nil && len(got) > 1000 {
				t.Errorf("%q: %d bytes", e.Name, len(got))
			}
			if errors.Is(err, fs.ErrNotExist) && Clean(e.Name) != "" {
				t.Errorf("%q was listed and is not there", e.Name)
			}
		}
		if time.Since(start) > 30*time.Second {
			t.Error("it took too long")
		}
	})
}
