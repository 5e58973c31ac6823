package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
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
	file := filepath.Join(a.dir, fmt.Sprintf("%d.%s.log", n, fileSafe(tool)))
	f, err := a.fs.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, filePerm)
	if err != nil {
		return "", err
	}
	if err = writeAll(f, data, a.sync); err == nil && a.sync {
		err = errors.Join(a.fs.SyncDir(a.dir), a.fs.SyncDir(filepath.Dir(a.dir))) // the directory may be new
	}
	if err != nil {
		return "", errors.Join(err, a.fs.Remove(file))
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

// Children stores the conversations of the helper agents of one session. Each is a session file in the session's artifact directory,
// NAME.jsonl, with the helper's last report next to it, NAME.md. [Store.List] does not list them. They are deleted, moved and copied
// with their session. It is safe for concurrent use.
type Children struct {
	dir   string
	store *Store
}

// Children returns the conversations of the session's helpers. It does no I/O.
func (l *Log) Children() *Children { return &Children{dir: l.ArtifactDir(), store: l.store} }

const reportSuffix = ".md"

// Names lists the helpers that have a conversation.
func (c *Children) Names() ([]string, error) {
	entries, err := c.store.fs.ReadDir(c.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), fileSuffix); ok && e.Type().IsRegular() && checkChild(name) == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// checkChild rejects names that are no plain file names.
func checkChild(name string) error {
	if checkID(name) != nil || name[0] == '.' {
		return fmt.Errorf("%w: %.140q is not a helper's name", ErrNotFound, name)
	}
	return nil
}

func (c *Children) path(name string) string { return filepath.Join(c.dir, name+fileSuffix) }

// Create creates the conversation of a helper. The error for a name in use wraps [fs.ErrExist]. The caller closes the log.
func (c *Children) Create(ctx context.Context, name string, h Header) (*Log, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := checkChild(name); err != nil {
		return nil, err
	}
	h.Version = Version
	if h.Time.IsZero() {
		h.Time = c.store.now()
	}
	if err := c.store.fs.MkdirAll(c.dir, dirPerm); err != nil {
		return nil, fmt.Errorf("creating the directory of the helpers: %w", err)
	}
	l := newLog(c.store, c.path(name))
	l.dir = filepath.Dir(c.dir) // to sync its entry for the artifact directory
	l.fill(&content{header: h})
	if err := c.store.begin(l, c.dir); err != nil {
		return nil, fmt.Errorf("creating the conversation of the helper %s: %w", name, err)
	}
	return l, nil
}

// Open opens the conversation of a helper for writing. The caller closes the log.
func (c *Children) Open(ctx context.Context, name string) (*Log, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	path, err := c.find(name)
	if err != nil {
		return nil, err
	}
	unlock, err := c.store.fs.Lock(path)
	if err != nil {
		return nil, err
	}
	l, err := c.store.open(path, "")
	if err != nil {
		unlock()
		return nil, err
	}
	l.unlock, l.dir = unlock, filepath.Dir(c.dir)
	return l, nil
}

// View opens the conversation of a helper for reading, even while it is open for writing.
func (c *Children) View(ctx context.Context, name string) (*Log, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	path, err := c.find(name)
	if err != nil {
		return nil, err
	}
	l, _, _, err := c.store.read(path, "")
	return l, err
}

// find returns the path of a conversation. The file must be regular: the directory is the user's, but not what a link leads to.
func (c *Children) find(name string) (string, error) {
	if err := checkChild(name); err != nil {
		return "", err
	}
	info, err := c.store.fs.Lstat(c.path(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%w: the helper %s", ErrNotFound, name)
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", &CorruptError{Path: c.path(name), Line: 1, Reason: "it is not a regular file"}
	}
	return c.path(name), nil
}

// PutReport stores the last report of a helper that has a conversation.
func (c *Children) PutReport(ctx context.Context, name string, report []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	path, err := c.find(name)
	if err != nil {
		return err
	}
	return c.store.replace(strings.TrimSuffix(path, fileSuffix)+reportSuffix, report, c.store.opts.Sync != SyncNever)
}

// Report returns the last report of a helper. The error for a helper without one wraps [fs.ErrNotExist].
func (c *Children) Report(ctx context.Context, name string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := checkChild(name); err != nil {
		return nil, err
	}
	return c.store.fs.ReadFile(filepath.Join(c.dir, name+reportSuffix))
}

const (
	// localScheme is the start of the address of a local file: "local://plan.md".
	localScheme = "local://"
	// localDir is the name of the directory of local files in the directory of a session's artifacts.
	localDir = "local"
)

// Limits of local files: bytes of one and of all, files, bytes of a name, and directories in it.
const (
	maxLocalFile  = 1 << 20
	maxLocalBytes = 16 << 20
	maxLocalFiles = 200
	maxLocalName  = 200
	maxLocalDepth = 5
)

// ErrLocalName is wrapped by the error for an address that names no local file.
var ErrLocalName = errors.New("invalid local:// address")

// Local is a directory with texts that a session and its helpers write for themselves, such as a plan. It lies outside of the
// workspace, and is moved, copied and deleted with the session. It is safe for concurrent use.
type Local struct {
	dir   string
	store *Store
	mu    *sync.Mutex // held while a file is written
}

// Local returns the local files of the session. It does no I/O.
func (l *Log) Local() *Local {
	return &Local{dir: filepath.Join(l.ArtifactDir(), localDir), store: l.store, mu: new(sync.Mutex)}
}

// Read returns the content of a file. The error for a file that does not exist wraps [fs.ErrNotExist].
func (f *Local) Read(ctx context.Context, address string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	name, err := localName(address)
	if err != nil {
		return nil, err
	}
	size, err := f.stat(name)
	if err != nil {
		return nil, err
	}
	if size > maxLocalFile {
		return nil, fmt.Errorf("%s has %d bytes; a local file has at most %d", address, size, maxLocalFile)
	}
	return f.store.fs.ReadFile(f.path(name))
}

// Write replaces the content of a file, or creates the file. Another process never sees a part of the content.
func (f *Local) Write(ctx context.Context, address string, data []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	name, err := localName(address)
	if err != nil {
		return err
	}
	if len(data) > maxLocalFile {
		return fmt.Errorf("the content has %d bytes; a local file has at most %d", len(data), maxLocalFile)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all, err := f.list()
	if err != nil {
		return err
	}
	delete(all, name)
	total := int64(len(data))
	for _, size := range all {
		total += size
	}
	switch {
	case len(all) >= maxLocalFiles:
		return fmt.Errorf("the session has %d local files, and can have no more", len(all))
	case total > maxLocalBytes:
		return fmt.Errorf("the local files of the session would have %d bytes; they have at most %d", total, maxLocalBytes)
	}
	if err := f.store.fs.MkdirAll(filepath.Dir(f.path(name)), dirPerm); err != nil {
		return err
	}
	return f.store.replace(f.path(name), data, f.store.opts.Sync != SyncNever)
}

// List returns the sizes of the files, by their names.
func (f *Local) List(ctx context.Context) (map[string]int64, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return f.list()
}

func (f *Local) list() (map[string]int64, error) {
	all := make(map[string]int64)
	err := walkLocal(f.store.fs, f.dir, "", func(name string) error {
		info, err := f.store.fs.Lstat(f.path(name))
		if err == nil {
			all[name] = info.Size()
		}
		return ignoreMissing(err)
	})
	return all, err
}

// walkLocal calls fn with the name of each file in dir. It follows no symbolic links, and ignores what is not a local file.
func walkLocal(fsys FileSystem, dir, below string, fn func(name string) error) error {
	if strings.Count(below, "/") > maxLocalDepth {
		return nil
	}
	entries, err := fsys.ReadDir(filepath.Join(dir, filepath.FromSlash(below)))
	if err != nil {
		return ignoreMissing(err)
	}
	for _, e := range entries {
		name := path.Join(below, e.Name())
		if _, err := localName(localScheme + name); err != nil {
			continue // such as a temporary file
		}
		switch {
		case e.Type().IsRegular():
			err = fn(name)
		case e.IsDir():
			err = walkLocal(fsys, dir, name, fn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f *Local) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// stat returns the size of a file. It returns an error for anything else, also if it is reached by a symbolic link.
func (f *Local) stat(name string) (int64, error) {
	parts := strings.Split(name, "/")
	for i := -1; i < len(parts); i++ {
		at := strings.Join(parts[:i+1], "/") // first the directory itself
		info, err := f.store.fs.Lstat(f.path(at))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return 0, fmt.Errorf("there is no %s%s: %w", localScheme, name, fs.ErrNotExist)
		case err != nil:
			return 0, err
		case i < len(parts)-1 && !info.IsDir():
			return 0, fmt.Errorf("%w: %s%s is not a directory", ErrLocalName, localScheme, at)
		case i == len(parts)-1 && info.IsDir():
			return 0, fmt.Errorf("%w: %s%s is a directory", ErrLocalName, localScheme, at)
		case i == len(parts)-1 && !info.Mode().IsRegular():
			return 0, fmt.Errorf("%w: %s%s is not a regular file", ErrLocalName, localScheme, at)
		case i == len(parts)-1:
			return info.Size(), nil
		}
	}
	return 0, nil
}

// localName returns the slash-separated name in an address. A name is valid on every system, and leads nowhere else.
func localName(address string) (string, error) {
	name, ok := strings.CutPrefix(address, localScheme)
	parts := strings.Split(name, "/")
	valid := ok && len(name) <= maxLocalName && len(parts) <= maxLocalDepth && filepath.IsLocal(filepath.FromSlash(name))
	for _, part := range parts {
		valid = valid && part != "" && part[0] != '.' && !strings.HasSuffix(part, ".") && strings.TrimSpace(part) == part &&
			!strings.ContainsFunc(part, func(r rune) bool {
				return unicode.IsControl(r) || r == unicode.ReplacementChar || strings.ContainsRune(`\:*?"<>|`, r)
			})
	}
	if !valid {
		return "", fmt.Errorf("%w %.200q: a name is like %splan.md or %snotes/a.md, has at most %d bytes, and no part that begins with a dot",
			ErrLocalName, address, localScheme, localScheme, maxLocalName)
	}
	return name, nil
}

// copyLocal copies the local files of a session. They can change, so it makes no links.
func (s *Store) copyLocal(ctx context.Context, from, to string) error {
	from, to = filepath.Join(from, localDir), filepath.Join(to, localDir)
	return walkLocal(s.fs, from, "", func(name string) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		data, err := s.fs.ReadFile(filepath.Join(from, filepath.FromSlash(name)))
		if err != nil {
			return ignoreMissing(err)
		}
		target := filepath.Join(to, filepath.FromSlash(name))
		if err := s.fs.MkdirAll(filepath.Dir(target), dirPerm); err != nil {
			return err
		}
		return s.replace(target, data, false)
	})
}
