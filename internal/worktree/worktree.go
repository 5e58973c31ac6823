// Package worktree makes working trees of a git repository for work that must not touch the user's: with the uncommitted changes, the
// untracked files and the submodules of the user's one.
//
// A worktree is a linked working tree of git's with a detached HEAD and a copy of the index, so that git reports in it what it reports in
// the user's. Its files are copied byte by byte: no filter and no hook runs. HEAD, index, branches, stash and configuration of the user's
// stay as they are. The record of a worktree, its contents at the beginning, and its files are in a directory of gjc's, which is locked
// while a process uses it. [Git.Sweep] removes what a killed process has left.
package worktree

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/gofrs/flock"
)

// Options describe a worktree.
type Options struct {
	// Dir is the directory of all worktrees. Required.
	Dir string
	// Root is a directory in the working tree that is copied as a whole. Required.
	Root string
	// ID names the worktree, so that [Git.Open] finds it; a random one if empty.
	ID string
	// Link and Copy are patterns of ignored files and directories that the worktree has nevertheless: as a symbolic link to those of the
	// user's, or as a copy. A pattern without a slash matches at any depth, such as "node_modules".
	Link, Copy []string
	// Prepare changes the files before the worktree begins: what it changes is part of the state that later changes are compared with.
	// It must not use the worktree but for Top and Dir. Optional.
	Prepare func(ctx context.Context, w *Worktree) error
}

// Maker makes worktrees that have the same directory and settings.
type Maker struct {
	Git *Git
	// Dir, Link and Copy are those of [Options].
	Dir        string
	Link, Copy []string
	// Sessions is the directory of the worktrees that last as long as a session.
	Sessions string
	// Always reports that the user wants one for each new session.
	Always bool
	// Swept is shared by all makers of the process. Optional.
	Swept *sync.Once
}

// New makes a worktree of the working tree that has the directory root. The caller must call Remove or Keep.
func (m *Maker) New(ctx context.Context, root string) (*Worktree, error) {
	return m.Git.New(ctx, &Options{Dir: m.Dir, Root: root, Link: m.Link, Copy: m.Copy})
}

// Sweep is [Git.Sweep] for the directory of all worktrees. It does nothing after its first call for any of the makers that share Swept.
func (m *Maker) Sweep(ctx context.Context) (left []Left, err error) {
	once := m.Swept
	if once == nil {
		once = new(sync.Once)
	}
	once.Do(func() { left, err = m.Git.Sweep(ctx, m.Dir) })
	return left, err
}

// Worktree is a worktree that this process uses. It is not safe for concurrent use.
type Worktree struct {
	git    *Git
	dir    string
	lock   *flock.Flock
	record record
}

// New makes a worktree. The caller must call Remove or Keep.
func (g *Git) New(ctx context.Context, o *Options) (*Worktree, error) {
	if err := g.version(ctx); err != nil {
		return nil, err
	}
	r, err := g.open(ctx, o.Root)
	if err != nil {
		return nil, err
	}
	w, err := g.directory(o.Dir, o.ID)
	if err != nil {
		return nil, err
	}
	w.record = record{Source: r.top, Name: filepath.Base(r.top), Base: make(map[string]entry)}
	if w.record.Name == string(filepath.Separator) {
		w.record.Name = "root"
	}
	err = w.fill(ctx, r, o)
	if err == nil {
		return w, nil
	}
	if removeErr := w.remove(); removeErr != nil {
		err = errors.Join(err, removeErr)
	}
	return nil, err
}

// ErrInUse reports that another process uses a worktree.
var ErrInUse = errors.New("another process uses the worktree")

// Open returns the worktree in dir whose ID was chosen by its maker, and that no process uses. The error wraps [fs.ErrNotExist] if there is
// none, and [ErrInUse]. The caller must call Remove or Keep.
func (g *Git) Open(ctx context.Context, dir, id string) (*Worktree, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(dir, id))
	if err != nil {
		return nil, err
	}
	l, ok, err := lock(dir)
	if err != nil {
		return nil, err
	}
	w := &Worktree{git: g, dir: dir, lock: l}
	if !ok {
		return nil, fmt.Errorf("%w %s", ErrInUse, dir)
	}
	err = w.reopen(ctx)
	if err != nil {
		w.unlock()
		return nil, err
	}
	return w, nil
}

// reopen reads the record, and removes a worktree whose maker was killed before it was complete.
func (w *Worktree) reopen(ctx context.Context) error {
	r, err := load(w.dir)
	if err == nil {
		w.record = *r
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !w.record.Ready {
		return errors.Join(&fs.PathError{Op: "open", Path: w.dir, Err: fs.ErrNotExist}, w.remove())
	}
	if info, err := os.Lstat(w.Top()); err != nil || !info.IsDir() {
		return fmt.Errorf("the files of the worktree are gone from %s", w.Top())
	}
	for i := range w.record.Repositories {
		r, err := w.repository(&w.record.Repositories[i])
		if err == nil {
			_, err = w.git.do(ctx, &run{dir: r.top, repository: r}, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
		}
		if err != nil {
			return fmt.Errorf("the worktree %s cannot be used: %w", w.Top(), err)
		}
	}
	return nil
}

// checkID returns an error for an ID that is no file name.
func checkID(id string) error {
	if id == "" || id == "." || id == ".." || strings.ContainsAny(id, `/\`) {
		return fmt.Errorf("%q is no ID for a worktree", id)
	}
	return nil
}

// directory makes the directory of a worktree and locks it. Without an ID its name is a random one.
func (g *Git) directory(parent, id string) (*Worktree, error) {
	if id != "" {
		if err := checkID(id); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	parent, err := filepath.EvalSymlinks(parent) // git resolves it, too
	if err != nil {
		return nil, err
	}
	for {
		name := id
		if name == "" {
			var random [4]byte
			_, _ = rand.Read(random[:]) // it never fails
			name = hex.EncodeToString(random[:])
		}
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o700); errors.Is(err, fs.ErrExist) && id == "" {
			continue
		} else if err != nil {
			return nil, err
		}
		l, ok, err := lock(dir)
		if ok {
			return &Worktree{git: g, dir: dir, lock: l}, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("locking %s: %w", dir, err)
		}
		// Another process has swept it in between.
	}
}

// ID is the worktree's unique name.
func (w *Worktree) ID() string { return filepath.Base(w.dir) }

// Top is the top of the worktree.
func (w *Worktree) Top() string { return filepath.Join(w.dir, treeName, w.record.Name) }

// Dir returns the directory in the worktree that corresponds to one in the copied working tree.
func (w *Worktree) Dir(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	top, err := filepath.EvalSymlinks(w.record.Source)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(top, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is not in the repository %s", dir, w.record.Source)
	}
	to := filepath.Join(w.Top(), rel)
	if info, err := os.Stat(to); err != nil || !info.IsDir() { // a directory without files, or an ignored one
		if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // as git makes directories
			return "", err
		}
	}
	return to, nil
}

// Keep ends this process's use of the worktree and lets its files stay. [Git.Sweep] returns it if it has changes.
func (w *Worktree) Keep() { w.unlock() }

// indexName is the name of the copy of a repository's index.
func indexName(i int) string { return fmt.Sprintf("index%d", i) }

// fill copies the state of the repository and everything in it.
func (w *Worktree) fill(ctx context.Context, r *repository, o *Options) error {
	if err := os.Mkdir(filepath.Join(w.dir, treeName), 0o700); err != nil {
		return err
	}
	if err := w.add(ctx, r, ""); err != nil {
		return err
	}
	if err := w.share(ctx, r, o); err != nil {
		return err
	}
	if o.Prepare != nil {
		if err := o.Prepare(ctx, w); err != nil {
			return err
		}
		if err := w.rebase(ctx); err != nil {
			return err
		}
	}
	if err := w.hashAll(ctx); err != nil {
		return err
	}
	w.record.Ready = true
	return w.store()
}

// rebase makes the present files those at the beginning.
func (w *Worktree) rebase(ctx context.Context) (err error) {
	if w.record.Base, err = w.present(ctx); err != nil {
		return err
	}
	for i := range w.record.Repositories {
		c := &w.record.Repositories[i]
		r, err := w.repository(c)
		if err != nil {
			return err
		}
		_, quiet, err := w.git.filters(ctx, r)
		if err != nil {
			return err
		}
		if c.Dirty, err = w.git.uncommitted(ctx, r, quiet); err != nil {
			return err
		}
	}
	return nil
}

// add makes the worktree of one repository, and of those in it. at is its slash-separated path in the outermost one.
func (w *Worktree) add(ctx context.Context, r *repository, at string) error {
	if err := r.check(); err != nil {
		return err
	}
	_, quiet, err := w.git.filters(ctx, r)
	if err != nil {
		return err
	}
	dirty, err := w.git.uncommitted(ctx, r, quiet)
	if err != nil {
		return err
	}
	files, err := w.git.list(ctx, r, true)
	if err != nil {
		return err
	}
	w.record.Repositories = append(w.record.Repositories, repositoryCopy{Path: at, Common: r.common, Head: r.head, Dirty: dirty})
	c := &w.record.Repositories[len(w.record.Repositories)-1]
	if err := w.store(); err != nil { // so that it can be cleaned up
		return err
	}
	to := filepath.Join(w.Top(), filepath.FromSlash(at))
	if c.Admin, err = w.addTo(ctx, r, to); err != nil {
		return err
	}
	if err := w.copyIndex(r, c, len(w.record.Repositories)-1); err != nil {
		return err
	}
	inner, err := w.nested(ctx, r, files)
	if err != nil {
		return err
	}
	copied, err := copyFiles(ctx, r.top, to, files.files)
	if err != nil {
		return err
	}
	for name, k := range copied {
		w.record.Base[path.Join(at, name)] = entry{Kind: k}
	}
	for _, name := range files.submodules {
		// One that is not checked out is an empty directory, as git makes it.
		if err := os.MkdirAll(filepath.Join(to, filepath.FromSlash(name)), 0o755); err != nil { //nolint:gosec // as git makes directories
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(inner)) {
		if err := w.add(ctx, inner[name], path.Join(at, name)); err != nil {
			return err
		}
	}
	return nil
}

// nested returns the repositories in a repository, by their paths. The files of one that is neither a submodule nor has a commit are added
// to those of the outer one.
func (w *Worktree) nested(ctx context.Context, r *repository, files *listing) (map[string]*repository, error) {
	all := make(map[string]*repository)
	for _, name := range slices.Concat(files.submodules, files.embedded) {
		at := filepath.Join(r.top, filepath.FromSlash(name))
		inner, err := w.git.open(ctx, at)
		switch {
		case err == nil && sameDir(at, inner.top):
			all[name] = inner
		case err != nil && !errors.Is(err, ErrNoCommit) && !errors.Is(err, ErrNotRepository) && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case slices.Contains(files.embedded, name):
			plain, err := walk(r.top, name)
			if err != nil {
				return nil, err
			}
			files.files = append(files.files, plain...)
		}
	}
	return all, nil
}

// sameDir reports whether two paths are the same directory.
func sameDir(a, b string) bool {
	first, err := os.Stat(a)
	second, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(first, second)
}

// addTo lets git make a worktree of a repository without files, and returns its directory in the repository. git names that after the last
// part of the path. So that it can be found whatever happens, the worktree is made under a name of gjc's, and then moved.
func (w *Worktree) addTo(ctx context.Context, r *repository, to string) (admin string, err error) {
	forgetVanished(r, filepath.Dir(w.dir))
	name := adminName(w.dir)
	if n := len(w.record.Repositories); n > 1 {
		name += fmt.Sprintf(".%d", n)
	}
	at := filepath.Join(w.dir, treeName, name)
	if err := w.addWorktree(ctx, r, at); err != nil {
		return "", err
	}
	if admin, err = adminOf(at); err != nil {
		return "", err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) { // the directory of a submodule
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // as git makes directories
		return "", err
	}
	if err := os.Rename(at, to); err != nil {
		return "", err
	}
	path := filepath.Join(admin, "gitdir")
	if err := os.WriteFile(path+".new", []byte(filepath.ToSlash(filepath.Join(to, ".git"))+"\n"), 0o644); err != nil { //nolint:gosec // as git makes it
		return "", err
	}
	return admin, os.Rename(path+".new", path)
}

// addWorktree runs "git worktree add". That reads the repository's other worktrees, and fails if one of them is half made, or if the
// directory of all of them is removed with the last one just before git puts its own there. So processes of gjc do it one after another, and
// it is tried again, since other programs make worktrees too.
func (w *Worktree) addWorktree(ctx context.Context, r *repository, at string) error {
	unlock, err := lockList(ctx, filepath.Dir(w.dir))
	if err != nil {
		return err
	}
	defer unlock()
	const tries = 5
	for range tries {
		_, err = w.git.do(ctx, &run{dir: r.top, repository: r}, "worktree", "add", "--quiet", "--detach", "--no-checkout", at, r.head)
		if e := new(gitError); !errors.As(err, &e) || !strings.Contains(e.stderr, "could not create directory of") && !strings.Contains(e.stderr, "failed to read") {
			return err
		}
	}
	return err
}

// adminOf returns the directory in the repository that a new worktree names.
func adminOf(tree string) (string, error) {
	data, err := os.ReadFile(filepath.Join(tree, ".git"))
	if err != nil {
		return "", err
	}
	admin, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s does not name a repository", filepath.Join(tree, ".git"))
	}
	return filepath.FromSlash(admin), nil
}

// repository returns a repository of the worktree. It checks that its files still lead to the user's repository, because git follows them.
func (w *Worktree) repository(c *repositoryCopy) (*repository, error) {
	top := filepath.Join(w.Top(), filepath.FromSlash(c.Path))
	shared, err := os.ReadFile(filepath.Join(c.Admin, "commondir"))
	if err != nil {
		return nil, err
	}
	common := filepath.FromSlash(strings.TrimSpace(string(shared)))
	if !filepath.IsAbs(common) {
		common = filepath.Join(c.Admin, common)
	}
	if !sameDir(common, c.Common) {
		return nil, fmt.Errorf("%s was changed: it leads to %s", filepath.Join(c.Admin, "commondir"), common)
	}
	return &repository{top: top, gitDir: c.Admin, common: c.Common, head: c.Head}, nil
}

// copyIndex copies the index of a repository: for the worktree, and for a commit at the end.
func (w *Worktree) copyIndex(r *repository, c *repositoryCopy, i int) error {
	data, err := os.ReadFile(filepath.Join(r.gitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // all files are removed
	}
	if err != nil {
		return err
	}
	// A split index has its larger part in another file.
	shared, err := filepath.Glob(filepath.Join(escapeGlob(r.gitDir), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, from := range shared {
		part, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if !bytes.Contains(data, []byte("link")) {
			continue // it belongs to another index
		}
		if err := os.WriteFile(filepath.Join(c.Admin, filepath.Base(from)), part, 0o600); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(filepath.Join(c.Admin, "index"), data, 0o600), os.WriteFile(filepath.Join(w.dir, indexName(i)), data, 0o600))
}

// escapeGlob escapes a path for [filepath.Glob].
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // there is no escape, and no such file name but for brackets
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// share links and copies the ignored files that the options name.
func (w *Worktree) share(ctx context.Context, r *repository, o *Options) error {
	if len(o.Link) == 0 && len(o.Copy) == 0 {
		return nil
	}
	ignored, err := w.git.ignored(ctx, r)
	if err != nil {
		return err
	}
	for _, name := range ignored {
		from, to := filepath.Join(r.top, filepath.FromSlash(name)), filepath.Join(w.Top(), filepath.FromSlash(name))
		link := matchesAny(o.Link, name)
		if !link && !matchesAny(o.Copy, name) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // as git makes directories
			return err
		}
		if link {
			err = os.Symlink(from, to)
		} else {
			err = copyTree(ctx, from, to)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		w.record.Shared = append(w.record.Shared, name)
	}
	return nil
}

// matchesAny reports whether a slash-separated path matches one of the patterns.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		pattern = strings.Trim(pattern, "/")
		if !strings.Contains(pattern, "/") {
			pattern = "**/" + pattern
		}
		ok, err := doublestar.Match(pattern, name)
		return err == nil && ok
	})
}

// isShared reports whether a path is one that was linked or copied, or lies in one.
func (w *Worktree) isShared(name string) bool {
	return slices.ContainsFunc(w.record.Shared, func(shared string) bool {
		return name == shared || strings.HasPrefix(name, shared+"/")
	})
}
