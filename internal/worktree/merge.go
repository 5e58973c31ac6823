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
}

// merger merges the changes of a worktree into the working tree that was copied.
type merger struct {
	w  *Worktree
	to *os.Root
	// theirs names the worktree in markers.
	theirs string
}

// ours is the current state of a file in the working tree.
type ours struct {
	kind    kind // empty for none
	content []byte
	mode    fs.FileMode
}

// errOurs says that a path in the working tree is no file that can be replaced.
var errOurs = errors.New("something else than a file is there")

// Apply merges changes, from [Worktree.Changes], into the working tree that was copied, where it may have changed meanwhile. theirs names the
// worktree in the markers of conflicts. It returns what has become of each change; an error that is not that of one file ends it.
func (w *Worktree) Apply(ctx context.Context, theirs string, changes []Change) ([]Merged, error) {
	to, err := os.OpenRoot(w.record.Source)
	if err != nil {
		return nil, err
	}
	defer func() { _ = to.Close() }() // the files are closed
	m := &merger{w, to, theirs}
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
			outcome, err := m.apply(ctx, c)
			one := Merged{Path: c.Path, Kind: c.Kind, Outcome: outcome}
			if err != nil {
				one.Outcome, one.Reason = Refused, err.Error()
			}
			all = append(all, one)
		}
	}
	return all, nil
}

func (m *merger) apply(ctx context.Context, c *Change) (Outcome, error) {
	if slices.ContainsFunc(strings.Split(c.Path, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }) {
		return Refused, errors.New("it belongs to a repository")
	}
	var base, theirs []byte
	var err error
	if c.Kind != Added {
		if base, err = m.w.content(ctx, c.base); err != nil {
			return Refused, err
		}
	}
	if c.Kind != Deleted {
		if theirs, err = m.w.content(ctx, c.now); err != nil {
			return Refused, err
		}
	}
	is, err := m.current(c.Path)
	if err != nil {
		return Refused, err
	}
	switch {
	case is.kind == c.now.Kind && bytes.Equal(is.content, theirs):
		return Applied, nil // it is the same in both
	case is.kind == c.base.Kind && bytes.Equal(is.content, base):
		return Applied, m.replace(c, &is, theirs)
	case c.Kind == Deleted:
		return Refused, errors.New("it was deleted in the worktree, and changed here")
	case is.kind == "" && c.Kind == Modified:
		return Refused, errors.New("it was changed in the worktree, and deleted here")
	case is.kind == symlink || c.now.Kind == symlink || c.base.Kind == symlink:
		return Refused, errors.New("it is a symbolic link that was changed in both")
	}
	return m.both(ctx, c, &is, base, theirs)
}

// both merges two changes of a file.
func (m *merger) both(ctx context.Context, c *Change, is *ours, base, theirs []byte) (Outcome, error) {
	kindNow := c.now.Kind
	if c.base.Kind == c.now.Kind {
		kindNow = is.kind // only the user has changed it
	}
	if bytes.Equal(is.content, theirs) || bytes.Equal(base, theirs) && c.Kind == Modified {
		return Applied, m.write(c.Path, is.content, modeOf(is, kindNow))
	}
	if isBinary(base) || isBinary(theirs) || isBinary(is.content) {
		return Refused, errors.New("it is binary and was changed in both")
	}
	merged, conflict, err := m.merge(ctx, base, is.content, theirs)
	if err != nil {
		return Refused, err
	}
	if conflict {
		return Conflict, m.write(c.Path, merged, modeOf(is, kindNow))
	}
	return Applied, m.write(c.Path, merged, modeOf(is, kindNow))
}

// current returns the state of a file.
func (m *merger) current(name string) (ours, error) {
	info, err := lstat(m.to, name)
	if isMissing(err) {
		return ours{}, nil
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
	f, err := m.to.Open(name)
	if err != nil {
		return is, err
	}
	defer func() { _ = f.Close() }() // it was only read
	is.content, err = io.ReadAll(f)
	return is, err
}

// replace replaces a file that has not changed here by that of the worktree.
func (m *merger) replace(c *Change, is *ours, theirs []byte) error {
	switch c.now.Kind {
	case "":
		return m.remove(c.Path)
	case symlink:
		temp, err := m.temp(c.Path)
		if err != nil {
			return err
		}
		if err := m.to.Symlink(string(theirs), temp); err != nil {
			return err
		}
		return m.rename(temp, c.Path)
	default:
		return m.write(c.Path, theirs, modeOf(is, c.now.Kind))
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

// merge merges the changes of two texts since a third one. If both have changed the same lines, the text has markers.
func (m *merger) merge(ctx context.Context, base, ours, theirs []byte) (merged []byte, conflict bool, err error) {
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
