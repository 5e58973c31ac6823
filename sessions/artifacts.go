package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// ArtifactScheme begins the URL of an artifact: "artifact://3".
const ArtifactScheme = "artifact://"

// Artifacts keeps a session's full tool outputs as "<n>.<tool>.log" files beside its session file. The numbers go on
// across restarts. It is safe for concurrent use.
type Artifacts struct {
	dir string

	mu   sync.Mutex // guards next
	next int        // the next number; zero until the directory has been read
}

// NewArtifacts returns the artifacts in dir, which need not exist yet. It does no I/O.
func NewArtifacts(dir string) *Artifacts { return &Artifacts{dir: dir} }

// Put stores data and returns its URL.
func (a *Artifacts) Put(ctx context.Context, tool string, data []byte) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == 0 {
		last, err := a.last()
		if err != nil {
			return "", err
		}
		a.next = last + 1
	}
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return "", err
	}
	n := a.next
	path := filepath.Join(a.dir, fmt.Sprintf("%d.%s.log", n, fileSafe(tool)))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	a.next++
	return ArtifactScheme + strconv.Itoa(n), nil
}

// Get returns what Put stored under url. The error for an unknown one wraps [fs.ErrNotExist].
func (a *Artifacts) Get(ctx context.Context, url string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	number, ok := strings.CutPrefix(url, ArtifactScheme)
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 {
		return nil, fmt.Errorf("%q is no artifact; they are called %s1, %s2 and so on: %w", url, ArtifactScheme, ArtifactScheme, fs.ErrNotExist)
	}
	names, err := namesLike(a.dir, strconv.Itoa(n)+".", ".log")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no artifact %s: %w", url, fs.ErrNotExist)
	}
	return os.ReadFile(names[0])
}

// last returns the highest number in the directory.
func (a *Artifacts) last() (int, error) {
	files, err := os.ReadDir(a.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	last := 0
	for _, f := range files {
		number, _, _ := strings.Cut(f.Name(), ".")
		if n, err := strconv.Atoi(number); err == nil {
			last = max(last, n)
		}
	}
	return last, nil
}

func fileSafe(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}
