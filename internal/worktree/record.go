package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// The names in the directory of a worktree.
const (
	lockName    = "lock"
	recordName  = "worktree.json"
	treeName    = "tree"
	objectsName = "objects"
	maxRecord   = 1 << 30
	// listLockSuffix makes the name of a lock file from that of the directory of all worktrees, listLockWait bounds a removal's wait for it.
	listLockSuffix = ".lock"
	listLockWait   = 10 * time.Second
)

// record describes a worktree on disk, so that it can be cleaned up after a crash.
type record struct {
	// Source is the top of the working tree that was copied.
	Source string `json:"source"`
	// Name is the name of the directory with the files.
	Name string `json:"name"`
	// Ready reports that the copy was complete. Before that nothing can have been changed in it.
	Ready        bool             `json:"ready"`
	Repositories []repositoryCopy `json:"repositories"`
	// Shared are the ignored directories and files that were linked or copied.
	Shared []string `json:"shared,omitempty"`
	// Base are the files at the beginning, by their slash-separated paths.
	Base map[string]entry `json:"base,omitempty"`
}

// repositoryCopy is the copy of one repository: of the outermost one, a submodule, or a repository inside of it.
type repositoryCopy struct {
	// Path is its directory in the worktree, slash-separated; empty for the outermost one.
	Path string `json:"path,omitempty"`
	// Common is the directory of the repository, and Admin the one of the worktree in it.
	Common string `json:"common"`
	Admin  string `json:"admin,omitempty"`
	Head   string `json:"head"`
	// Dirty are the files that differed from the index or were untracked, relative to Path.
	Dirty []string `json:"dirty,omitempty"`
}

// entry is the state of a file.
type entry struct {
	Kind kind `json:"kind"`
	// Hash is git's name of the content; that of a symbolic link is its target.
	Hash string `json:"hash"`
}

// kind is the kind of a file, as the mode that git stores.
type kind string

const (
	regular    kind = "100644"
	executable kind = "100755"
	symlink    kind = "120000"
)

// store writes the record. The caller holds the lock.
func (w *Worktree) store() error {
	data, err := jsonx.Marshal(&w.record)
	if err != nil {
		return err
	}
	path := filepath.Join(w.dir, recordName)
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// load opens the record in a directory.
func load(dir string) (*record, error) {
	path := filepath.Join(dir, recordName)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRecord {
		return nil, fmt.Errorf("%s is not a record of gjc's", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := jsonx.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !filepath.IsAbs(r.Source) || r.Name == "" || filepath.Base(r.Name) != r.Name {
		return nil, fmt.Errorf("%s is not a record of gjc's", path)
	}
	return r, nil
}

// lock acquires the lock of a worktree's directory. It reports false if another process has it.
func lock(dir string) (*flock.Flock, bool, error) {
	l := flock.New(filepath.Join(dir, lockName), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	return l, ok, err
}

// lockList waits for the lock under which worktrees in dir are added to repositories and removed from them.
func lockList(ctx context.Context, dir string) (unlock func(), err error) {
	l := flock.New(dir+listLockSuffix, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	if _, err := l.TryLockContext(ctx, 2*time.Millisecond); err != nil {
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	return func() { _ = l.Close() }, nil // the lock ends with the process in any case
}

// Left is a worktree of a process that has ended without removing it.
type Left struct {
	// Path is where its files are, Source where they come from.
	Path, Source string
	// Changed is the number of changed files.
	Changed int
	// Err says why it could not be inspected or removed.
	Err error
}

// Sweep removes the worktrees in dir whose processes have ended, if nothing was changed in them. It returns the others, which stay.
func (g *Git) Sweep(ctx context.Context, dir string) ([]Left, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var left []Left
	for _, e := range entries {
		if !e.IsDir() || ctx.Err() != nil {
			continue
		}
		if l := g.sweep(ctx, filepath.Join(dir, e.Name())); l != nil {
			left = append(left, *l)
		}
	}
	return left, context.Cause(ctx)
}

// sweep is [Git.Sweep] for one worktree; nil if it is used or removed.
func (g *Git) sweep(ctx context.Context, dir string) *Left {
	l, ok, err := lock(dir)
	if err != nil {
		return &Left{Path: dir, Err: err}
	}
	if !ok {
		return nil
	}
	w := &Worktree{git: g, dir: dir, lock: l}
	defer w.unlock()
	r, err := load(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.RemoveAll(dir); err != nil { // a process has ended before it began
			return &Left{Path: dir, Err: err}
		}
		return nil
	}
	if err != nil {
		return &Left{Path: dir, Err: err}
	}
	w.record = *r
	about := &Left{Path: w.Top(), Source: r.Source}
	if _, err := os.Lstat(w.Top()); err == nil && r.Ready {
		changes, err := w.Changes(ctx)
		if about.Changed, about.Err = len(changes), err; err != nil || len(changes) > 0 {
			return about
		}
	}
	if about.Err = w.remove(); about.Err != nil {
		return about
	}
	return nil
}

// Remove removes the worktree, whatever was changed in it, and what the repository knows of it.
func (w *Worktree) Remove() error { return w.remove() }

func (w *Worktree) remove() error {
	var errs []error
	if w.record.Ready { // a process that is killed from here on leaves what can go
		w.record.Ready = false
		errs = append(errs, w.store())
	}
	for i := len(w.record.Repositories) - 1; i >= 0; i-- {
		errs = append(errs, w.forget(&w.record.Repositories[i]))
	}
	errs = append(errs, removeAll(filepath.Join(w.dir, treeName)))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("removing the worktree %s: %w", w.Top(), err)
	}
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lockName {
			errs = append(errs, removeAll(filepath.Join(w.dir, e.Name())))
		}
	}
	w.unlock() // Windows removes no file that is open
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

// forget removes the directories of the worktree in a repository: those with its name, whatever the files of the worktree say, also if git
// was killed before they were complete.
func (w *Worktree) forget(c *repositoryCopy) error {
	all := filepath.Join(c.Common, "worktrees")
	entries, err := os.ReadDir(all)
	if err != nil {
		return nil //nolint:nilerr // the repository is gone, or has none
	}
	ctx, cancel := context.WithTimeout(context.Background(), listLockWait) // what is removed is removed also after a cancellation
	defer cancel()
	if unlock, err := lockList(ctx, filepath.Dir(w.dir)); err == nil { // without it, another process that adds one may have to try again
		defer unlock()
	}
	for _, e := range entries {
		if name := adminName(w.dir); e.Name() != name && !strings.HasPrefix(e.Name(), name+".") {
			continue
		}
		if err := os.RemoveAll(filepath.Join(all, e.Name())); err != nil {
			return err
		}
	}
	_ = os.Remove(all) // it fails if another worktree is there
	return nil
}

// forgetVanished removes what a repository knows of worktrees in a directory that are not there any more: a git that runs on when its gjc was
// killed can make some of it after [Git.Sweep].
func forgetVanished(r *repository, dir string) {
	all := filepath.Join(r.common, "worktrees")
	entries, err := os.ReadDir(all)
	if err != nil {
		return // there are none
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return // it is not there yet
	}
	live := make(map[string]bool)
	for _, e := range there {
		live[adminName(filepath.Join(dir, e.Name()))] = true
	}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		if strings.HasPrefix(name, adminPrefix(dir)) && !live[name] {
			_ = os.RemoveAll(filepath.Join(all, e.Name())) // the next one tries again
		}
	}
}

// adminPrefix begins the names under which repositories know the worktrees in a directory.
func adminPrefix(dir string) string { return "gjc-" + shortHash(dir) + "-" }

// adminName is the name under which the first repository knows the worktree with a directory. The next ones have a dot and a number after it.
func adminName(dir string) string {
	return adminPrefix(filepath.Dir(dir)) + shortHash(filepath.Base(dir))
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

func (w *Worktree) unlock() {
	if w.lock != nil {
		_ = w.lock.Close() // the lock ends with the process in any case
		w.lock = nil
	}
}

// removeAll is [os.RemoveAll] also for directories that are read-only.
func removeAll(path string) error {
	if err := os.RemoveAll(path); err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // it is to be removed, which fails otherwise
		}
		return nil
	})
	return os.RemoveAll(path)
}
