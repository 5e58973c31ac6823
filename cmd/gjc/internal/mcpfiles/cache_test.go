package mcpfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What is stored is there for another process, and the oldest files go.
func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if got := NewCache(dir).Load("x"); got != nil {
		t.Errorf("%s", got)
	}
	c := NewCache(dir)
	for i := range maxCacheFiles + 5 {
		key := fmt.Sprint("k", i)
		c.Store(key, []byte(key))
		old := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(filepath.Join(dir, key+".json"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	c.Store("k7", []byte("new"))
	if got := NewCache(dir).Load("k7"); string(got) != "new" {
		t.Errorf("%q", got)
	}
	if c.Load("k1") != nil || c.Load(fmt.Sprint("k", maxCacheFiles+4)) == nil {
		t.Error("the wrong files are gone")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > maxCacheFiles {
		t.Errorf("%d files, %v", len(entries), err)
	}
}
