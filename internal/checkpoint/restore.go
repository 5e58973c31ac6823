package checkpoint

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// State is a file, link or directory in a recorded state.
type State struct {
	typ  entryType
	Perm fs.FileMode // of a file or directory
	Size int64       // of a file
	hash hash
}

// File reports whether it is a regular file whose content is recorded.
func (s *State) File() bool { return s != nil && s.typ == fileEntry }

// Skipped reports that the file was only noted. It is not restored.
func (s *State) Skipped() bool { return s != nil && s.typ == skippedEntry }

// Directory reports whether it is a directory.
func (s *State) Directory() bool { return s != nil && s.typ == dirEntry }

// Change is the difference of two states at one path.
type Change struct {
	// Path is relative to the tree, in slash form.
	Path string
	// From and To are what is there; nil for nothing.
	From, To *State
}

// Verb returns what the change does to a file, as a word.
func (c *Change) Verb() string {
	switch {
	case c.From == nil:
		return "create"
	case c.To == nil:
		return "delete"
	default:
		return "change"
	}
}

// Changes returns how the state of one point becomes that of another, sorted by path. Nothing is in it for what was only noted.
func (t *Tree) Changes(ctx context.Context, from, to *Point) ([]Change, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	stop := t.db.interrupt(ctx)
	defer stop()
	var all []Change
	err := t.diff("", from.tree, to.tree, &all)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return all, err
}

// diff appends the differences of two directories. A zero hash is no directory.
func (t *Tree) diff(rel string, from, to hash, all *[]Change) error {
	if from == to {
		return nil
	}
	a, err := t.optional(from)
	if err != nil {
		return err
	}
	b, err := t.optional(to)
	if err != nil {
		return err
	}
	for len(a) > 0 || len(b) > 0 {
		var x, y *entry
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = strings.Compare(a[0].name, b[0].name)
		}
		if order <= 0 {
			x, a = &a[0], a[1:]
		}
		if order >= 0 {
			y, b = &b[0], b[1:]
		}
		if err := t.diffEntry(joinRel(rel, cmp.Or(x, y).name), x, y, all); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tree) optional(h hash) ([]entry, error) {
	if h == (hash{}) {
		return nil, nil
	}
	return t.db.entries(h)
}

func (t *Tree) diffEntry(rel string, x, y *entry, all *[]Change) error {
	if x != nil && y != nil && *x == *y {
		return nil
	}
	var from, to hash
	if x != nil && x.typ == dirEntry {
		from = x.hash
	}
	if y != nil && y.typ == dirEntry {
		to = y.hash
	}
	c := Change{Path: rel, From: stateOf(x), To: stateOf(y)}
	bothDirectories := c.From.Directory() && c.To.Directory()
	if !c.From.Skipped() && !c.To.Skipped() && (!bothDirectories || c.From.Perm != c.To.Perm) {
		*all = append(*all, c)
	}
	return t.diff(rel, from, to, all)
}

func stateOf(e *entry) *State {
	if e == nil {
		return nil
	}
	return &State{typ: e.typ, Perm: fs.FileMode(e.perm), Size: e.size, hash: e.hash}
}

// Content writes the content of a file, or the target of a link.
func (t *Tree) Content(ctx context.Context, s *State, w io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(ctx); err != nil {
		return err
	}
	return t.db.writeContent(w, s.hash)
}

// temporaryPrefix begins the names of files that are being restored. They are never recorded.
const temporaryPrefix = ".gjc-restoring-"

// Problem is a path that could not be restored.
type Problem struct {
	Path string
	Err  error
}

// String describes the problem for people.
func (p Problem) String() string { return p.Path + ": " + p.Err.Error() }

// errNotEmpty reports a directory that stays, because it has files that are not recorded.
var errNotEmpty = errors.New("the directory has files that are ignored or too large, so it stays")

// Restore applies changes to the directory itself. Whole files are replaced in one step; a file is never seen half written. It goes on
// after a path that cannot be restored, and returns the problems. It never leaves the tree, wherever links in it lead.
func (t *Tree) Restore(ctx context.Context, changes []Change) ([]Problem, error) {
	return t.RestoreIn(ctx, t.dir, changes)
}

// RestoreIn is [Tree.Restore] for a copy of the tree in another directory.
func (t *Tree) RestoreIn(ctx context.Context, dir string, changes []Change) (problems []Problem, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	// With the database locked no other process restores, so a leftover of one is known for what it is.
	if err := t.db.begin(); err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, t.db.commit()) }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // a directory
	r := &restorer{db: t.db, root: root, opened: make(map[string]fs.FileMode)}
	each := func(list []Change, do func(*Change) error) {
		for i := range list {
			if ctx.Err() != nil {
				return
			}
			if err := do(&list[i]); err != nil {
				problems = append(problems, Problem{list[i].Path, err})
			}
		}
	}
	down := slices.Clone(changes)
	slices.SortFunc(down, func(a, b Change) int { return strings.Compare(b.Path, a.Path) })
	up := slices.Clone(down)
	slices.Reverse(up)
	each(down, r.remove)
	each(up, r.create)
	each(down, r.mode)
	r.end()
	if ctx.Err() != nil {
		return problems, context.Cause(ctx)
	}
	return problems, nil
}

// removeLeftovers removes what a process has left that was killed while it restored files.
func (t *Tree) removeLeftovers() error {
	if len(t.index.leftovers) == 0 {
		return nil
	}
	if err := t.db.begin(); err != nil {
		return err
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // a directory
	for _, rel := range t.index.leftovers {
		_ = root.Remove(filepath.FromSlash(rel)) // it is never recorded, so it does no harm
	}
	t.index.leftovers = nil
	return nil
}

// restorer changes files.
type restorer struct {
	db   *database
	root *os.Root
	// opened has the modes of directories that were made writable.
	opened map[string]fs.FileMode
}

// remove removes what is in the way, deepest first.
func (r *restorer) remove(c *Change) error {
	if c.From == nil || c.To != nil && c.From.Directory() == c.To.Directory() {
		return nil // renaming replaces it
	}
	err := r.within(c.Path, func() error { return r.root.Remove(filepath.FromSlash(c.Path)) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && c.From.Directory() && c.To == nil && r.full(c.Path):
		return errNotEmpty
	default:
		return err
	}
}

// full reports whether a directory has entries.
func (r *restorer) full(rel string) bool {
	d, err := r.root.Open(filepath.FromSlash(rel))
	if err != nil {
		return false
	}
	defer func() { _ = d.Close() }() // read only
	_, err = d.Readdirnames(1)
	return err == nil
}

// create makes a file, link or directory.
func (r *restorer) create(c *Change) error {
	name := filepath.FromSlash(c.Path)
	switch {
	case c.To == nil || c.From.Directory() && c.To.Directory():
		return nil
	case c.To.Directory():
		return r.within(c.Path, func() error {
			err := r.root.Mkdir(name, 0o700)
			if errors.Is(err, fs.ErrExist) {
				if info, statErr := r.root.Lstat(name); statErr == nil && info.IsDir() {
					return nil
				}
			}
			return err
		})
	default:
		return r.within(c.Path, func() error { return r.file(name, c.To) })
	}
}

// file makes a file or a link under another name, and renames it.
func (r *restorer) file(name string, s *State) (err error) {
	if dir := filepath.Dir(name); dir != "." {
		if err := r.root.MkdirAll(dir, 0o755); err != nil { // the directory is part of both states, and was removed meanwhile
			return err
		}
	}
	temporary := filepath.Join(filepath.Dir(name), temporaryPrefix+rand.Text()[:8])
	defer func() {
		if err != nil {
			_ = r.root.Remove(temporary)
		}
	}()
	if s.typ == linkEntry {
		var target strings.Builder
		if err := r.db.writeContent(&target, s.hash); err != nil {
			return err
		}
		if err := r.root.Symlink(target.String(), temporary); err != nil {
			return err
		}
		return r.root.Rename(temporary, name)
	}
	f, err := r.root.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = r.db.writeContent(f, s.hash)
	if err == nil {
		err = f.Chmod(s.Perm)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return r.root.Rename(temporary, name)
}

// mode sets the modes of directories, when nothing in them is left to do.
func (r *restorer) mode(c *Change) error {
	if !c.To.Directory() {
		return nil
	}
	delete(r.opened, c.Path)
	return r.root.Chmod(filepath.FromSlash(c.Path), c.To.Perm)
}

// within does something in the directory of a path, and makes it writable if it must.
func (r *restorer) within(rel string, do func() error) error {
	err := do()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	dir := path.Dir(rel)
	info, statErr := r.root.Stat(filepath.FromSlash(dir))
	if statErr != nil || info.Mode().Perm()&0o700 == 0o700 {
		return err
	}
	if _, ok := r.opened[dir]; !ok {
		r.opened[dir] = info.Mode().Perm()
	}
	if chmodErr := r.root.Chmod(filepath.FromSlash(dir), info.Mode().Perm()|0o700); chmodErr != nil {
		return fmt.Errorf("%w (%w)", err, chmodErr)
	}
	return do()
}

// end restores the modes of directories that are in both states.
func (r *restorer) end() {
	for dir, perm := range r.opened {
		_ = r.root.Chmod(filepath.FromSlash(dir), perm) // it was the owner's a moment ago, or it is gone
	}
}
