package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// repository is a working tree with its repository.
type repository struct {
	// top is the top of the working tree, gitDir its own directory of the repository, and common the one that all working trees share.
	top, gitDir, common string
	// head is the commit that is checked out.
	head string
}

// open finds the repository of a directory.
func (g *Git) open(ctx context.Context, dir string) (*repository, error) {
	out, err := g.line(ctx, &run{dir: dir}, "rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
	if failed, ok := errors.AsType[*gitError](err); ok {
		if strings.Contains(failed.stderr, "not a git repository") || strings.Contains(failed.stderr, "must be run in a work tree") {
			return nil, fmt.Errorf("%s is %w", dir, ErrNotRepository)
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	lines := strings.Split(out, "\n")
	if len(lines) != 3 {
		return nil, fmt.Errorf("the path of the repository of %q has a line break", dir)
	}
	r := &repository{top: filepath.FromSlash(lines[0]), gitDir: filepath.FromSlash(lines[1]), common: filepath.FromSlash(lines[2])}
	if !filepath.IsAbs(r.common) {
		r.common = filepath.Join(dir, r.common) // a relative one is relative to the directory of the run
	}
	if r.head, err = g.line(ctx, &run{dir: r.top, repository: r}, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		if failed, ok := errors.AsType[*gitError](err); ok && failed.stderr == "" {
			return nil, fmt.Errorf("%s: %w", r.top, ErrNoCommit)
		}
		return nil, err
	}
	return r, nil
}

// check reports what forbids to copy the state of a repository: an operation that is unfinished, or a lock.
func (r *repository) check() error {
	unfinished := []struct{ file, name, end string }{
		{"MERGE_HEAD", "merge", "git merge --abort"},
		{"rebase-merge", "rebase", "git rebase --abort"},
		{"rebase-apply", "rebase or git am", "git rebase --abort"},
		{"CHERRY_PICK_HEAD", "cherry-pick", "git cherry-pick --abort"},
		{"REVERT_HEAD", "revert", "git revert --abort"},
	}
	for _, u := range unfinished {
		if _, err := os.Lstat(filepath.Join(r.gitDir, u.file)); err == nil {
			return fmt.Errorf("%w: %s is in the middle of a %s; finish it, or give it up with %q", ErrInProgress, r.top, u.name, u.end)
		}
	}
	lock := filepath.Join(r.gitDir, "index.lock")
	if _, err := os.Lstat(lock); err == nil {
		return fmt.Errorf("%w in %s; try again when it has ended. If none runs, remove %s", ErrLocked, r.top, lock)
	}
	return nil
}

// listing holds the files of a working tree that git knows.
type listing struct {
	// files are the tracked files and those that are untracked and not ignored, slash-separated. Some need not exist.
	files []string
	// submodules are the directories of submodules, and embedded those of other repositories, which are untracked.
	submodules, embedded []string
}

// list lists the files of a working tree. If merged is set, it refuses one with unmerged files.
func (g *Git) list(ctx context.Context, r *repository, merged bool) (*listing, error) {
	l := &listing{}
	staged, err := g.do(ctx, &run{dir: r.top, repository: r}, "ls-files", "-z", "--stage", "--full-name")
	if err != nil {
		return nil, err
	}
	for entry := range split(staged) {
		about, name, ok := strings.Cut(entry, "\t")
		f := strings.Fields(about)
		switch {
		case !ok || len(f) != 3:
			return nil, fmt.Errorf("git ls-files: unexpected line %q", entry)
		case f[2] != "0" && merged:
			return nil, fmt.Errorf("%w: %s in %s is unmerged; resolve it and add it", ErrInProgress, name, r.top)
		case f[0] == "160000":
			l.submodules = append(l.submodules, name)
		default:
			l.files = append(l.files, name)
		}
	}
	others, err := g.do(ctx, &run{dir: r.top, repository: r}, "ls-files", "-z", "--others", "--exclude-standard", "--full-name")
	if err != nil {
		return nil, err
	}
	for name := range split(others) {
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			l.embedded = append(l.embedded, dir)
		} else {
			l.files = append(l.files, name)
		}
	}
	return l, nil
}

// ignored lists the ignored files and directories of a working tree; of a directory of which all is ignored, only the directory.
func (g *Git) ignored(ctx context.Context, r *repository) ([]string, error) {
	out, err := g.do(ctx, &run{dir: r.top, repository: r}, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--full-name")
	if err != nil {
		return nil, err
	}
	var all []string
	for name := range split(out) {
		all = append(all, strings.TrimSuffix(name, "/"))
	}
	return all, nil
}

// uncommitted lists the files whose content differs from the index, and the untracked ones. Programs that only the repository names for
// the comparison do not run.
func (g *Git) uncommitted(ctx context.Context, r *repository, quiet []string) ([]string, error) {
	out, err := g.do(ctx, &run{dir: r.top, repository: r, config: quiet}, "ls-files", "-z", "--modified", "--others", "--exclude-standard", "--full-name")
	if err != nil {
		return nil, err
	}
	var all []string
	for name := range split(out) {
		if !strings.HasSuffix(name, "/") {
			all = append(all, name)
		}
	}
	return all, nil
}

// filters returns the names of the filters that only the repository's own configuration defines, and the settings that turn them off.
func (g *Git) filters(ctx context.Context, r *repository) (names, off []string, err error) {
	out, err := g.do(ctx, &run{dir: r.top, repository: r}, "config", "--show-scope", "-z", "--get-regexp", `^filter\..*\.(clean|smudge|process)$`)
	if failed, ok := errors.AsType[*gitError](err); ok && failed.code == 1 {
		return nil, nil, nil // there is none
	}
	if err != nil {
		return nil, nil, err
	}
	seen := make(map[string]bool)
	scope := ""
	for part := range split(out) {
		if scope == "" {
			scope = part
			continue
		}
		key, _, _ := strings.Cut(part, "\n")
		name := strings.TrimPrefix(key[:strings.LastIndexByte(key, '.')], "filter.")
		own := scope != "local" && scope != "worktree"
		if scope = ""; own || seen[name] {
			continue
		}
		if strings.Contains(name, "=") {
			return nil, nil, fmt.Errorf("the configuration of %s has a filter %q, which gjc cannot turn off", r.top, name)
		}
		seen[name] = true
		names = append(names, name)
		off = append(off, "filter."+name+".clean=", "filter."+name+".smudge=", "filter."+name+".process=", "filter."+name+".required=false")
	}
	return names, off, nil
}

// split yields the parts of a list in which each ends with a zero byte.
func split(list []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for part := range strings.SplitSeq(string(list), "\x00") {
			if part != "" && !yield(part) {
				return
			}
		}
	}
}
