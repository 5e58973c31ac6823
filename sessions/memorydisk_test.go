package sessions_test

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gajae-code/gjc/sessions"
)

// memoryDisk is a file system in memory. Several processes can use it: see [memoryDisk.Process]. Written data is visible to all of
// them at once, but survives [memoryDisk.PowerCut] only if it was synced.
type memoryDisk struct {
	mu    sync.Mutex // guards the fields below, and every node
	names map[string]*node
	// journal holds the changes of names since the last sync of a directory, in order.
	journal []change
	synced  map[string]*node
	locks   map[string]*memoryProcess
	clock   time.Time
}

// node is a file or a directory.
type node struct {
	dir      bool
	data     []byte
	modified time.Time
	// synced is the data that survives a power cut.
	synced []byte
}

// change is an atomic step of the journal: the names that a node gets or loses.
type change map[string]*node

// newMemoryDisk returns an empty disk. Its clock advances by a millisecond with each change.
func newMemoryDisk(start time.Time) *memoryDisk {
	return &memoryDisk{
		names: map[string]*node{"/": {dir: true}}, synced: map[string]*node{"/": {dir: true}},
		locks: make(map[string]*memoryProcess), clock: start,
	}
}

// memoryProcess is one process's use of a disk. It is a [sessions.FileSystem]. With the zero diskFault nothing fails.
type memoryProcess struct {
	disk *memoryDisk
	// Steps is the number of steps so far that change something.
	Steps int
	fault diskFault
	dead  bool
}

var _ sessions.FileSystem = (*memoryProcess)(nil)

// diskFault describes a failure at one step.
type diskFault struct {
	// At is the step, 1 for the first.
	At int
	// Kill makes the step end the process: it panics with [errKilled].
	Kill bool
	// Err is the step's error if Kill is false. A failing write is partial. With Lasting, all later steps that need space fail too.
	Err     error
	Lasting bool
	// Rand chooses how much of the step is done. If nil, none of it is.
	Rand *rand.Rand
}

// some returns a random number below n, or zero without Rand.
func (f *diskFault) some(n int) int {
	if f.Rand == nil {
		return 0
	}
	return f.Rand.IntN(n)
}

// errKilled is the panic value of a process that a [diskFault] has ended.
var errKilled = errors.New("killed")

// Process starts a process. Its file descriptors and locks end with [memoryProcess.Kill], or with its fault.
func (d *memoryDisk) Process(fault diskFault) *memoryProcess {
	return &memoryProcess{disk: d, fault: fault}
}

// Kill ends the process: its later operations have no effect.
func (p *memoryProcess) Kill() {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	p.kill()
}

func (p *memoryProcess) kill() {
	p.dead = true
	for name, owner := range p.disk.locks {
		if owner == p {
			delete(p.disk.locks, name) // as the operating system does; the lock file stays
		}
	}
}

// PowerCut keeps what was synced and a random part of the rest: a prefix of the name changes, and a prefix of each file's data,
// possibly followed by NUL bytes. No process may be alive.
func (d *memoryDisk) PowerCut(r *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.journal[:r.IntN(len(d.journal)+1)] {
		c.apply(d.synced)
	}
	d.journal = nil
	d.names = make(map[string]*node, len(d.synced))
	maps.Copy(d.names, d.synced)
	for _, n := range d.names {
		if n.dir {
			continue
		}
		kept := n.synced
		if len(n.data) > len(kept) && strings.HasPrefix(string(n.data), string(kept)) {
			more := n.data[len(kept):]
			part := r.IntN(len(more) + 1)
			kept = append(slices.Clone(kept), more[:part]...)
			if r.IntN(3) == 0 {
				kept = append(kept, make([]byte, r.IntN(len(more)-part+1))...)
			}
		}
		n.data, n.synced = kept, kept
	}
}

func (c change) apply(names map[string]*node) {
	for name, n := range c {
		if n == nil {
			delete(names, name)
		} else {
			names[name] = n
		}
	}
}

// Names returns the paths of all files, sorted.
func (d *memoryDisk) Names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []string
	for name, n := range d.names {
		if !n.dir {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// step begins a change by the process. On an error the caller must not make the change; if part is set, the caller first makes a
// part of it. The caller calls finish at the end.
func (p *memoryProcess) step() (part bool, finish func(), err error) {
	none := func() {}
	if p.dead {
		return false, none, os.ErrClosed
	}
	p.Steps++
	p.disk.clock = p.disk.clock.Add(time.Millisecond)
	hit := p.Steps == p.fault.At
	if !hit && (!p.fault.Lasting || p.fault.At == 0 || p.Steps < p.fault.At) {
		return false, none, nil
	}
	if !p.fault.Kill {
		return true, none, p.fault.Err
	}
	p.kill()
	return true, func() { panic(errKilled) }, errKilled
}

// change changes names, as one step.
func (p *memoryProcess) change(c change) error {
	_, finish, err := p.step()
	if err == nil || errors.Is(err, errKilled) && p.fault.some(2) == 1 {
		p.disk.journal = append(p.disk.journal, c)
		c.apply(p.disk.names)
		for name := range c {
			if parent := p.disk.names[parentOf(name)]; parent != nil {
				parent.modified = p.disk.clock
			}
		}
	}
	finish()
	return err
}

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// find returns the node with a name.
func (p *memoryProcess) find(op, name string) (*node, error) {
	if p.dead {
		return nil, pathError(op, name, os.ErrClosed)
	}
	n := p.disk.names[filepath.ToSlash(name)]
	if n == nil {
		return nil, pathError(op, name, fs.ErrNotExist)
	}
	return n, nil
}

// OpenFile implements [sessions.FileSystem].
func (p *memoryProcess) OpenFile(name string, flag int, _ fs.FileMode) (sessions.File, error) {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	name = filepath.ToSlash(name)
	n, err := p.find("open", name)
	switch {
	case err == nil && n.dir:
		return nil, pathError("open", name, syscall.EISDIR)
	case err == nil && flag&os.O_EXCL != 0:
		return nil, pathError("open", name, fs.ErrExist)
	case errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0:
		if parent := p.disk.names[parentOf(name)]; parent == nil || !parent.dir {
			return nil, err
		}
		n = &node{modified: p.disk.clock}
		if err := p.change(change{name: n}); err != nil {
			return nil, pathError("open", name, err)
		}
	case err != nil:
		return nil, err
	}
	if flag&os.O_TRUNC != 0 {
		n.data = nil
	}
	return &file{process: p, node: n, name: name, appends: flag&os.O_APPEND != 0}, nil
}

func parentOf(name string) string { return name[:max(1, strings.LastIndexByte(name, '/'))] }

type file struct {
	process *memoryProcess
	node    *node
	name    string
	appends bool
	at      int
	closed  bool
}

func (f *file) Write(b []byte) (int, error) {
	d := f.process.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.closed {
		return 0, pathError("write", f.name, os.ErrClosed)
	}
	part, finish, err := f.process.step()
	if err != nil && !part {
		return 0, pathError("write", f.name, err)
	}
	if part {
		b = b[:f.process.fault.some(len(b)+1)]
	}
	if f.appends {
		f.at = len(f.node.data)
	}
	// Use a new array: synced data must not change.
	data := slices.Clone(f.node.data[:min(f.at, len(f.node.data))])
	data = append(data, b...)
	if rest := f.at + len(b); rest < len(f.node.data) {
		data = append(data, f.node.data[rest:]...)
	}
	f.node.data, f.node.modified = data, d.clock
	f.at += len(b)
	finish()
	return len(b), pathError("write", f.name, err)
}

func (f *file) ReadAt(b []byte, at int64) (int, error) {
	d := f.process.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.closed || f.process.dead {
		return 0, pathError("read", f.name, os.ErrClosed)
	}
	if at >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.node.data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Stat() (fs.FileInfo, error) {
	d := f.process.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.closed || f.process.dead {
		return nil, pathError("stat", f.name, os.ErrClosed)
	}
	return f.node.info(f.name), nil
}

func (f *file) Truncate(size int64) error {
	d := f.process.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	_, finish, err := f.process.step()
	if err == nil {
		f.node.data = slices.Clone(f.node.data[:min(size, int64(len(f.node.data)))])
	}
	finish()
	return pathError("truncate", f.name, err)
}

func (f *file) Sync() error {
	d := f.process.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	_, finish, err := f.process.step()
	if err == nil {
		f.node.synced = f.node.data
	}
	finish()
	return pathError("sync", f.name, err)
}

func (f *file) Close() error {
	d := f.process.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.closed {
		return pathError("close", f.name, os.ErrClosed)
	}
	f.closed = true
	return nil
}

// ReadFile implements [sessions.FileSystem].
func (p *memoryProcess) ReadFile(name string) ([]byte, error) {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	n, err := p.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.dir {
		return nil, pathError("read", name, syscall.EISDIR)
	}
	return slices.Clone(n.data), nil
}

// ReadDir implements [sessions.FileSystem].
func (p *memoryProcess) ReadDir(name string) ([]fs.DirEntry, error) {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	n, err := p.find("open", name)
	if err != nil {
		return nil, err
	}
	if !n.dir {
		return nil, pathError("readdir", name, syscall.ENOTDIR)
	}
	var all []fs.DirEntry
	name = filepath.ToSlash(name)
	for path, n := range p.disk.names {
		if path != "/" && parentOf(path) == name {
			all = append(all, fs.FileInfoToDirEntry(n.info(path)))
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return all, nil
}

// Stat implements [sessions.FileSystem].
func (p *memoryProcess) Stat(name string) (fs.FileInfo, error) {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	n, err := p.find("stat", name)
	if err != nil {
		return nil, err
	}
	return n.info(name), nil
}

// Lstat implements [sessions.FileSystem]. There are no links.
func (p *memoryProcess) Lstat(name string) (fs.FileInfo, error) { return p.Stat(name) }

// MkdirAll implements [sessions.FileSystem].
func (p *memoryProcess) MkdirAll(name string, _ fs.FileMode) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	var missing []string
	for name = filepath.ToSlash(name); ; name = parentOf(name) {
		n, err := p.find("mkdir", name)
		if err == nil && !n.dir {
			return pathError("mkdir", name, syscall.ENOTDIR)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing = append(missing, name)
	}
	for _, name := range slices.Backward(missing) {
		if err := p.change(change{name: {dir: true, modified: p.disk.clock}}); err != nil {
			return pathError("mkdir", name, err)
		}
	}
	return nil
}

// Rename implements [sessions.FileSystem].
func (p *memoryProcess) Rename(from, to string) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	from, to = filepath.ToSlash(from), filepath.ToSlash(to)
	n, err := p.find("rename", from)
	if err != nil {
		return err
	}
	if _, err := p.find("rename", parentOf(to)); err != nil {
		return err
	}
	if strings.HasPrefix(to, from+"/") {
		return pathError("rename", to, fs.ErrInvalid)
	}
	if old := p.disk.names[to]; old != nil && old.dir != n.dir {
		return pathError("rename", to, fs.ErrExist)
	}
	c := change{from: nil, to: n}
	if n.dir {
		for name, inner := range p.disk.names {
			if rest, ok := strings.CutPrefix(name, from+"/"); ok {
				c[name], c[to+"/"+rest] = nil, inner
			}
		}
	}
	return pathError("rename", from, p.change(c))
}

// Link implements [sessions.FileSystem].
func (p *memoryProcess) Link(from, to string) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	to = filepath.ToSlash(to)
	n, err := p.find("link", from)
	if err != nil {
		return err
	}
	if p.disk.names[to] != nil {
		return pathError("link", to, fs.ErrExist)
	}
	return pathError("link", to, p.change(change{to: n}))
}

// Remove implements [sessions.FileSystem].
func (p *memoryProcess) Remove(name string) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	name = filepath.ToSlash(name)
	n, err := p.find("remove", name)
	if err != nil {
		return err
	}
	if n.dir {
		for other := range p.disk.names {
			if parentOf(other) == name && other != "/" {
				return pathError("remove", name, syscall.ENOTEMPTY)
			}
		}
	}
	return pathError("remove", name, p.change(change{name: nil}))
}

// RemoveAll implements [sessions.FileSystem], one step for each name.
func (p *memoryProcess) RemoveAll(name string) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	name = filepath.ToSlash(name)
	var all []string
	for other := range p.disk.names {
		if other == name || strings.HasPrefix(other, name+"/") {
			all = append(all, other)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for _, other := range all {
		if err := p.change(change{other: nil}); err != nil {
			return pathError("removeall", other, err)
		}
	}
	return nil
}

// SyncDir implements [sessions.FileSystem]. As in real journaling file systems, it makes all earlier changes of names
// durable.
func (p *memoryProcess) SyncDir(name string) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	if _, err := p.find("sync", name); err != nil {
		return err
	}
	_, finish, err := p.step()
	if err == nil {
		for _, c := range p.disk.journal {
			c.apply(p.disk.synced)
		}
		p.disk.journal = nil
	}
	finish()
	return pathError("sync", name, err)
}

// Holder implements [sessions.FileSystem].
func (p *memoryProcess) Holder(name string) (*sessions.LockedError, time.Duration, error) {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	if p.disk.locks[filepath.ToSlash(name)] == nil {
		return nil, 0, nil
	}
	return &sessions.LockedError{Path: name}, 0, nil
}

// Watch implements [sessions.FileSystem]. All calls of wake are missing.
func (p *memoryProcess) Watch(string, func()) (stop func()) { return func() {} }

// Lock implements [sessions.FileSystem].
func (p *memoryProcess) Lock(name string) (func(), error) {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	name = filepath.ToSlash(name)
	if p.disk.locks[name] != nil {
		return nil, &sessions.LockedError{Path: name}
	}
	if _, err := p.find("lock", parentOf(name)); err != nil {
		return nil, err
	}
	lock := name + ".lock"
	if err := p.change(change{lock: {modified: p.disk.clock}}); err != nil {
		return nil, pathError("lock", name, err)
	}
	p.disk.locks[name] = p
	return func() {
		p.disk.mu.Lock()
		defer p.disk.mu.Unlock()
		if p.dead || p.disk.locks[name] != p {
			return
		}
		delete(p.disk.locks, name)
		_ = p.change(change{lock: nil}) // the caller cannot handle an error
	}, nil
}

// info implements [fs.FileInfo].
func (n *node) info(name string) fs.FileInfo {
	return fileInfo{filepath.Base(name), int64(len(n.data)), n.modified, n.dir}
}

type fileInfo struct {
	name     string
	size     int64
	modified time.Time
	dir      bool
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) ModTime() time.Time { return i.modified }
func (i fileInfo) IsDir() bool        { return i.dir }
func (i fileInfo) Sys() any           { return nil }
func (i fileInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o700
	}
	return 0o600
}
