package checkpoint

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gajae-code/gjc/internal/gitignore"
)

// stamp has the attributes of a file by which a change is noticed.
type stamp struct {
	ino   uint64
	size  int64
	mtime int64 // nanoseconds
	ctime int64
	perm  uint32
	typ   entryType // 0 for what is not recorded, such as a socket
}

// settled reports whether a later change is sure to change the stamp: the file's times are older than the coarsest clock of a file system.
func (s *stamp) settled(now time.Time) bool {
	const coarse = 2 * time.Second
	return max(s.mtime, s.ctime) < now.Add(-coarse).UnixNano() // also false for a time in the future, after a clock was set back
}

// file is an entry of a directory that is no directory.
type file struct {
	entry
	stamp stamp
	// known says that the entry is that of the file with the stamp. A fresh one was changed so shortly before that another change may
	// have left the same stamp.
	known, fresh bool
}

// directory is a directory of the index.
type directory struct {
	name  string
	stamp stamp
	files []file // sorted by name
	dirs  []*directory

	// listed says that files and dirs have the names in a directory with this stamp, under these rules.
	listed, fresh bool
	rules         *gitignore.Rules // inside
	within        surroundings
	version       int // of the repository
	ignore        stamp
	git           bool // it contains a .git
	// ignored says that the directory matches an ignore rule, and is there for the tracked files in it.
	ignored bool

	// hash is the name of the tree object, if stored. perm is the mode in the object of the directory above.
	hash   hash
	perm   uint32
	stored bool
	// unsaved says that the directory differs from what the database has of it.
	unsaved bool
}

// surroundings hold what a directory inherits.
type surroundings struct {
	rules *gitignore.Rules
	// repo is the repository that the directory belongs to; nil for none.
	repo *repository
	// ignored says that only tracked files count.
	ignored bool
}

// index holds what is known of a tree. It belongs to the one who holds the tree's mutex, and to the scan that this one runs.
type index struct {
	root    *directory
	above   surroundings
	repos   []*repository
	removed []string // the relative paths of directories that are gone and that the database has
	// leftovers are files of a restoring process that was killed.
	leftovers []string
	skipped   int
	gear      *gear
}

func newIndex() *index { return &index{root: &directory{}, gear: newGear()} }

// restore makes the next store put everything into the database that is not there.
func (x *index) restore() {
	var each func(d *directory)
	each = func(d *directory) {
		d.stored = false
		for i := range d.files {
			d.files[i].known = false
		}
		for _, below := range d.dirs {
			each(below)
		}
	}
	each(x.root)
}

// scan finds the files whose attributes have changed.
func (x *index) scan(ctx context.Context, t *Tree) error {
	repo, err := x.surround(ctx, t)
	if err != nil {
		return err
	}
	s := &scan{ctx: ctx, tree: t, index: x, now: t.opts.Clock(), slots: make(chan struct{}, workers())}
	s.visit(x.root, t.dir, "", repo)
	s.running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return s.err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
	}
	if !x.root.listed {
		return fmt.Errorf("%s cannot be read", t.dir)
	}
	x.skipped = int(s.skipped.Load())
	return nil
}

// surround finds the repositories and the rules around the tree, and which repositories have changed.
func (x *index) surround(ctx context.Context, t *Tree) (surroundings, error) {
	for _, r := range x.repos {
		r.refresh(ctx, t)
	}
	var now surroundings
	if root := gitignore.Root(filepath.Dir(t.dir)); root != "" && gitignore.Root(t.dir) != t.dir {
		now.rules = gitignore.Above(root, t.dir, t.opts.GlobalIgnore, []string{gitignore.File})
		now.repo = x.repository(ctx, t, root)
	}
	if now.repo == x.above.repo && sameRules(now.rules, x.above.rules) {
		now = x.above // the pointers say that the rules are the same
	}
	x.above = now
	return now, nil
}

// repository returns the repository with a work tree.
func (x *index) repository(ctx context.Context, t *Tree, dir string) *repository {
	if i := slices.IndexFunc(x.repos, func(r *repository) bool { return r.dir == dir }); i >= 0 {
		return x.repos[i]
	}
	r := &repository{dir: dir}
	r.refresh(ctx, t)
	x.repos = append(x.repos, r)
	return r
}

// scan is one walk of a tree.
type scan struct {
	ctx     context.Context //nolint:containedctx // bounds this walk
	tree    *Tree
	index   *index
	now     time.Time
	slots   chan struct{}
	running sync.WaitGroup
	files   atomic.Int64
	bytes   atomic.Int64
	skipped atomic.Int64

	mu  sync.Mutex // guards err and the index's repositories and removed directories
	err error
}

func (s *scan) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = cmp.Or(s.err, err)
}

func (s *scan) failed() bool {
	if s.ctx.Err() != nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// below visits the directories of a directory, in other goroutines as far as there are slots.
func (s *scan) below(d *directory, path, rel string, in surroundings) {
	ignored := in.ignored
	for _, sub := range d.dirs {
		in.ignored = ignored || sub.ignored
		in := in
		visit := func() { s.visit(sub, path+string(filepath.Separator)+sub.name, joinRel(rel, sub.name), in) }
		select {
		case s.slots <- struct{}{}:
			s.running.Go(func() {
				defer func() { <-s.slots }()
				visit()
			})
		default:
			visit()
		}
	}
}

func joinRel(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// visit brings a directory of the index up to date.
func (s *scan) visit(d *directory, path, rel string, in surroundings) {
	if s.failed() {
		return
	}
	h, now, err := openDirectory(path)
	if err != nil {
		s.unreadable(d, err)
		return
	}
	defer h.close()
	if !d.listed || d.fresh || d.stamp != now || d.within != in || s.rulesChanged(h, d, in) {
		if err := s.list(h, d, path, rel, in); err != nil {
			s.unreadable(d, err)
			return
		}
		d.stamp, d.fresh, d.within = now, !now.settled(s.now), in
	}
	inside := s.inside(d, path, in)
	var skipped, bytes int64
	for i := range d.files {
		f := &d.files[i]
		now, err := h.stat(f.name)
		if err != nil || now.typ == 0 || now.typ == dirEntry { // it has gone since the directory was read
			d.listed, d.stored = false, false
			f.known, f.typ = false, 0
			continue
		}
		s.compare(d, f, now, path)
		if f.typ == skippedEntry {
			skipped++
		} else {
			bytes += now.size
		}
	}
	s.skipped.Add(skipped)
	if s.files.Add(int64(len(d.files))+1) > int64(s.tree.opts.MaxFiles) {
		s.fail(fmt.Errorf("%w: it has more than %d files that are not ignored", ErrTooLarge, s.tree.opts.MaxFiles))
	}
	if s.bytes.Add(bytes) > s.tree.opts.MaxBytes {
		s.fail(fmt.Errorf("%w: its files that are not ignored have more than %d MB", ErrTooLarge, s.tree.opts.MaxBytes>>20))
	}
	s.below(d, path, rel, inside)
}

// inside returns what the directories in d inherit.
func (s *scan) inside(d *directory, path string, in surroundings) surroundings {
	if d.git {
		s.mu.Lock()
		defer s.mu.Unlock()
		return surroundings{rules: d.rules, repo: s.index.repository(s.ctx, s.tree, path)}
	}
	return surroundings{rules: d.rules, repo: in.repo, ignored: in.ignored}
}

// unreadable notes a directory that cannot be read.
func (s *scan) unreadable(d *directory, err error) {
	if d == s.index.root {
		s.fail(err)
		return
	}
	s.skipped.Add(1)
	if len(d.files)+len(d.dirs) > 0 || d.listed {
		d.files, d.dirs, d.stored, d.unsaved = nil, nil, false, true
	}
	d.listed = false
}

// rulesChanged reports whether what a listed directory's entries were selected by has changed.
func (s *scan) rulesChanged(h *handle, d *directory, in surroundings) bool {
	repo := in.repo
	if d.git {
		s.mu.Lock()
		repo = s.index.repository(s.ctx, s.tree, h.path)
		s.mu.Unlock()
	}
	if repo != nil && repo.version != d.version {
		return true
	}
	now, err := h.stat(gitignore.File)
	if err != nil {
		now = stamp{}
	}
	return now != d.ignore || d.ignore.typ != 0 && !d.ignore.settled(s.now)
}

// compare marks a file that has changed.
func (s *scan) compare(d *directory, f *file, now stamp, path string) {
	if f.known && !f.fresh && f.stamp == now {
		return
	}
	f.known, f.fresh = false, !now.settled(s.now)
	if f.stamp != now {
		f.stamp, d.unsaved = now, true
	}
	typ := now.typ
	if typ == fileEntry && (now.size > s.tree.opts.MaxFile || s.tree.opts.LeaveOut(path+string(filepath.Separator)+f.name)) {
		typ = skippedEntry
	}
	if typ == skippedEntry { // a directory's object has no more of it than this
		e := entry{name: f.name, typ: typ, perm: now.perm, size: now.size}
		if f.entry != e {
			f.entry, d.stored = e, false
		}
		f.known = true
		return
	}
	if f.typ != typ || f.perm != now.perm {
		f.typ, f.perm, d.stored = typ, now.perm, false
	}
}

// list reads the names of a directory and selects those that are recorded.
func (s *scan) list(h *handle, d *directory, path, rel string, in surroundings) error {
	names, err := h.list()
	if err != nil {
		return err
	}
	slices.SortFunc(names, func(a, b listed) int { return cmp.Compare(a.name, b.name) })
	repo, ignored := in.repo, in.ignored
	d.rules, d.git = in.rules, false
	d.ignore = stamp{}
	for _, n := range names {
		switch n.name {
		case ".git":
			d.git, ignored = true, false
			d.rules = gitignore.Repository(path, s.tree.opts.GlobalIgnore)
			s.mu.Lock()
			repo = s.index.repository(s.ctx, s.tree, path)
			s.mu.Unlock()
		case gitignore.File:
			if d.ignore, err = h.stat(n.name); err == nil {
				d.rules = gitignore.From(path, []string{gitignore.File}, d.rules)
			}
		default:
		}
	}
	if d.version = 0; repo != nil {
		d.version = repo.version
	}
	prefix := gitignore.SlashPrefix(path)
	keep := func(n listed) (kept, only bool) {
		if !validName(n.name) {
			return false, false
		}
		if !ignored && !d.rules.Match(prefix, n.name, n.dir) {
			return true, false
		}
		return repo.tracks(path, n.name, n.dir), true
	}
	s.merge(d, names, rel, keep)
	d.listed = true
	return nil
}

// merge makes the names that keep selects those of the directory, with what is known of them. only says that only what is tracked in a
// directory counts.
func (s *scan) merge(d *directory, names []listed, rel string, keep func(listed) (kept, only bool)) {
	files := make([]file, 0, len(d.files))
	var dirs []*directory
	oldFiles, oldDirs := d.files, d.dirs
	for _, n := range names {
		if strings.HasPrefix(n.name, temporaryPrefix) {
			s.mu.Lock()
			s.index.leftovers = append(s.index.leftovers, joinRel(rel, n.name))
			s.mu.Unlock()
			continue
		}
		kept, only := keep(n)
		if !kept {
			continue
		}
		if n.dir && slices.Contains(s.tree.opts.Exclude, filepath.Join(s.tree.dir, filepath.FromSlash(rel), n.name)) {
			continue
		}
		if n.dir {
			i, ok := slices.BinarySearchFunc(oldDirs, n.name, func(o *directory, name string) int { return strings.Compare(o.name, name) })
			sub := &directory{name: n.name}
			if ok {
				sub = oldDirs[i]
			}
			sub.ignored = only
			dirs = append(dirs, sub)
			continue
		}
		i, ok := slices.BinarySearchFunc(oldFiles, n.name, func(o file, name string) int { return strings.Compare(o.name, name) })
		if ok {
			files = append(files, oldFiles[i])
		} else if n.recorded {
			files = append(files, file{entry: entry{name: n.name}})
		}
	}
	if len(files) != len(oldFiles) || len(dirs) != len(oldDirs) ||
		!slices.EqualFunc(files, oldFiles, func(a, b file) bool { return a.name == b.name }) || !slices.Equal(dirs, oldDirs) {
		d.stored, d.unsaved = false, true
	}
	for _, old := range oldDirs {
		if _, ok := slices.BinarySearchFunc(dirs, old.name, func(o *directory, name string) int { return strings.Compare(o.name, name) }); !ok {
			s.mu.Lock()
			s.index.removed = append(s.index.removed, joinRel(rel, old.name))
			s.mu.Unlock()
		}
	}
	d.files, d.dirs = files, dirs
}

// encodeIndex returns what the database keeps of a directory.
func (d *directory) encodeIndex() []byte {
	var b []byte
	for i := range d.files {
		f := &d.files[i]
		if !f.known || f.fresh || f.typ == skippedEntry {
			continue
		}
		b = encodeEntries(b, []entry{f.entry})
		b = binary.AppendUvarint(b, f.stamp.ino)
		b = binary.AppendVarint(b, f.stamp.mtime)
		b = binary.AppendVarint(b, f.stamp.ctime)
	}
	return b
}

// decodeIndex restores the files of a directory.
func decodeIndex(data []byte) ([]file, error) {
	var files []file
	d := decoder{data}
	for len(d.rest) > 0 {
		f := file{entry: d.entry()}
		f.stamp = stamp{ino: d.uvarint(), size: f.size, perm: f.perm, typ: f.typ}
		f.stamp.mtime = d.varint()
		f.stamp.ctime = d.varint()
		if d.rest == nil {
			return nil, errors.New("the index is cut off")
		}
		f.known = true
		files = append(files, f)
	}
	return files, nil
}

func sortDirectories(dirs []*directory) {
	slices.SortFunc(dirs, func(a, b *directory) int { return strings.Compare(a.name, b.name) })
}
