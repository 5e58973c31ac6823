package sandbox

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// writing is the set of access rights that allow files to be changed.
const writing = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
	unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
	unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
	unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE

// reading is the access right that hiding takes away. The names in a directory are no secret, and stay readable everywhere; the
// program of a file that cannot be read cannot be executed either.
const reading = unix.LANDLOCK_ACCESS_FS_READ_FILE

// onFiles is the set of access rights that a rule for a file, as opposed to a directory, may have.
const onFiles = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | reading

// devices are always writable. While something is hidden, nothing else in /dev can be read: its files have what the machine's disks,
// memory and keyboards have.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}

// maxRules bounds the rules for the entries of split directories.
const maxRules = 5000

// tree is a directory or file with rules of its own, or a directory on the way to one.
type tree struct {
	path     string // its own, for messages
	name     string // in the directory around it
	children map[string]*tree
	explicit bool
	as       access
	// rights are those on this path and what is below it, except children. common are those on everything below it. Both are subsets
	// of [reading] and [writing].
	rights, common uint64
	// entries are those of a directory that is split, and coarse is set if there are too many.
	entries []fs.DirEntry
	coarse  bool
}

// newTree returns the rules of a policy. Landlock has no exceptions: a rule for a directory covers all that is in it, also what is made
// later. A directory that contains something with fewer rights is therefore split: its other entries have rules instead. Nothing new
// can be made in a split directory if it is writable, and the content of what other processes make there cannot be read. What is hidden
// cannot be changed either, so in a writable directory both kinds of exceptions have the same effect on new entries.
//
// With more than [maxRules] entries, the largest split directories keep only the rights that everything in them has.
func newTree(p *Policy) *tree {
	root := &tree{path: "/", explicit: true, as: readable}
	if len(p.Hide) > 0 {
		root.insert("/dev", hidden)
	}
	for _, path := range devices {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			root.insert(real, writable)
		}
	}
	for _, m := range mounts(p) {
		root.insert(m.path, m.as)
	}
	root.resolve(reading)
	for root.split(0) > maxRules {
		root.largest().coarse = true
		root.resolve(reading)
	}
	return root
}

func (t *tree) insert(path string, as access) {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" {
			continue
		}
		child := t.children[name]
		if child == nil {
			child = &tree{path: filepath.Join(t.path, name), name: name}
			if t.children == nil {
				t.children = make(map[string]*tree)
			}
			t.children[name] = child
		}
		t = child
	}
	t.explicit, t.as = true, as
}

// resolve computes the rights of a tree in a directory with the given rights.
func (t *tree) resolve(around uint64) {
	t.rights = around
	if t.explicit {
		switch t.as {
		case writable:
			t.rights = reading | writing
		case readable: // what is kept in a hidden directory stays hidden
			t.rights &= reading
		case hidden:
			t.rights = 0
		case shown:
			t.rights = reading
		}
	}
	t.resolveBelow()
	if t.coarse && t.rights != t.common {
		t.rights = t.common
		t.resolveBelow()
	}
}

func (t *tree) resolveBelow() {
	t.common = t.rights
	for _, child := range t.children {
		child.resolve(t.rights)
		t.common &= child.common
	}
}

// split reads the entries of the directories that need rules for them, and returns how many there are. have are the rights that
// rules of outer directories grant.
func (t *tree) split(have uint64) int {
	have |= t.common
	n := 0
	if t.rights&^have == 0 {
		t.entries = nil
	} else if t.entries == nil {
		t.entries = list(t.path)
	}
	n += len(t.entries)
	for _, child := range t.children {
		n += child.split(have)
	}
	return n
}

// list returns the entries of a directory, at most one more than [maxRules]. Those that cannot be read get no rules.
func list(path string) []fs.DirEntry {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	dir := os.NewFile(uintptr(fd), path)
	defer func() { _ = dir.Close() }() // read only
	entries, _ := dir.ReadDir(maxRules + 1)
	return entries
}

// largest returns the split directory with the most entries.
func (t *tree) largest() *tree {
	most := t
	for _, name := range slices.Sorted(maps.Keys(t.children)) {
		if l := t.children[name].largest(); len(l.entries) > len(most.entries) {
			most = l
		}
	}
	return most
}

// ruleset is a Landlock ruleset that is being made.
type ruleset struct {
	fd int
	// handled are the access rights that the ruleset denies without a rule.
	handled uint64
}

// apply adds the rules of a whole file system.
func (t *tree) apply(rules *ruleset) error {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: "/", Err: err}
	}
	return t.applyAt(rules, fd, 0)
}

// applyAt adds the rules of a tree, and closes its descriptor. It opens paths from directory to directory and never follows a
// symbolic link, which would lead a rule to another place: a program may have made it after the policy. have are the rights that
// rules of outer directories grant.
func (t *tree) applyAt(rules *ruleset, fd int, have uint64) error {
	defer func() { _ = unix.Close(fd) }() // rules do not depend on it
	if t.common&^have != 0 {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return &os.PathError{Op: "stat", Path: t.path, Err: err}
		}
		if err := rules.allow(fd, t.path, t.common, st.Mode&unix.S_IFMT == unix.S_IFDIR); err != nil {
			return err
		}
		have |= t.common
	}
	for _, e := range t.entries {
		if t.children[e.Name()] != nil || e.Type()&fs.ModeSymlink != 0 {
			continue
		}
		entry, err := openAt(fd, e.Name())
		if err != nil {
			continue // it has gone, or cannot be reached
		}
		err = rules.allow(entry, t.path, t.rights, e.IsDir())
		_ = unix.Close(entry) // the rule does not depend on it
		if err != nil {
			return err
		}
	}
	for _, child := range t.children {
		entry, err := openAt(fd, child.name)
		if err != nil {
			continue
		}
		if err := child.applyAt(rules, entry, have); err != nil {
			return err
		}
	}
	return nil
}

func openAt(dir int, name string) (int, error) {
	return unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// allow permits rights on a file, or on a directory and everything below it.
func (r *ruleset) allow(fd int, path string, rights uint64, dir bool) error {
	if rights &= r.handled; !dir {
		rights &= onFiles
	}
	if rights == 0 {
		return nil
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	switch {
	case errno == 0:
		return nil
	case errors.Is(errno, unix.EBADFD): // of an internal file system of the kernel, which needs no rules
		return nil
	case errors.Is(errno, unix.EINVAL) && dir: // another process has replaced the directory by a file
		return nil
	}
	return &os.PathError{Op: "allow", Path: path, Err: errno}
}
