package worktree

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Kind says what has become of a file.
type Kind string

// The kinds of changes.
const (
	Added    Kind = "added"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
)

// Change is a file that differs from the beginning.
type Change struct {
	// Path is slash-separated and relative to the top.
	Path string
	Kind Kind

	base, now entry
}

// Changes returns the files that differ from the beginning, by their paths. Ignored files do not count, unless they were there at the
// beginning.
func (w *Worktree) Changes(ctx context.Context) ([]Change, error) {
	now, err := w.present(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.hash(ctx, now); err != nil {
		return nil, err
	}
	return compare(w.record.Base, now), nil
}

// present returns the files that are there, without their hashes.
func (w *Worktree) present(ctx context.Context) (map[string]entry, error) {
	now := make(map[string]entry)
	candidates := slices.Collect(maps.Keys(w.record.Base))
	for i := range w.record.Repositories {
		c := &w.record.Repositories[i]
		r, err := w.repository(c)
		if err != nil {
			return nil, err
		}
		files, err := w.git.list(ctx, r, false)
		if err != nil {
			return nil, err
		}
		for _, dir := range files.embedded {
			if w.hasRepository(path.Join(c.Path, dir)) {
				continue
			}
			inner, err := walk(r.top, dir) // a repository that was made meanwhile
			if err != nil {
				return nil, err
			}
			files.files = append(files.files, inner...)
		}
		for _, name := range files.files {
			candidates = append(candidates, path.Join(c.Path, name))
		}
	}
	top, err := os.OpenRoot(w.Top())
	if err != nil {
		return nil, err
	}
	defer func() { _ = top.Close() }() // it was only read
	for _, name := range candidates {
		if w.isShared(name) {
			continue
		}
		info, err := lstat(top, name)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if k := kindOf(info); k != "" {
			now[name] = entry{Kind: k}
		}
	}
	return now, nil
}

// hasRepository reports whether a directory is that of a repository that was copied.
func (w *Worktree) hasRepository(at string) bool {
	return slices.ContainsFunc(w.record.Repositories, func(c repositoryCopy) bool { return c.Path == at })
}

// compare returns the differences between two states.
func compare(base, now map[string]entry) []Change {
	var all []Change
	for name, is := range now {
		was, ok := base[name]
		switch {
		case !ok:
			all = append(all, Change{Path: name, Kind: Added, now: is})
		case was != is:
			all = append(all, Change{Path: name, Kind: Modified, base: was, now: is})
		}
	}
	for name, was := range base {
		if _, ok := now[name]; !ok {
			all = append(all, Change{Path: name, Kind: Deleted, base: was})
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// lstat is that of root, for a path to which no link leads.
func lstat(root *os.Root, name string) (os.FileInfo, error) {
	parts := strings.Split(name, "/")
	for i := 1; i < len(parts); i++ {
		info, err := root.Lstat(strings.Join(parts[:i], "/"))
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, &os.PathError{Op: "lstat", Path: name, Err: os.ErrNotExist}
		}
	}
	return root.Lstat(name)
}

// hashAll stores the contents at the beginning.
func (w *Worktree) hashAll(ctx context.Context) error {
	if err := os.Mkdir(filepath.Join(w.dir, objectsName), 0o700); err != nil {
		return err
	}
	return w.hash(ctx, w.record.Base)
}

// objects returns the variables by which git stores new objects in the worktree's directory and not in the repository.
func (w *Worktree) objects() []string {
	more := filepath.Join(w.record.Repositories[0].Common, objectsName)
	if strings.ContainsAny(more, `"`+string(filepath.ListSeparator)) {
		more = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(more) + `"`
	}
	return []string{"GIT_OBJECT_DIRECTORY=" + filepath.Join(w.dir, objectsName), "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + more}
}

// hash stores the contents of files of the worktree as they are, and sets their hashes.
func (w *Worktree) hash(ctx context.Context, files map[string]entry) error {
	r, err := w.repository(&w.record.Repositories[0])
	if err != nil {
		return err
	}
	var names []string
	var input []byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name].Kind != symlink {
			names, input = append(names, name), append(append(input, quote(name)...), '\n')
			continue
		}
		target, err := os.Readlink(filepath.Join(w.Top(), filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		files[name] = entry{symlink, target}
	}
	if len(names) == 0 {
		return nil
	}
	out, err := w.git.do(ctx, &run{dir: r.top, repository: r, env: w.objects(), stdin: input}, "hash-object", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return err
	}
	hashes := strings.Fields(string(out))
	if len(hashes) != len(names) {
		return fmt.Errorf("git hash-object: %d hashes for %d files", len(hashes), len(names))
	}
	for i, name := range names {
		files[name] = entry{files[name].Kind, hashes[i]}
	}
	return nil
}

// quote quotes a path as git reads it in a list with one on each line.
func quote(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(name) + `"`
}

// content returns the content of a file that [Worktree.hash] has stored; that of a symbolic link is its target.
func (w *Worktree) content(ctx context.Context, e entry) ([]byte, error) {
	if e.Kind == symlink {
		return []byte(e.Hash), nil
	}
	r, err := w.repository(&w.record.Repositories[0])
	if err != nil {
		return nil, err
	}
	return w.git.do(ctx, &run{dir: r.top, repository: r, env: w.objects()}, "cat-file", "blob", e.Hash)
}
