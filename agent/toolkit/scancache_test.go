//go:build linux || darwin

package toolkit

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
)

// countingLister lists directories of the disk and counts.
type countingLister struct{ lists atomic.Int32 }

func (l *countingLister) ReadDir(_ context.Context, path string) ([]fs.DirEntry, error) {
	l.lists.Add(1)
	return os.ReadDir(path)
}

// settledCache returns a cache whose clock says that everything was changed long ago, over a directory where change times can be
// relied on.
func settledCache(t *testing.T, dir string) (*cachedLister, *countingLister) {
	t.Helper()
	if !stampsRelied(dir) {
		testenv.Skip(t, "temporary directories are on a file system without change times to rely on")
	}
	lister := new(countingLister)
	c := newScanCache()
	c.now = func() time.Time { return time.Now().Add(time.Hour) }
	return &cachedLister{c, lister}, lister
}

// tick returns when the file system's clock has moved on: what changes from here on has another time.
func tick(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	first, ok := stampOf(dir)
	for i := 0; ; i++ {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if now, ok2 := stampOf(dir); !ok || !ok2 {
			t.Fatal("a directory has no stamp")
		} else if now.changed.After(first.changed) {
			return
		}
	}
}

func namesIn(t *testing.T, l DirLister, dir string) (names []string) {
	t.Helper()
	entries, err := l.ReadDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name()+" "+e.Type().String())
	}
	return names
}

// What is listed is at every moment what the disk holds, whoever changes it, though most listings come from the cache.
func TestScanCache_AgreesWithTheDisk(t *testing.T) {
	root := t.TempDir()
	var dirs []string
	for i := range 8 {
		dir := filepath.Join(root, fmt.Sprint("d", i))
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	cached, lister := settledCache(t, root)
	random := rand.New(rand.NewPCG(7, 7))
	old := time.Unix(1_000_000_000, 0)
	const rounds = 300
	for round := range rounds {
		tick(t)
		dir := dirs[random.IntN(len(dirs))]
		file := filepath.Join(dir, fmt.Sprint("f", random.IntN(4)))
		switch random.IntN(6) {
		case 0:
			_ = os.WriteFile(file, []byte("text"), 0o666)
		case 1:
			_ = os.RemoveAll(file)
		case 2: // a file becomes a directory
			_ = os.RemoveAll(file)
			_ = os.Mkdir(file, 0o777)
		case 3: // two directories change places
			other := dirs[random.IntN(len(dirs))]
			if other != dir {
				_ = os.Rename(dir, dir+".away")
				_ = os.Rename(other, dir)
				_ = os.Rename(dir+".away", other)
			}
		case 4: // as tar and rsync leave it
			_ = os.WriteFile(file+".new", nil, 0o666)
			_ = os.Chtimes(dir, old, old)
		case 5:
			_ = os.Rename(file, filepath.Join(dirs[random.IntN(len(dirs))], "moved"))
		}
		for _, dir := range dirs {
			if diff := cmp.Diff(namesIn(t, new(countingLister), dir), namesIn(t, cached, dir)); diff != "" {
				t.Fatalf("round %d, %s (-disk +cached):\n%s", round, filepath.Base(dir), diff)
			}
		}
	}
	if most := int32(rounds * len(dirs) / 2); lister.lists.Load() > most {
		t.Errorf("%d listings of %d went to the disk: the cache keeps too little", lister.lists.Load(), rounds*len(dirs))
	}
}

// What was changed just now is not kept: the next change may have the same time.
func TestScanCache_FreshDirectory(t *testing.T) {
	dir := t.TempDir()
	cached, lister := settledCache(t, dir)
	cached.now = time.Now
	namesIn(t, cached, dir)
	namesIn(t, cached, dir)
	if got := lister.lists.Load(); got != 2 {
		t.Errorf("the disk was asked %d times, want 2", got)
	}
}

func TestScanCache_Bounds(t *testing.T) {
	root := t.TempDir()
	cached, _ := settledCache(t, root)
	many := make([]fs.DirEntry, maxScanned/4)
	cached.fs = listerFunc(func(string) []fs.DirEntry { return many })
	for i := range 20 {
		dir := filepath.Join(root, fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := cached.ReadDir(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		held := 0
		for _, l := range cached.listings {
			held += len(l.entries)
		}
		if held != cached.entries || held > maxScanned || held == 0 {
			t.Fatalf("%d entries are held, %d counted, %d allowed", held, cached.entries, maxScanned)
		}
	}
}

func TestScanCache_Missing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	cached, _ := settledCache(t, dir)
	namesIn(t, cached, dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := cached.ReadDir(t.Context(), dir); !os.IsNotExist(err) {
		t.Errorf("a directory that is gone: error %v", err)
	}
}

type listerFunc func(path string) []fs.DirEntry

func (f listerFunc) ReadDir(_ context.Context, path string) ([]fs.DirEntry, error) {
	return f(path), nil
}
