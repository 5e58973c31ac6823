package air

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	// maxWorktrees bounds the worktrees of a repository.
	maxWorktrees = 200
	// maxPointer bounds a file of git that has a path, in bytes.
	maxPointer = 8 << 10
)

// worktrees returns the directory that corresponds to cwd in the main worktree of its repository and in each linked one that exists. It
// reads git's files and does not run git, as gitrepository-layout(5) describes them. What it does not understand, it leaves out.
func worktrees(cwd string) []string {
	top, common := repository(cwd)
	if common == "" {
		return nil
	}
	below, err := filepath.Rel(top, cwd)
	if err != nil {
		return nil
	}
	var tops []string
	// A bare repository has no index.
	if _, err := os.Stat(filepath.Join(common, "index")); err == nil && filepath.Base(common) == ".git" {
		tops = append(tops, filepath.Dir(common))
	}
	entries, _ := os.ReadDir(filepath.Join(common, "worktrees")) // without linked worktrees there is none
	for _, e := range entries[:min(len(entries), maxWorktrees)] {
		if at := pointer(filepath.Join(common, "worktrees", e.Name()), "gitdir"); at != "" {
			tops = append(tops, filepath.Dir(at))
		}
	}
	var all []string
	for _, t := range tops {
		if info, err := os.Stat(t); err == nil && info.IsDir() {
			all = append(all, filepath.Join(t, below))
		}
	}
	return all
}

// repository returns the top of the worktree that has dir, and the repository's directory; empty for none.
func repository(dir string) (top, common string) {
	for {
		name := filepath.Join(dir, ".git")
		switch info, err := os.Stat(name); {
		case err == nil && info.IsDir():
			return dir, name
		case err == nil:
			own := pointer(dir, ".git")
			if own == "" {
				return "", ""
			}
			if common = pointer(own, "commondir"); common == "" {
				return dir, own // a submodule
			}
			return dir, common
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ""
		}
		dir = parent
	}
}

// pointer returns the absolute path in a file of git, which may be relative to dir; empty for none.
func pointer(dir, name string) string {
	path := filepath.Join(dir, name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "" // a pipe would block
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxPointer))
	if err != nil || len(data) == maxPointer {
		return ""
	}
	to := strings.TrimRight(strings.TrimPrefix(string(data), "gitdir: "), "\r\n")
	if to == "" || strings.ContainsAny(to, "\n\x00") || strings.HasPrefix(filepath.ToSlash(to), "//") {
		return "" // on Windows, a look at the last form reaches another machine
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return filepath.Clean(to)
}
