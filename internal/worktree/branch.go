package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrFilter reports that a changed file has a filter that only the repository's own configuration defines. Such a filter does not run, and
// without it the file cannot be committed.
var ErrFilter = errors.New("a filter of the repository's own configuration would have to run")

// branchPrefix begins the names of all branches.
const branchPrefix = "gjc/"

// Branch is a branch with the changes of a worktree.
type Branch struct {
	// Name is the name of the branch, Commit its last commit.
	Name, Commit string
	// Repository is the top of the working tree whose repository has the branch.
	Repository string
	// Before is the commit before the changes: the one that was checked out, or, if Uncommitted is set, one with the uncommitted changes at the
	// beginning.
	Before      string
	Uncommitted bool
	Files       []FileStat
}

// FileStat counts the changed lines of a file.
type FileStat struct {
	// Path is slash-separated and relative to the top of the worktree.
	Path           string
	Kind           Kind
	Added, Removed int
	Binary         bool
}

// BranchName returns the name of the branch for a name of the user's. It returns an error if git does not allow it, or if the branch exists.
func (w *Worktree) BranchName(ctx context.Context, name string) (string, error) {
	r, err := w.repository(&w.record.Repositories[0])
	if err != nil {
		return "", err
	}
	name = branchPrefix + strings.TrimPrefix(name, branchPrefix)
	at := &run{dir: r.top, repository: r}
	if _, err := w.git.do(ctx, at, "check-ref-format", "refs/heads/"+name); err != nil {
		return "", fmt.Errorf("%q is no name for a branch of git's", name)
	}
	for _, used := range []string{name, strings.TrimSuffix(branchPrefix, "/")} {
		if _, err := w.git.do(ctx, at, "show-ref", "--verify", "--quiet", "refs/heads/"+used); err == nil {
			return "", fmt.Errorf("the branch %q exists in %s", used, w.record.Source)
		}
	}
	return name, nil
}

// Commit stores changes, from [Worktree.Changes], in a branch of each repository that has some. Where files were not committed at the
// beginning, the branch has two commits: these, and the changes. It checks nothing out.
func (w *Worktree) Commit(ctx context.Context, name, message string, changes []Change) ([]Branch, error) {
	var all []Branch
	for i := range w.record.Repositories {
		c := &w.record.Repositories[i]
		var own []Change
		for _, change := range changes {
			if w.owner(change.Path) == i {
				change.Path = strings.TrimPrefix(strings.TrimPrefix(change.Path, c.Path), "/")
				own = append(own, change)
			}
		}
		if len(own) == 0 {
			continue
		}
		b, err := w.commit(ctx, i, name, message, own)
		if err != nil {
			return all, err
		}
		all = append(all, *b)
	}
	return all, nil
}

// owner returns the index of the innermost repository with a path.
func (w *Worktree) owner(name string) int {
	best := 0
	for i := range w.record.Repositories {
		if at := w.record.Repositories[i].Path; strings.HasPrefix(name, at+"/") && len(at) > len(w.record.Repositories[best].Path) {
			best = i
		}
	}
	return best
}

// committer makes the commits of one repository.
type committer struct {
	w     *Worktree
	copy  *repositoryCopy
	r     *repository
	index string
	quiet []string
}

func (w *Worktree) commit(ctx context.Context, i int, name, message string, changes []Change) (*Branch, error) {
	c := &w.record.Repositories[i]
	r, err := w.repository(c)
	if err != nil {
		return nil, err
	}
	m := &committer{w: w, copy: c, r: r, index: filepath.Join(w.dir, indexName(i)+".new")}
	data, err := os.ReadFile(filepath.Join(w.dir, indexName(i)))
	if err == nil {
		err = os.WriteFile(m.index, data, 0o600)
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if err := m.filters(ctx, changes); err != nil {
		return nil, err
	}
	b := &Branch{Name: name, Before: c.Head, Repository: filepath.Join(w.record.Source, filepath.FromSlash(c.Path))}
	if err := m.uncommitted(ctx); err != nil {
		return nil, err
	}
	tree, err := m.line(ctx, nil, "write-tree")
	if err != nil {
		return nil, err
	}
	before, err := m.line(ctx, nil, "rev-parse", c.Head+"^{tree}")
	if err != nil {
		return nil, err
	}
	if b.Uncommitted = tree != before; b.Uncommitted {
		if b.Before, err = m.commit(ctx, tree, c.Head, "Uncommitted changes at the beginning of "+name+"\n"); err != nil {
			return nil, err
		}
	}
	if err := m.changed(ctx, changes); err != nil {
		return nil, err
	}
	if tree, err = m.line(ctx, nil, "write-tree"); err != nil {
		return nil, err
	}
	if b.Commit, err = m.commit(ctx, tree, b.Before, message); err != nil {
		return nil, err
	}
	if b.Files, err = m.stat(ctx, b, changes); err != nil {
		return nil, err
	}
	_, err = m.line(ctx, nil, "update-ref", "-m", "gjc: changes of a worktree", "refs/heads/"+name, b.Commit, strings.Repeat("0", len(c.Head)))
	return b, err
}

// line runs git with the committer's index.
func (m *committer) line(ctx context.Context, stdin []byte, args ...string) (string, error) {
	return m.w.git.line(ctx, &run{dir: m.r.top, repository: m.r, env: []string{"GIT_INDEX_FILE=" + m.index}, config: m.quiet, stdin: stdin}, args...)
}

// filters turns off the filters of the repository's own configuration. It refuses files that have one.
func (m *committer) filters(ctx context.Context, changes []Change) error {
	names, off, err := m.w.git.filters(ctx, m.r)
	if err != nil || len(names) == 0 {
		return err
	}
	m.quiet = off
	var list strings.Builder
	for _, name := range m.copy.Dirty {
		list.WriteString(name + "\x00")
	}
	for _, c := range changes {
		list.WriteString(c.Path + "\x00")
	}
	out, err := m.line(ctx, []byte(list.String()), "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return err
	}
	fields := strings.Split(out, "\x00") // path, "filter", value
	for i := 2; i < len(fields); i += 3 {
		if slices.Contains(names, fields[i]) {
			return fmt.Errorf("%w: %s has the filter %q; define it in your own configuration of git", ErrFilter, fields[i-2], fields[i])
		}
	}
	return nil
}

// entryLine is a line for "git update-index --index-info".
func (m *committer) entryLine(k kind, hash, name string) string {
	if hash == "" {
		return "0 " + strings.Repeat("0", len(m.copy.Head)) + "\t" + name + "\x00"
	}
	return string(k) + " " + hash + "\t" + name + "\x00"
}

// uncommitted adds the files that were not committed at the beginning to the index.
func (m *committer) uncommitted(ctx context.Context) error {
	var list strings.Builder
	for _, name := range m.copy.Dirty {
		was, ok := m.w.record.Base[path.Join(m.copy.Path, name)]
		if !ok {
			list.WriteString(m.entryLine("", "", name))
			continue
		}
		data, err := m.w.content(ctx, was)
		if err != nil {
			return err
		}
		how := "--path=" + name
		if was.Kind == symlink {
			how = "--no-filters"
		}
		hash, err := m.line(ctx, bytes.Clone(data), "hash-object", "-w", "--stdin", how)
		if err != nil {
			return err
		}
		list.WriteString(m.entryLine(was.Kind, hash, name))
	}
	if list.Len() == 0 {
		return nil
	}
	_, err := m.line(ctx, []byte(list.String()), "update-index", "-z", "--index-info")
	return err
}

// changed adds the changes to the index.
func (m *committer) changed(ctx context.Context, changes []Change) error {
	var gone, there strings.Builder
	for _, c := range changes {
		if c.Kind == Deleted {
			gone.WriteString(m.entryLine("", "", c.Path))
		} else {
			there.WriteString(c.Path + "\x00")
		}
	}
	if gone.Len() > 0 {
		if _, err := m.line(ctx, []byte(gone.String()), "update-index", "-z", "--index-info"); err != nil {
			return err
		}
	}
	if there.Len() == 0 {
		return nil
	}
	_, err := m.line(ctx, []byte(there.String()), "update-index", "--add", "--replace", "-z", "--stdin")
	return err
}

// commit makes a commit of a tree, by the user or, if git does not know who that is, by gjc.
func (m *committer) commit(ctx context.Context, tree, parent, message string) (string, error) {
	if _, err := m.line(ctx, nil, "config", "user.email"); err != nil {
		m.quiet = append(m.quiet, "user.name=gjc", "user.email=gjc@localhost")
	}
	return m.line(ctx, []byte(message), "commit-tree", tree, "-p", parent, "-F", "-")
}

// stat counts the changed lines.
func (m *committer) stat(ctx context.Context, b *Branch, changes []Change) ([]FileStat, error) {
	kinds := make(map[string]Kind, len(changes))
	for _, c := range changes {
		kinds[c.Path] = c.Kind
	}
	out, err := m.line(ctx, nil, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", b.Before, b.Commit)
	if err != nil {
		return nil, err
	}
	var all []FileStat
	for entry := range split([]byte(out)) {
		f := strings.SplitN(entry, "\t", 3)
		if len(f) != 3 {
			continue
		}
		s := FileStat{Path: path.Join(m.copy.Path, f[2]), Kind: kinds[f[2]], Binary: f[0] == "-"}
		s.Added, _ = strconv.Atoi(f[0]) // "-" for a binary file
		s.Removed, _ = strconv.Atoi(f[1])
		all = append(all, s)
	}
	return all, nil
}

// Command returns the command line for a shell that brings the changes of a branch into the working tree, from any directory.
func (b *Branch) Command() string {
	at := b.Repository
	if strings.Trim(at, shellSafe) != "" {
		at = "'" + strings.ReplaceAll(at, "'", `'\''`) + "'"
	}
	if b.Uncommitted {
		return fmt.Sprintf("git -C %s diff --binary %s^ %s | git -C %s apply", at, b.Name, b.Name, at)
	}
	return fmt.Sprintf("git -C %s merge %s", at, b.Name)
}

// shellSafe are the characters that mean themselves in a shell.
const shellSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%"
