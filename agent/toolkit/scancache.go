package toolkit

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent"
)

// maxScanned bounds the entries that a [scanCache] keeps, about 100 bytes each.
const maxScanned = 200_000

// settled is how long ago a directory must have been changed for its listing to be kept: the clocks of file systems go in steps,
// and two changes within one step look like one.
const settled = 2 * time.Second

// DirLister lists a directory, sorted by name.
type DirLister interface {
	ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error)
}

// scanCache keeps the listings of directories that were walked. One counts only while the file system says that the directory
// has not changed since, so that a write of ours, of a command or of anybody ends it in the same moment. It is safe for
// concurrent use.
type scanCache struct {
	now func() time.Time

	mu       sync.RWMutex // guards what follows
	listings map[string]scanListing
	entries  int
	// stamped tells for a device whether its directories' stamps can be relied on.
	stamped map[uint64]bool
}

// dirStamp tells one state of a directory from all others: no program can set a change time back.
type dirStamp struct {
	device, inode uint64
	changed       time.Time
}

type scanListing struct {
	stamp   dirStamp
	entries []fs.DirEntry
}

func newScanCache() *scanCache {
	return &scanCache{now: time.Now, listings: make(map[string]scanListing), stamped: make(map[uint64]bool)}
}

// Scanning lists the directories of a call's file system through the cache of its session, which those that it has started
// share.
func Scanning(call *agent.Call) DirLister {
	if call.Kept == nil {
		return call.FS
	}
	return &cachedLister{agent.Keep(call.Kept.Root(), newScanCache), call.FS}
}

// cachedLister asks fs where the cache does not know. What it returns is shared and must not be changed.
type cachedLister struct {
	*scanCache
	fs DirLister
}

// ReadDir lists a directory of the disk, sorted by name.
func (c *cachedLister) ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error) {
	before, ok := stampOf(path)
	if !ok || !c.reliable(before.device, path) {
		return c.fs.ReadDir(ctx, path)
	}
	c.mu.RLock()
	kept, ok := c.listings[path]
	c.mu.RUnlock()
	if ok && kept.stamp == before {
		return kept.entries, nil
	}
	entries, err := c.fs.ReadDir(ctx, path)
	if err != nil {
		return nil, err
	}
	behind, ok := stampOf(path)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries -= len(c.listings[path].entries)
	delete(c.listings, path)
	if !ok || behind != before || c.now().Sub(before.changed) < settled {
		return entries, nil
	}
	if c.entries+len(entries) > maxScanned {
		clear(c.listings)
		c.entries = 0
	}
	if len(entries) <= maxScanned {
		c.listings[path] = scanListing{before, entries}
		c.entries += len(entries)
	}
	return entries, nil
}

// reliable reports whether the file system of a device, which holds path, keeps change times as the cache needs them.
func (c *scanCache) reliable(device uint64, path string) bool {
	c.mu.RLock()
	is, known := c.stamped[device]
	c.mu.RUnlock()
	if known {
		return is
	}
	is = stampsRelied(path)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stamped[device] = is
	return is
}
