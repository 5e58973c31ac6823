package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// artifactScheme is the start of an artifact's URL: "artifact://3".
const artifactScheme = "artifact://"

// Artifacts stores full outputs of tools as "<n>.<tool>.log" files in a directory next to the session file. Numbers
// continue after a restart. It is safe for concurrent use.
type Artifacts struct {
	dir string
	fs  FileSystem
	// sync makes artifacts survive a power cut, like the messages that name them.
	sync bool

	mu      sync.Mutex // guards the fields below
	scanned bool       // the directory has been read
	next    int
}

// Artifacts returns the session's artifacts. It does no I/O.
func (l *Log) Artifacts() *Artifacts {
	return &Artifacts{dir: l.ArtifactDir(), fs: l.store.fs, sync: l.store.opts.Sync != SyncNever}
}

// Put stores data and returns its URL.
func (a *Artifacts) Put(ctx context.Context, tool string, data []byte) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.scanned {
		numbers, err := a.numbers()
		if err != nil {
			return "", err
		}
		if len(numbers) > 0 {
			a.next = slices.Max(numbers) + 1
		}
		a.scanned = true
	}
	if err := a.fs.MkdirAll(a.dir, dirPerm); err != nil {
		return "", err
	}
	n := a.next
	path := filepath.Join(a.dir, fmt.Sprintf("%d.%s.log", n, fileSafe(tool)))
	f, err := a.fs.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, filePerm)
	if err != nil {
		return "", err
	}
	if err = writeAll(f, data, a.sync); err == nil && a.sync {
		err = errors.Join(a.fs.SyncDir(a.dir), a.fs.SyncDir(filepath.Dir(a.dir))) // the directory may be new
	}
	if err != nil {
		return "", errors.Join(err, a.fs.Remove(path))
	}
	a.next++
	return artifactScheme + strconv.Itoa(n), nil
}

// Get returns the data that Put stored under url. The error for an unknown URL wraps [fs.ErrNotExist] and lists the
// artifacts that exist.
func (a *Artifacts) Get(ctx context.Context, url string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	number, ok := strings.CutPrefix(url, artifactScheme)
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || strconv.Itoa(n) != number {
		return nil, fmt.Errorf("%.200q is not an artifact; artifacts are named %s0, %s1 and so on: %w", url, artifactScheme, artifactScheme, fs.ErrNotExist)
	}
	entries, err := a.fs.ReadDir(a.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if at, ok := artifactNumber(e.Name()); ok && at == n && e.Type().IsRegular() {
			return a.fs.ReadFile(filepath.Join(a.dir, e.Name()))
		}
	}
	numbers, err := a.numbers()
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("there is no artifact %s; %s: %w", url, available(numbers), fs.ErrNotExist)
}

// available lists the newest artifacts.
func available(numbers []int) string {
	if len(numbers) == 0 {
		return "the session has none"
	}
	slices.Sort(numbers)
	const most = 20
	var text strings.Builder
	text.WriteString("there are ")
	if len(numbers) > most {
		text.WriteString("… ")
		numbers = numbers[len(numbers)-most:]
	}
	for i, n := range numbers {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(strconv.Itoa(n))
	}
	return text.String()
}

// numbers returns the numbers in use.
func (a *Artifacts) numbers() ([]int, error) {
	files, err := a.fs.ReadDir(a.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var numbers []int
	for _, f := range files {
		if n, ok := artifactNumber(f.Name()); ok {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// artifactNumber returns the number in the name of an artifact.
func artifactNumber(name string) (int, bool) {
	number, _, ok := strings.Cut(name, ".")
	if !ok || filepath.Ext(name) != ".log" {
		return 0, false
	}
	n, err := strconv.Atoi(number)
	return n, err == nil && n >= 0
}

func fileSafe(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}
