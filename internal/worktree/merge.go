package worktree

import (
	"bytes"
	"context"
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

// Outcome says what has become of a change in the working tree that was copied.
type Outcome string

// The outcomes.
const (
	// Applied is a change that is there now.
	Applied Outcome = "applied"
	// Conflict is a file that has markers of conflicts now, because it was changed in both.
	Conflict Outcome = "conflict"
	// Refused is a file that stays as it is.
	Refused Outcome = "refused"
)

// Merged is a change and what has become of it.
type Merged struct {
	Path    string
	Kind    Kind
	Outcome Outcome
	// Reason says why the change was refused.
	Reason string
	// Old is the file in the working tree before, and New after. They are the same for a refused change.
	Old, New State
}

// State is the state of a file. It is zero if there is none.
type State struct {
	Exists bool
	// Link says that it is a symbolic link; Content is its target then.
	Link       bool
	Executable bool
	Content    []byte
}

func stateOf(k kind, content []byte) State {
	if k == "" {
		return State{}
	}
	return State{Exists: true, Link: k == symlink, Executable: k == executable, Content: content}
}

// merger merges the changes of a worktree into the working tree that was copied.
type merger struct {
	w  *Worktree
	to *os.Root
	// theirs names the worktree in markers.
	theirs string
	// read returns the content of a regular file, or an error that wraps [fs.ErrNotExist]; nil reads it from the disk.
	read func(name string) ([]byte, error)
}

// ours is the current state of a file in the working tree.
type ours struct {
	kind    kind // empty for none
	content []byte
	mode    fs.FileMode
}

// result is the state that a merge gives a file.
type result struct {
	outcome Outcome
	kind    kind // empty for none
	content []byte
}

// errOurs says that a path in the working tree is no file that can be replaced.
var errOurs = errors.New("something else than a file is there")

// Apply merges changes, from [Worktree.Changes], into the working tree that was copied, where it may have changed meanwhile. theirs names the
// worktree in the markers of conflicts. It returns what has become of each change; an error that is not that of one file ends it.
func (w *Worktree) Apply(ctx context.Context, theirs string, changes []Change) ([]Merged, error) {
	return w.merge(ctx, &merger{theirs: theirs}, changes, func(m *merger, name string, is *ours, r *result) error {
		if r.kind == is.kind && bytes.Equal(r.content, is.content) {
			return nil
		}
		return m.put(name, is, r)
	})
}

// Merge returns what [Worktree.Apply] would make of changes, and changes nothing. read returns the content of a regular file of the working
// tree, by its absolute path, such as the one that an editor has; its error wraps [fs.ErrNotExist] if there is no file.
func (w *Worktree) Merge(ctx context.Context, theirs string, changes []Change, read func(path string) ([]byte, error)) ([]Merged, error) {
	m := &merger{theirs: theirs, read: func(name string) ([]byte, error) {
		return read(filepath.Join(w.record.Source, filepath.FromSlash(name)))
	}}
	return w.merge(ctx, m, changes, func(*merger, string, *ours, *result) error { return nil })
}

// Source is the top of the working tree that was copied, with all symbolic links resolved.
func (w *Worktree) Source() string { return w.record.Source }

// States returns a changed file at the beginning and as [Worktree.Changes] has found it.
func (w *Worktree) States(ctx context.Context, c *Change) (before, after State, err error) {
	var was, is []byte
	if c.Kind != Added {
		if was, err = w.content(ctx, c.base); err != nil {
			return before, after, err
		}
	}
	if c.Kind != Deleted {
		if is, err = w.content(ctx, c.now); err != nil {
			return before, after, err
		}
	}
	return stateOf(c.base.Kind, was), stateOf(c.now.Kind, is), nil
}

// merge merges changes and calls put with each result.
func (w *Worktree) merge(ctx context.Context, m *merger, changes []Change, put func(m *merger, name string, is *ours, r *result) error) ([]Merged, error) {
	to, err := os.OpenRoot(w.record.Source)
	if err != nil {
		return nil, err
	}
	defer func() { _ = to.Close() }() // the files are closed
	m.w, m.to = w, to
	var all []Merged
	// A file must go before a directory with its name can be made, and the other way round.
	for _, deletions := range []bool{true, false} {
		for i := range changes {
			c := &changes[i]
			if (c.Kind == Deleted) != deletions {
				continue
			}
			if ctx.Err() != nil {
				return all, context.Cause(ctx)
			}
			is, r, err := m.result(ctx, c)
			if err == nil {
				err = put(m, c.Path, is, r)
			}
			one := Merged{Path: c.Path, Kind: c.Kind, Outcome: Refused}
			if is != nil {
				one.Old = stateOf(is.kind, is.content)
			}
			if one.New = one.Old; err != nil {
				one.Reason = err.Error()
			} else {
				one.Outcome, one.New = r.outcome, stateOf(r.kind, r.content)
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// result returns the state of the changed file in the working tree, and the one that the merge gives it.
func (m *merger) result(ctx context.Context, c *Change) (*ours, *result, error) {
	if slices.ContainsFunc(strings.Split(c.Path, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }) {
		return nil, nil, errors.New("it belongs to a repository")
	}
	var base, theirs []byte
	var err error
	if c.Kind != Added {
		if base, err = m.w.content(ctx, c.base); err != nil {
			return nil, nil, err
		}
	}
	if c.Kind != Deleted {
		if theirs, err = m.w.content(ctx, c.now); err != nil {
			return nil, nil, err
		}
	}
	is, err := m.current(c.Path)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case is.kind == c.now.Kind && bytes.Equal(is.content, theirs): // it is the same in both
		return &is, &result{Applied, is.kind, is.content}, nil
	case is.kind == c.base.Kind && bytes.Equal(is.content, base):
		return &is, &result{Applied, c.now.Kind, theirs}, nil
	case c.Kind == Deleted:
		return &is, nil, errors.New("it was deleted in the worktree, and changed here")
	case is.kind == "" && c.Kind == Modified:
		return &is, nil, errors.New("it was changed in the worktree, and deleted here")
	case is.kind == symlink || c.now.Kind == symlink || c.base.Kind == symlink:
		return &is, nil, errors.New("it is a symbolic link that was changed in both")
	}
	r, err := m.both(ctx, c, &is, base, theirs)
	return &is, r, err
}

// both merges two changes of a file.
func (m *merger) both(ctx context.Context, c *Change, is *ours, base, theirs []byte) (*result, error) {
	r := &result{Applied, c.now.Kind, is.content}
	if c.base.Kind == c.now.Kind {
		r.kind = is.kind // only the user has changed it
	}
	if bytes.Equal(is.content, theirs) || bytes.Equal(base, theirs) && c.Kind == Modified {
		return r, nil
	}
	if isBinary(base) || isBinary(theirs) || isBinary(is.content) {
		return nil, errors.New("it is binary and was changed in both")
	}
	merged, conflict, err := m.texts(ctx, base, is.content, theirs)
	if r.content = merged; conflict {
		r.outcome = Conflict
	}
	return r, err
}

// current returns the state of a file.
func (m *merger) current(name string) (ours, error) {
	info, err := lstat(m.to, name)
	if isMissing(err) {
		return m.unsaved(name)
	}
	if err != nil {
		return ours{}, err
	}
	is := ours{kind: kindOf(info), mode: info.Mode().Perm()}
	if is.kind == "" {
		return is, errOurs
	}
	if is.kind == symlink {
		target, err := m.to.Readlink(name)
		is.content = []byte(target)
		return is, err
	}
	if m.read != nil {
		is.content, err = m.read(name)
		return is, err
	}
	f, err := m.to.Open(name)
	if err != nil {
		return is, err
	}
	defer func() { _ = f.Close() }() // it was only read
	is.content, err = io.ReadAll(f)
	return is, err
}

// unsaved returns the state of a file that is not on the disk: the reader may know it, such as a new file in an editor.
func (m *merger) unsaved(name string) (ours, error) {
	if m.read == nil {
		return ours{}, nil
	}
	content, err := m.read(name)
	if isMissing(err) {
		return ours{}, nil
	}
	return ours{kind: regular, content: content}, err
}

// put gives a file the state of a result.
func (m *merger) put(name string, is *ours, r *result) error {
	switch r.kind {
	case "":
		return m.remove(name)
	case symlink:
		temp, err := m.temp(name)
		if err != nil {
			return err
		}
		if err := m.to.Symlink(string(r.content), temp); err != nil {
			return err
		}
		return m.rename(temp, name)
	default:
		return m.write(name, r.content, modeOf(is, r.kind))
	}
}

// modeOf returns the permissions of a file that replaces another one, or none.
func modeOf(is *ours, k kind) fs.FileMode {
	mode := is.mode
	if is.kind == "" || is.kind == symlink {
		mode = 0o666 // less the process's mask
	}
	if k != executable {
		return mode &^ 0o111
	}
	return mode | mode&0o444>>2
}

// remove removes a file, and the directories that are empty then.
func (m *merger) remove(name string) error {
	if err := m.to.Remove(name); err != nil {
		return err
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if err := m.to.Remove(dir); err != nil {
			break // it has other files
		}
	}
	return nil
}

// write replaces or makes a regular file.
func (m *merger) write(name string, content []byte, mode fs.FileMode) error {
	temp, err := m.temp(name)
	if err != nil {
		return err
	}
	f, err := m.to.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if mode != 0o666 && mode != 0o777 {
		err = errors.Join(err, f.Chmod(mode)) // whatever the process's mask
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, m.to.Remove(temp))
	}
	return m.rename(temp, name)
}

// temp makes the directory of a file, through no link, and returns the name of a file next to it that does not exist.
func (m *merger) temp(name string) (string, error) {
	dir := path.Dir(name)
	made := ""
	for part := range strings.SplitSeq(dir, "/") {
		made = path.Join(made, part)
		if err := m.to.Mkdir(made, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		if info, err := m.to.Lstat(made); err != nil {
			return "", err
		} else if !info.IsDir() {
			return "", fmt.Errorf("%s is no directory here", made)
		}
	}
	return path.Join(dir, ".gjc-"+m.w.ID()), nil
}

func (m *merger) rename(temp, name string) error {
	if err := m.to.Rename(temp, name); err != nil {
		return errors.Join(err, m.to.Remove(temp))
	}
	return nil
}

// texts merges the changes of two texts since a third one. If both have changed the same lines, the text has markers.
func (m *merger) texts(ctx context.Context, base, ours, theirs []byte) (merged []byte, conflict bool, err error) {
	names := []string{"ours", "base", "theirs"}
	for i, content := range [][]byte{ours, base, theirs} {
		if err := os.WriteFile(filepath.Join(m.w.dir, names[i]), content, 0o600); err != nil {
			return nil, false, err
		}
	}
	merged, err = m.w.git.do(ctx, &run{dir: m.w.dir, env: []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(m.w.dir)}},
		"merge-file", "-p", "--diff3", "-L", "working tree", "-L", "before", "-L", m.theirs, "ours", "base", "theirs")
	if failed, ok := errors.AsType[*gitError](err); ok && failed.code > 0 && failed.code < 128 {
		return merged, true, nil // the code counts the conflicts
	}
	return merged, false, err
}

// isBinary reports whether a content is no text that can be merged by lines.
func isBinary(content []byte) bool { return bytes.IndexByte(content, 0) >= 0 }
