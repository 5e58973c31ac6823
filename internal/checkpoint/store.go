package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// job is a file whose content may have changed.
type job struct {
	file *file
	dir  *directory
	path string
}

// store puts the contents and directories that have changed into the database.
func (x *index) store(ctx context.Context, t *Tree) error {
	var jobs []job
	var collect func(d *directory, path string)
	collect = func(d *directory, path string) {
		for i := range d.files {
			if f := &d.files[i]; !f.known && (f.typ == fileEntry || f.typ == linkEntry) {
				jobs = append(jobs, job{file: f, dir: d, path: filepath.Join(path, f.name)})
			}
		}
		for _, sub := range d.dirs {
			collect(sub, filepath.Join(path, sub.name))
		}
	}
	collect(x.root, t.dir)
	if err := x.readAll(ctx, t, jobs); err != nil {
		return err
	}
	for i := range jobs {
		jobs[i].dir.unsaved = true
	}
	if _, err := x.tree(t.db, x.root); err != nil {
		return err
	}
	if t.db.pending == 0 && len(jobs) == 0 && len(x.removed) == 0 {
		return nil
	}
	return x.save(t.db)
}

// readAll reads the files of jobs.
func (x *index) readAll(ctx context.Context, t *Tree, jobs []job) error {
	if len(jobs) == 0 {
		return nil
	}
	var mu sync.Mutex // guards failed and each job's directory
	var failed error
	next := make(chan *job)
	var readers sync.WaitGroup
	size := bufferFor(jobs)
	for range min(workers(), len(jobs)) {
		readers.Go(func() {
			r := reader{tree: t, gear: x.gear, buf: make([]byte, size)}
			for j := range next {
				changed, err := r.read(j)
				mu.Lock()
				if changed {
					j.dir.stored = false
				}
				if j.file.typ == 0 {
					j.dir.listed = false
				}
				failed = cmp.Or(failed, err)
				mu.Unlock()
			}
		})
	}
	for i := range jobs {
		mu.Lock()
		stop := failed != nil || ctx.Err() != nil
		mu.Unlock()
		if stop {
			break
		}
		next <- &jobs[i]
	}
	close(next)
	readers.Wait()
	return cmp.Or(failed, context.Cause(ctx))
}

// bufferFor returns how much memory reading the largest of some files takes.
func bufferFor(jobs []job) int {
	most := int64(4 << 10)
	for i := range jobs {
		most = max(most, jobs[i].file.stamp.size+1)
	}
	return int(min(most, 2*maxPart))
}

// reader reads files for one goroutine.
type reader struct {
	tree *Tree
	gear *gear
	buf  []byte
}

// attempts bounds how often a file is read that is being written.
const attempts = 3

// read stores the content of a file. It reports whether the entry of its directory has changed.
func (r *reader) read(j *job) (changed bool, err error) {
	f, before := j.file, j.file.entry
	switch err = r.content(j); {
	case errors.Is(err, errVanished):
		f.typ = 0
	case errors.Is(err, fs.ErrPermission):
		f.entry = entry{name: f.name, typ: skippedEntry, perm: f.perm, size: f.stamp.size}
	case err != nil:
		return false, err
	default:
	}
	return f.entry != before, nil
}

// errVanished reports that a file is gone, or is something else now.
var errVanished = errors.New("the file is gone")

func (r *reader) content(j *job) error {
	f := j.file
	put := r.tree.db.put
	if f.typ == linkEntry {
		target, err := os.Readlink(j.path)
		if err != nil {
			return gone(err)
		}
		if f.hash, err = put(blobObject, []byte(target)); err != nil {
			return err
		}
		f.size, f.known = int64(len(target)), true
		return nil
	}
	in, err := openFile(j.path)
	if err != nil {
		return gone(err)
	}
	defer func() { _ = in.Close() }() // read only
	for range attempts {
		first, err := stampOfFile(in)
		if err != nil {
			return gone(err)
		}
		if first.typ != fileEntry {
			return errVanished
		}
		if _, err := in.Seek(0, 0); err != nil {
			return err
		}
		if need := int(min(first.size+1, 2*maxPart)); need > len(r.buf) {
			r.buf = make([]byte, need)
		}
		if f.hash, f.size, err = r.gear.splitFile(in, r.buf, put); err != nil {
			return err
		}
		last, err := stampOfFile(in)
		if err != nil {
			return gone(err)
		}
		if last == first && f.size == last.size {
			f.fresh = f.fresh || first != f.stamp
			f.stamp, f.perm, f.known = first, first.perm, true
			return nil
		}
	}
	return nil // it is still being written; the next state has the rest
}

// gone returns errVanished for the error of a file that is gone.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || isLoop(err) {
		return errVanished
	}
	return err
}

// tree stores the directories that have changed, and returns whether this one has.
func (x *index) tree(db *database, d *directory) (changed bool, err error) {
	for _, sub := range d.dirs {
		below, err := x.tree(db, sub)
		if err != nil {
			return false, err
		}
		d.stored = d.stored && !below
	}
	if d.stored {
		changed, d.perm = d.perm != d.stamp.perm, d.stamp.perm
		return changed, nil
	}
	entries := make([]entry, 0, len(d.files)+len(d.dirs))
	for i := range d.files {
		if d.files[i].typ != 0 {
			entries = append(entries, d.files[i].entry)
		}
	}
	for _, sub := range d.dirs {
		entries = append(entries, entry{name: sub.name, typ: dirEntry, perm: sub.stamp.perm, hash: sub.hash})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	h, err := db.putTree(entries)
	if err != nil {
		return false, err
	}
	changed = h != d.hash || d.perm != d.stamp.perm
	d.hash, d.perm, d.stored, d.unsaved = h, d.stamp.perm, true, true
	return changed, nil
}

// save writes what is new in the index.
func (x *index) save(db *database) error {
	for _, rel := range x.removed {
		if err := db.removeDirectory(rel); err != nil {
			return err
		}
	}
	x.removed = nil
	var each func(d *directory, rel string) error
	each = func(d *directory, rel string) error {
		if d.unsaved {
			if err := db.saveDirectory(rel, d.encodeIndex()); err != nil {
				return err
			}
			d.unsaved = false
		}
		for _, sub := range d.dirs {
			if err := each(sub, joinRel(rel, sub.name)); err != nil {
				return err
			}
		}
		return nil
	}
	return each(x.root, "")
}
