package mcpfiles

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
)

// maxCacheFiles bounds the files of a cache. The oldest ones are removed.
const maxCacheFiles = 200

// Cache is a directory with the tools of servers, a file for each. It is an [mcp.Cache].
type Cache struct{ dir string }

// NewCache returns the cache in a directory, which need not exist. It does no I/O.
func NewCache(dir string) *Cache { return &Cache{dir} }

func (c *Cache) path(key string) string { return filepath.Join(c.dir, key+".json") }

// Load implements [mcp.Cache].
func (c *Cache) Load(key string) []byte {
	data, err := configfile.ReadFile(c.path(key))
	if err != nil {
		return nil
	}
	return data
}

// Store implements [mcp.Cache].
func (c *Cache) Store(key string, data []byte) {
	if os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	tmp, err := os.CreateTemp(c.dir, ".new-*")
	if err != nil {
		return
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // fails after a successful rename
	_, err = tmp.Write(data)
	if errors.Join(err, tmp.Close()) != nil || os.Rename(tmp.Name(), c.path(key)) != nil {
		return
	}
	c.prune()
}

// prune removes the oldest files.
func (c *Cache) prune() {
	entries, err := os.ReadDir(c.dir)
	if err != nil || len(entries) <= maxCacheFiles {
		return
	}
	var files []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".json") {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, old := range files[min(len(files), maxCacheFiles):] {
		_ = os.Remove(filepath.Join(c.dir, old.Name())) // another process may have removed it
	}
}
